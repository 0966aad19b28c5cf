//===- MicroKernelTile.cpp - The part of a matmul that registers hold ----------------------===//
#include "lib/Target/CPU/Codegen/MicroKernelTile.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Codegen/Bf16Instructions.h"
#include "lib/Target/CPU/Codegen/MatmulPrefetch.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using rapt::attn_cpu::kLineBytes, rapt::attn_cpu::kPanel;
using namespace rapt::tile;

namespace {

/// Extent k of the rows; where it is dynamic, a number that divides it.
int64_t depthOf(Value rows) {
  int64_t k = cast<MemRefType>(rows.getType()).getDimSize(1);
  return ShapedType::isDynamic(k) ? kDynamicDepthMultiple : k;
}

struct Emitter : MicroKernelTile {
  VectorType vector(OpBuilder &b) const { return VectorType::get({lanes}, b.getF32Type()); }
  VectorType words(OpBuilder &b) const { return VectorType::get({lanes}, b.getI32Type()); }
  int64_t rowsOfStep() const { return kind == MatmulStep::Single ? 1 : 2; }

  SmallVector<Value> at(ImplicitLocOpBuilder &b, int64_t r, int64_t v) const {
    return {index(b, row + r), index(b, column + v * lanes)};
  }

  /// The initial accumulators of all chains: the first chain starts from the result so far, the others from zero.
  SmallVector<Value> start(ImplicitLocOpBuilder &b, int64_t chains) const {
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vector(b)));
    Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    SmallVector<Value> inits(chains * rows * vectors, zeros);
    for (int64_t r = 0; r < rows && !fromZero; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        inits[r * vectors + v] =
            vector::TransferReadOp::create(b, vector(b), dest, at(b, r, v), f0, ArrayRef<bool>{true});
    return inits;
  }

  /// Loads vector `v` of the panel's line k in its storage type.
  Value load(ImplicitLocOpBuilder &b, Value k, int64_t v) const {
    const int64_t width = rowsOfStep(), from = column + v * lanes;
    auto type = cast<MemRefType>(w.getType());
    Value padding = arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
    SmallVector<Value> at{k, index(b, width * (type.getRank() == 2 ? from : from % kPanel))};
    if (type.getRank() == 3)
      at.insert(at.begin(), index(b, from / kPanel));
    return vector::TransferReadOp::create(b, VectorType::get({width * lanes}, type.getElementType()), w, at, padding,
                                          ArrayRef<bool>{true});
  }

  Value widen(ImplicitLocOpBuilder &b, Value x) const {
    return getElementTypeOrSelf(x.getType()).isF32() ? x : Value(arith::ExtFOp::create(b, vector(b), x));
  }

  /// Broadcasts element (r, column) of the input.
  Value factor(ImplicitLocOpBuilder &b, int64_t r, Value column) const {
    Value element = memref::LoadOp::create(b, a, ValueRange{index(b, row + r), column});
    if (!element.getType().isF32())
      element = arith::ExtFOp::create(b, b.getF32Type(), element);
    return vector::BroadcastOp::create(b, vector(b), element);
  }

