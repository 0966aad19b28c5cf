//===- RegisterTile.cpp - The part of a matrix product that registers hold ------------------===//
#include "lib/Target/CPU/Codegen/RegisterTile.h"
#include "lib/Target/CPU/Codegen/PairInstructions.h"
#include "lib/Target/CPU/Codegen/ProductPrefetch.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using namespace rapt::tile;

namespace {

/// Extent k of the rows; of one that is not known what it is a multiple of.
int64_t depthOf(Value rows) {
  int64_t k = cast<MemRefType>(rows.getType()).getDimSize(1);
  return ShapedType::isDynamic(k) ? kStepsTogether : k;
}

struct Emitter : RegisterTile {
  VectorType vector(OpBuilder &b) const { return VectorType::get({lanes}, b.getF32Type()); }
  VectorType words(OpBuilder &b) const { return VectorType::get({lanes}, b.getI32Type()); }
  int64_t rowsOfStep() const { return kind == ProductStep::Single ? 1 : 2; }

  SmallVector<Value> at(ImplicitLocOpBuilder &b, int64_t r, int64_t half) const {
    return {index(b, row + r), index(b, column + half * lanes)};
  }

  /// Where the accumulators start: `chains` of them, of which the first has the result so far.
  SmallVector<Value> start(ImplicitLocOpBuilder &b, int64_t chains) const {
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(vector(b)));
    Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    SmallVector<Value> inits(chains * rows * 2, zeros);
    for (int64_t r = 0; r < rows && !fromZero; ++r)
      for (int64_t half = 0; half < 2; ++half)
        inits[r * 2 + half] =
            vector::TransferReadOp::create(b, vector(b), dest, at(b, r, half), f0, ArrayRef<bool>{true});
    return inits;
  }

  /// Vector `half` of the panel's line k, in its own type.
  Value load(ImplicitLocOpBuilder &b, Value k, int64_t half) const {
    int64_t width = rowsOfStep();
    Type element = getElementTypeOrSelf(w.getType());
    Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
    return vector::TransferReadOp::create(b, VectorType::get({width * lanes}, element), w,
                                          ValueRange{k, index(b, width * (column + half * lanes))}, padding,
                                          ArrayRef<bool>{true});
  }

  Value widen(ImplicitLocOpBuilder &b, Value x) const {
    return getElementTypeOrSelf(x.getType()).isF32() ? x : Value(arith::ExtFOp::create(b, vector(b), x));
  }

  /// Element (r, column) of the input in all lanes.
  Value factor(ImplicitLocOpBuilder &b, int64_t r, Value column) const {
    Value element = memref::LoadOp::create(b, a, ValueRange{index(b, row + r), column});
    if (!element.getType().isF32())
      element = arith::ExtFOp::create(b, b.getF32Type(), element);
    return vector::BroadcastOp::create(b, vector(b), element);
  }

  /// Pair k of the input's row r in all lanes.
  Value factors(ImplicitLocOpBuilder &b, int64_t r, Value column) const {
    Value pair =
        vector::LoadOp::create(b, VectorType::get({2}, b.getBF16Type()), a, ValueRange{index(b, row + r), column});
    Value word = vector::BitCastOp::create(b, VectorType::get({1}, b.getI32Type()), pair);
    word = vector::BroadcastOp::create(b, words(b), vector::ExtractOp::create(b, word, 0));
    return vector::BitCastOp::create(b, VectorType::get({2 * lanes}, b.getBF16Type()), word);
  }

  /// Element k of the panel's rows, or both of a pair, in all lanes: widened, but for dot products.
  SmallVector<Value, 2> factorsOf(ImplicitLocOpBuilder &b, int64_t r, Value column) const {
    if (kind == ProductStep::Single)
      return {factor(b, r, column)};
    if (kind == ProductStep::Dot)
      return {factors(b, r, column)};
    if (!getElementTypeOrSelf(a.getType()).isF32()) {
      auto [even, odd] = widenPairs(b, factors(b, r, column));
      return {even, odd};
    }
    return {factor(b, r, column), factor(b, r, arith::AddIOp::create(b, column, index(b, 1)))};
  }

  /// The operands from vector `half` of the panel's line k.
  SmallVector<Value, 2> panelsOf(ImplicitLocOpBuilder &b, Value k, int64_t half) const {
    Value loaded = load(b, k, half);
    if (kind == ProductStep::Single)
      return {widen(b, loaded)};
    if (kind == ProductStep::Dot)
      return {loaded};
    auto [even, odd] = widenPairs(b, loaded);
    return {even, odd};
  }

  /// Adds the products of step k to `sums`, which become those of `next`.
  void step(ImplicitLocOpBuilder &b, Value k, ValueRange sums, SmallVector<Value> &next) const {
    SmallVector<Value, 2> panels[2] = {panelsOf(b, k, 0), panelsOf(b, k, 1)};
    Value column = rowsOfStep() == 1 ? k : Value(arith::MulIOp::create(b, k, index(b, rowsOfStep())));
    for (int64_t r = 0; r < rows; ++r) {
      SmallVector<Value, 2> factors = factorsOf(b, r, column);
      for (ArrayRef<Value> panel : panels) {
        Value sum = sums[next.size()];
        for (auto [factor, part] : llvm::zip_equal(factors, panel))
          sum = kind == ProductStep::Dot ? dotPairs(b, sum, factor, part)
                                         : Value(vector::FMAOp::create(b, factor, part, sum));
        next.push_back(sum);
      }
    }
  }

  /// The first row of the pair k, which is the last one.
  SmallVector<Value> halfStep(ImplicitLocOpBuilder &b, Value k, ValueRange sums) const {
    SmallVector<Value> next;
    Value panels[2] = {panelsOf(b, k, 0)[0], panelsOf(b, k, 1)[0]};
    Value column = arith::MulIOp::create(b, k, index(b, 2));
    for (int64_t r = 0; r < rows; ++r) {
      Value first = factor(b, r, column);
      for (Value panel : panels)
        next.push_back(vector::FMAOp::create(b, first, panel, sums[next.size()]));
    }
    return next;
  }

  /// One step after another. `ahead` is null where nothing is to be fetched.
  SmallVector<Value> plainLoop(ImplicitLocOpBuilder &b, Value steps, int64_t chains, ProductPrefetch *ahead) const {
    return loop(b, index(b, 0), steps, chains, start(b, chains),
                [&](ImplicitLocOpBuilder &b, Value i, ValueRange sums) {
                  SmallVector<Value> next;
                  for (int64_t chain = 0; chain < chains; ++chain) {
                    Value k = chain > 0 ? arith::AddIOp::create(b, i, index(b, chain)) : i;
                    if (ahead)
                      ahead->atStep(b, w, k);
                    step(b, k, sums, next);
                  }
                  return next;
                });
  }