  /// Broadcasts bf16 elements (r, column) and (r, column + 1) of the input.
  Value factors(ImplicitLocOpBuilder &b, int64_t r, Value column) const {
    Value pair =
        vector::LoadOp::create(b, VectorType::get({2}, b.getBF16Type()), a, ValueRange{index(b, row + r), column});
    Value word = vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), pair);
    word = vector::BroadcastOp::create(b, words(b), vector::ExtractOp::create(b, word, 0));
    return vector::BitCastOp::create(b, VectorType::get({2 * lanes}, b.getBF16Type()), word);
  }

  /// The input's operands of one step in all lanes: one element, two elements that are widened to f32, or two of bf16
  /// as one operand of a dot product.
  SmallVector<Value, 2> factorsOf(ImplicitLocOpBuilder &b, int64_t r, Value column) const {
    if (kind == MatmulStep::Single)
      return {factor(b, r, column)};
    if (kind == MatmulStep::Dot)
      return {factors(b, r, column)};
    if (!getElementTypeOrSelf(a.getType()).isF32()) {
      auto [even, odd] = widenInterleaved(b, factors(b, r, column));
      return {even, odd};
    }
    return {factor(b, r, column), factor(b, r, arith::AddIOp::create(b, column, index(b, 1)))};
  }

  /// The panel's operands of one step, from vector `v` of its line k.
  SmallVector<Value, 2> panelsOf(ImplicitLocOpBuilder &b, Value k, int64_t v) const {
    Value loaded = load(b, k, v);
    if (kind == MatmulStep::Single)
      return {widen(b, loaded)};
    if (kind == MatmulStep::Dot)
      return {loaded};
    auto [even, odd] = widenInterleaved(b, loaded);
    return {even, odd};
  }

  /// `sum` after the multiply-adds of a step's operands.
  Value add(ImplicitLocOpBuilder &b, Value sum, ArrayRef<Value> factors, ArrayRef<Value> panel) const {
    for (auto [factor, part] : llvm::zip_equal(factors, panel))
      sum =
          kind == MatmulStep::Dot ? dotBf16(b, sum, factor, part) : Value(vector::FMAOp::create(b, factor, part, sum));
    return sum;
  }

  /// Appends to `next` the accumulators `sums` after step k.
  void step(ImplicitLocOpBuilder &b, Value k, ValueRange sums, SmallVector<Value> &next) const {
    Value column = rowsOfStep() == 1 ? k : Value(arith::MulIOp::create(b, k, index(b, rowsOfStep())));
    // A single row needs an operand of the panel once: those of many vectors would take registers that their
    // accumulators need.
    if (rows == 1 && columns > kernel.getColumns()) {
      SmallVector<Value, 2> factors = factorsOf(b, 0, column);
      for (int64_t v = 0; v < vectors; ++v)
        next.push_back(add(b, sums[next.size()], factors, panelsOf(b, k, v)));
      return;
    }
    SmallVector<SmallVector<Value, 2>> panels;
    for (int64_t v = 0; v < vectors; ++v)
      panels.push_back(panelsOf(b, k, v));
    for (int64_t r = 0; r < rows; ++r) {
      SmallVector<Value, 2> factors = factorsOf(b, r, column);
      for (ArrayRef<Value> panel : panels)
        next.push_back(add(b, sums[next.size()], factors, panel));
    }
  }

  /// The accumulators `sums` after the `count` steps from step `first` on. `prefetch` is called before each of them.
  SmallVector<Value> steps(ImplicitLocOpBuilder &b, Value first, int64_t count, ValueRange sums,
                           function_ref<void(Value k, int64_t nth)> prefetch) const {
    SmallVector<Value> before(sums);
    for (int64_t nth = 0; nth < count; ++nth) {
      Value k = nth > 0 ? arith::AddIOp::create(b, first, index(b, nth)) : first;
      prefetch(k, nth);
      SmallVector<Value> next;
      step(b, k, before, next);
      before = std::move(next);
    }
    return before;
  }

  /// This tile on views of the `count` steps that begin with step `first`, so that addresses within them have the step
  /// as their only variable.
  Emitter viewsFrom(ImplicitLocOpBuilder &b, Value first, int64_t count) const {
    Emitter part = *this;
    auto shape = [](Value x) { return cast<MemRefType>(x.getType()).getShape(); };
    Value column = rowsOfStep() == 1 ? first : Value(arith::MulIOp::create(b, first, index(b, rowsOfStep())));
    part.a = MatmulPrefetch::viewFrom(b, a, index(b, 0), column, {shape(a)[0], count * rowsOfStep()});
    part.w = MatmulPrefetch::viewFrom(b, w, first, index(b, 0), {count, shape(w).back()});
    return part;
  }

  /// The accumulators `sums` after `together` steps from step `first` on, whose addresses one register has where there
  /// are several. `prefetch` is called before each step with the panel, the step's line in it, and its number.
  SmallVector<Value> stepsFrom(ImplicitLocOpBuilder &b, Value first, int64_t together, ValueRange sums,
                               function_ref<void(Value panel, Value k, int64_t nth)> prefetch) const {
    const bool hasViews = kernel.getUnroll() && together > 1;
    const Emitter part = hasViews ? viewsFrom(b, first, together) : *this;
    return part.steps(b, hasViews ? index(b, 0) : first, together, sums,
                      [&](Value k, int64_t nth) { prefetch(part.w, k, nth); });
  }

  /// The accumulators after the last step of an odd depth: only the first row of line k counts.
  SmallVector<Value> halfStep(ImplicitLocOpBuilder &b, Value k, ValueRange sums) const {
    SmallVector<Value> next, panels;
    for (int64_t v = 0; v < vectors; ++v)
      panels.push_back(panelsOf(b, k, v)[0]);
    Value column = arith::MulIOp::create(b, k, index(b, 2));
    for (int64_t r = 0; r < rows; ++r) {
      Value first = factor(b, r, column);
      for (Value panel : panels)
        next.push_back(vector::FMAOp::create(b, first, panel, sums[next.size()]));
    }
    return next;
  }

  /// The loop over `together` steps at a time. `prefetch` is null where nothing is prefetched.
  SmallVector<Value> plainLoop(ImplicitLocOpBuilder &b, Value steps, int64_t together, MatmulPrefetch *prefetch) const {
    return loop(b, index(b, 0), steps, together, start(b, 1),
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange sums) {
                  return stepsFrom(b, first, together, sums, [&](Value panel, Value k, int64_t) {
                    if (prefetch)
                      prefetch->atStep(b, panel, k);
                  });
                });
  }

  /// The loop whose steps add to the accumulators of `chains` chains in rotation.
  SmallVector<Value> chainedLoop(ImplicitLocOpBuilder &b, Value steps, int64_t chains, MatmulPrefetch *prefetch) const {
    return loop(b, index(b, 0), steps, chains, start(b, chains),
                [&](ImplicitLocOpBuilder &b, Value i, ValueRange sums) {
                  SmallVector<Value> next;
                  for (int64_t chain = 0; chain < chains; ++chain) {
                    Value k = chain > 0 ? arith::AddIOp::create(b, i, index(b, chain)) : i;
                    if (prefetch)
                      prefetch->atStep(b, w, k);
                    step(b, k, sums, next);
                  }
                  return next;
                });
  }

  /// The loop over groups of steps, each of which prefetches a line of every matrix of `prefetched`.
  SmallVector<Value> groupedLoop(ImplicitLocOpBuilder &b, Value steps, MatmulPrefetch *panelPrefetch) const {
    SmallVector<PrefetchedLines> lines;
    for (const PrefetchedRows &rows : prefetched)
      lines.push_back(linesOf(b, rows, steps));
    return loop(b, index(b, 0), steps, *kernel.getLineSteps(), start(b, 1),
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange init) {
                  for (auto [rows, shares] : llvm::zip(prefetched, lines))
                    prefetchLine(b, rows, shares, first);
                  return stepsFrom(b, first, *kernel.getLineSteps(), init, [&](Value panel, Value k, int64_t) {
                    if (panelPrefetch)
                      panelPrefetch->atStep(b, panel, k);
                  });
                });
  }

  /// Cache lines of a matrix that is prefetched: elements per line, lines per row, lines per step in 65536ths.
  struct PrefetchedLines {
    int64_t elements, ofRow;
    Value ofStep;
  };
  static PrefetchedLines linesOf(ImplicitLocOpBuilder &b, const PrefetchedRows &rows, Value steps) {
    auto type = cast<MemRefType>(rows.matrix.getType());
    const int64_t elements = kLineBytes * 8 / type.getElementTypeBitWidth(),
                  ofRow = llvm::divideCeil(type.getDimSize(1), elements);
    Value all = arith::MulIOp::create(b, arith::SubIOp::create(b, rows.to, rows.from), index(b, ofRow << 16));
    return {elements, ofRow, arith::DivUIOp::create(b, all, steps)};
  }

  /// Prefetches one line: the lines of all rows are spread evenly over the steps.
  void prefetchLine(ImplicitLocOpBuilder &b, const PrefetchedRows &rows, const PrefetchedLines &lines, Value k) const {
    Value line = arith::ShRUIOp::create(b, arith::MulIOp::create(b, lines.ofStep, k), index(b, 16)),
          ofRow = index(b, lines.ofRow);
    Value row = arith::AddIOp::create(b, rows.from, arith::DivUIOp::create(b, line, ofRow)),
          column = arith::MulIOp::create(b, arith::RemUIOp::create(b, line, ofRow), index(b, lines.elements));
    memref::PrefetchOp::create(b, rows.matrix, ValueRange{row, column}, prefetchesForWrite, kFirstLevel,
                               /*isDataCache=*/true);
  }

  /// The loop over chunks of steps, which prefetch, `together` of them an iteration.
  SmallVector<Value> chunkedLoop(ImplicitLocOpBuilder &b, int64_t steps, int64_t together,
                                 MatmulPrefetch &prefetch) const {
    constexpr int64_t chunk = MatmulPrefetch::kChunk;
    return loop(b, index(b, 0), index(b, steps), chunk, start(b, 1),
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange sums) {
                  SmallVector<Value> inits(sums);
                  Value element = prefetch.beforeChunk(b, first);
                  if (element)
                    inits.push_back(element);
                  Emitter part = viewsFrom(b, first, chunk);
                  SmallVector<Value> results =
                      loop(b, index(b, 0), index(b, chunk), together, inits,
                           [&](ImplicitLocOpBuilder &b, Value nth, ValueRange carried) {
                             Value after;
                             auto atStep = [&](Value panel, Value k, int64_t step) {
                               prefetch.atStep(b, panel, k);
                               prefetch.rowsInChunk(b, step > 0 ? arith::AddIOp::create(b, nth, index(b, step)) : nth);
                               if (element && step == 0)
                                 after = prefetch.nextInChunk(b, carried.back());
                             };
                             SmallVector<Value> next =
                                 part.stepsFrom(b, nth, together, carried.take_front(sums.size()), atStep);
                             if (after)
                               next.push_back(after);
                             return next;
                           });
                  results.resize(sums.size());
                  return results;
                });
  }

  void emit(ImplicitLocOpBuilder &b) const {
    int64_t k = depthOf(a), steps = k / rowsOfStep();
    bool isStatic = cast<MemRefType>(a.getType()).hasStaticShape();
    Value count = isStatic ? index(b, steps) : Value(memref::DimOp::create(b, w, 0));
    const int64_t unroll = kernel.getUnroll().value_or(1);
    // The hardware follows the few streams of a tile of whole lines.
    std::optional<MatmulPrefetch> prefetch;
    if (columns == kernel.getColumns())
      prefetch.emplace(op, kernel.getPrefetch(), a, w,
                       MatmulPrefetch::Tile{row, rows, column, columns, nth, this->count}, rowsOfStep(), unroll);
    const bool isUseful = prefetch && prefetch->isUseful(/*isWidened=*/kind != MatmulStep::Dot &&
                                                         !getElementTypeOrSelf(w.getType()).isF32());
    bool isGrouped = !prefetched.empty() && rows > 1 && row == 0 && column == 0 && kernel.getLineSteps() &&
                     steps % *kernel.getLineSteps() == 0;
    const bool isChunked =
        !isGrouped && isUseful && isStatic && prefetch->hasChunks() && steps % MatmulPrefetch::kChunk == 0;
    const int64_t most = std::max<int64_t>(this->chains * 2 / vectors / rowsOfStep(), 1),
                  chains = !isGrouped && !isChunked && steps % most == 0 ? most : 1;
    MatmulPrefetch *atSteps = isUseful ? &*prefetch : nullptr;
    SmallVector<Value> sums = isGrouped    ? groupedLoop(b, count, atSteps)
                              : isChunked  ? chunkedLoop(b, steps, unroll, *prefetch)
                              : chains > 1 ? chainedLoop(b, count, chains, atSteps)
                                           : plainLoop(b, count, steps % unroll == 0 ? unroll : 1, atSteps);
    for (int64_t stride = chains / 2; stride > 0; stride /= 2)
      for (int64_t i = 0; i < stride * rows * vectors; ++i)
        sums[i] = arith::AddFOp::create(b, sums[i], sums[i + stride * rows * vectors]);
    if (k % rowsOfStep() != 0)
      sums = halfStep(b, index(b, steps), sums);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t v = 0; v < vectors; ++v)
        vector::TransferWriteOp::create(b, sums[r * vectors + v], dest, at(b, r, v), ArrayRef<bool>{true});
  }
};

} // namespace

void MicroKernelTile::emit(ImplicitLocOpBuilder &b) const { Emitter{*this}.emit(b); }