  /// Steps in groups, each of which prefetches a line of every matrix ahead.
  SmallVector<Value> groupedLoop(ImplicitLocOpBuilder &b, Value steps, ProductPrefetch *panel) const {
    SmallVector<LinesAhead> lines;
    for (const Ahead &rows : ahead)
      lines.push_back(linesOf(b, rows, steps));
    return loop(b, index(b, 0), steps, *kernel.lineSteps, start(b, 1),
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange init) {
                  for (auto [rows, shares] : llvm::zip(ahead, lines))
                    prefetchLine(b, rows, shares, first);
                  SmallVector<Value> sums(init);
                  for (int64_t nth = 0; nth < *kernel.lineSteps; ++nth) {
                    Value k = nth > 0 ? arith::AddIOp::create(b, first, index(b, nth)) : first;
                    if (panel)
                      panel->atStep(b, w, k);
                    SmallVector<Value> next;
                    step(b, k, sums, next);
                    sums = std::move(next);
                  }
                  return sums;
                });
  }

  /// Lines of a row of `elements`, and those of all rows for each of the product's steps, in 65536ths.
  struct LinesAhead {
    int64_t elements, ofRow;
    Value ofStep;
  };
  static LinesAhead linesOf(ImplicitLocOpBuilder &b, const Ahead &rows, Value steps) {
    auto type = cast<MemRefType>(rows.matrix.getType());
    const int64_t elements = kLineBytes * 8 / type.getElementTypeBitWidth(),
                  ofRow = llvm::divideCeil(type.getDimSize(1), elements);
    Value all = arith::MulIOp::create(b, arith::SubIOp::create(b, rows.to, rows.from), index(b, ofRow << 16));
    return {elements, ofRow, arith::DivUIOp::create(b, all, steps)};
  }

  /// The line that is as far from the first of all as step k is.
  void prefetchLine(ImplicitLocOpBuilder &b, const Ahead &rows, const LinesAhead &lines, Value k) const {
    Value line = arith::ShRUIOp::create(b, arith::MulIOp::create(b, lines.ofStep, k), index(b, 16)),
          ofRow = index(b, lines.ofRow);
    Value row = arith::AddIOp::create(b, rows.from, arith::DivUIOp::create(b, line, ofRow)),
          column = arith::MulIOp::create(b, arith::RemUIOp::create(b, line, ofRow), index(b, lines.elements));
    memref::PrefetchOp::create(b, rows.matrix, ValueRange{row, column}, aheadIsWritten, kFirstLevel,
                               /*isDataCache=*/true);
  }

  /// The same tile of the chunk that begins with step `first`: what does not vary in the loop over its steps is then no
  /// part of their addresses.
  Emitter chunkFrom(ImplicitLocOpBuilder &b, Value first) const {
    constexpr int64_t chunk = ProductPrefetch::kChunk;
    Emitter part = *this;
    auto shape = [](Value x, int64_t i) { return cast<MemRefType>(x.getType()).getDimSize(i); };
    Value column = rowsOfStep() == 1 ? first : Value(arith::MulIOp::create(b, first, index(b, rowsOfStep())));
    part.a = ProductPrefetch::viewFrom(b, a, index(b, 0), column, {shape(a, 0), chunk * rowsOfStep()});
    part.w = ProductPrefetch::viewFrom(b, w, first, index(b, 0), {chunk, shape(w, 1)});
    return part;
  }

  /// Chunks of steps, which read ahead.
  SmallVector<Value> chunkedLoop(ImplicitLocOpBuilder &b, int64_t steps, ProductPrefetch &ahead) const {
    constexpr int64_t chunk = ProductPrefetch::kChunk;
    return loop(b, index(b, 0), index(b, steps), chunk, start(b, 1),
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange sums) {
                  SmallVector<Value> inits(sums);
                  Value element = ahead.beforeChunk(b, first);
                  if (element)
                    inits.push_back(element);
                  Emitter part = chunkFrom(b, first);
                  SmallVector<Value> results = loop(b, index(b, 0), index(b, chunk), 1, inits,
                                                    [&](ImplicitLocOpBuilder &b, Value nth, ValueRange carried) {
                                                      ahead.atStep(b, part.w, nth);
                                                      Value after =
                                                          ahead.inChunk(b, nth, element ? carried.back() : Value());
                                                      SmallVector<Value> next;
                                                      part.step(b, nth, carried.take_front(sums.size()), next);
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
    const int64_t most = std::max<int64_t>(kernel.chains.value_or(1) / rowsOfStep(), 1),
                  chains = rows == 1 && steps % most == 0 ? most : 1;
    bool isStatic = cast<MemRefType>(a.getType()).hasStaticShape();
    Value count = isStatic ? index(b, steps) : Value(memref::DimOp::create(b, w, 0));
    ProductPrefetch ahead(op, kernel.prefetch, a, w, row, rows, column, 2 * lanes, rowsOfStep());
    bool isUseful =
        ahead.isUseful(/*isWidened=*/kind != ProductStep::Dot && !getElementTypeOrSelf(w.getType()).isF32());
    bool isGrouped = !this->ahead.empty() && rows > 1 && row == 0 && column == 0 && kernel.lineSteps &&
                     steps % *kernel.lineSteps == 0;
    SmallVector<Value> sums = isGrouped ? groupedLoop(b, count, isUseful ? &ahead : nullptr)
                              : isUseful && isStatic && ahead.hasChunks() && steps % ProductPrefetch::kChunk == 0
                                  ? chunkedLoop(b, steps, ahead)
                                  : plainLoop(b, count, chains, isUseful ? &ahead : nullptr);
    for (int64_t stride = chains / 2; stride > 0; stride /= 2)
      for (int64_t i = 0; i < stride * rows * 2; ++i)
        sums[i] = arith::AddFOp::create(b, sums[i], sums[i + stride * rows * 2]);
    if (k % rowsOfStep() != 0)
      sums = halfStep(b, index(b, steps), sums);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t half = 0; half < 2; ++half)
        vector::TransferWriteOp::create(b, sums[r * 2 + half], dest, at(b, r, half), ArrayRef<bool>{true});
  }
};

} // namespace

void RegisterTile::emit(ImplicitLocOpBuilder &b) const { Emitter{*this}.emit(b); }
