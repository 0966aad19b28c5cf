//===- LowerProducts.cpp - Register tiles of matrix products --------------------------------===//
#include "lib/Conversion/AttnToLinalg/Tile.h"
#include "lib/Target/CPU/MatrixTiles.h"
#include "lib/Target/CPU/PairInstructions.h"
#include "lib/Target/CPU/Passes.h"
#include "lib/Target/CPU/ProductPrefetch.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERPRODUCTS
#include "lib/Target/CPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

/// Steps of k for each line of something else that is prefetched.
constexpr int64_t kGroup = 2;
/// A line of a cache.
constexpr int64_t kLineBits = 512;
/// Chains of accumulators of a single row.
constexpr int64_t kChains = 4;

/// The zero fill that `op` adds to, if nothing reads or writes memory between them.
linalg::FillOp zeroFill(Operation *op, Value dest) {
  Operation *before = op->getPrevNode();
  while (before && isMemoryEffectFree(before))
    before = before->getPrevNode();
  auto fill = dyn_cast_if_present<linalg::FillOp>(before);
  bool same = fill && fill.getOutputs()[0] == dest && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
  return same ? fill : linalg::FillOp();
}

/// Extent k of the rows; of one that is not known, which is a multiple of it, a panel's width.
int64_t depthOf(Value rows) {
  int64_t k = cast<MemRefType>(rows.getType()).getDimSize(1);
  return ShapedType::isDynamic(k) ? kPanel : k;
}

/// What a step of the loop over k takes.
enum class Step {
  Single, ///< one row of the panel, widened where it has 16 bits
  Pair,   ///< two rows of a panel of pairs, widened
  Dot     ///< the same by an instruction on pairs
};

/// Rows [from, to) of a matrix, to be brought near during a product.
struct Ahead {
  Value matrix, from, to;
};

/// A tile of rows times a panel.
struct Product {
  Operation *op;
  Value a, w, dest;
  SmallVector<Ahead, 2> ahead = {};
  bool aheadIsWritten = false;
};

/// Rows [row, row + rows) by columns [column, column + 2 * lanes) of the product.
struct RegisterTile : Product {
  Step kind;
  bool fromZero;
  int64_t row, rows, column, lanes;

  VectorType vector(OpBuilder &b) const { return VectorType::get({lanes}, b.getF32Type()); }
  VectorType words(OpBuilder &b) const { return VectorType::get({lanes}, b.getI32Type()); }
  int64_t rowsOfStep() const { return kind == Step::Single ? 1 : 2; }

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
    if (kind == Step::Single)
      return {factor(b, r, column)};
    if (kind == Step::Dot)
      return {factors(b, r, column)};
    if (!getElementTypeOrSelf(a.getType()).isF32()) {
      auto [even, odd] = widenPairs(b, factors(b, r, column));
      return {even, odd};
    }
    return {factor(b, r, column), factor(b, r, arith::AddIOp::create(b, column, index(b, 1)))};
  }

  /// The same of vector `half` of the panel's line k.
  SmallVector<Value, 2> panelsOf(ImplicitLocOpBuilder &b, Value k, int64_t half) const {
    Value loaded = load(b, k, half);
    if (kind == Step::Single)
      return {widen(b, loaded)};
    if (kind == Step::Dot)
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
          sum = kind == Step::Dot ? cpu::dotPairs(b, sum, factor, part)
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
  SmallVector<Value> plainLoop(ImplicitLocOpBuilder &b, Value steps, int64_t chains,
                               cpu::ProductPrefetch *ahead) const {
    return loop(b, index(b, 0), steps, chains, start(b, chains),
                [&](ImplicitLocOpBuilder &b, Value i, ValueRange sums) {
                  SmallVector<Value> next;
                  if (ahead)
                    ahead->atStep(b, i, Value());
                  for (int64_t chain = 0; chain < chains; ++chain)
                    step(b, chain > 0 ? arith::AddIOp::create(b, i, index(b, chain)) : i, sums, next);
                  return next;
                });
  }

  /// Steps in groups, each of which prefetches a line of every matrix ahead.
  SmallVector<Value> groupedLoop(ImplicitLocOpBuilder &b, Value steps, cpu::ProductPrefetch *panel) const {
    SmallVector<LinesAhead> lines;
    for (const Ahead &rows : ahead)
      lines.push_back(linesOf(b, rows, steps));
    return loop(b, index(b, 0), steps, kGroup, start(b, 1), [&](ImplicitLocOpBuilder &b, Value first, ValueRange init) {
      for (auto [rows, shares] : llvm::zip(ahead, lines))
        prefetchLine(b, rows, shares, first);
      SmallVector<Value> sums(init);
      for (int64_t nth = 0; nth < kGroup; ++nth) {
        Value k = nth > 0 ? arith::AddIOp::create(b, first, index(b, nth)) : first;
        if (panel)
          panel->atStep(b, k, Value());
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
    const int64_t elements = kLineBits / type.getElementTypeBitWidth(),
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
    memref::PrefetchOp::create(b, rows.matrix, ValueRange{row, column}, aheadIsWritten, /*localityHint=*/3,
                               /*isDataCache=*/true);
  }

  /// Chunks of steps, which read ahead.
  SmallVector<Value> chunkedLoop(ImplicitLocOpBuilder &b, int64_t steps, cpu::ProductPrefetch &ahead) const {
    constexpr int64_t chunk = cpu::ProductPrefetch::kChunk;
    return loop(b, index(b, 0), index(b, steps), chunk, start(b, 1),
                [&](ImplicitLocOpBuilder &b, Value first, ValueRange sums) {
                  ahead.beforeChunk(b, first);
                  return loop(b, index(b, 0), index(b, chunk), 1, sums,
                              [&](ImplicitLocOpBuilder &b, Value nth, ValueRange sums) {
                                Value i = arith::AddIOp::create(b, first, nth);
                                ahead.atStep(b, i, nth);
                                SmallVector<Value> next;
                                step(b, i, sums, next);
                                return next;
                              });
                });
  }

  void emit(ImplicitLocOpBuilder &b) const {
    int64_t k = depthOf(a), steps = k / rowsOfStep();
    int64_t most = kChains / rowsOfStep(), chains = rows == 1 && steps % most == 0 ? most : 1;
    bool isStatic = cast<MemRefType>(a.getType()).hasStaticShape();
    // An extent that is not known is that of f32 rows, one a step.
    Value count = isStatic ? index(b, steps) : Value(memref::DimOp::create(b, a, 1));
    cpu::ProductPrefetch ahead(op, a, w, row, rows, column, 2 * lanes, rowsOfStep());
    bool isUseful = kind != Step::Pair && ahead.isUseful();
    bool isGrouped = !this->ahead.empty() && rows > 1 && row == 0 && column == 0 && steps % kGroup == 0;
    SmallVector<Value> sums = isGrouped ? groupedLoop(b, count, isUseful ? &ahead : nullptr)
                              : isUseful && isStatic && ahead.hasChunks()
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

struct LowerProducts : rapt::impl::AttnLowerProductsBase<LowerProducts> {
  void runOnOperation() override {
    TargetInfo target = TargetInfo::of(getOperation());
    WalkResult result = getOperation()->walk([&](Operation *op) {
      if (auto product = dyn_cast<linalg::MatmulOp>(op))
        return lower({op, product.getInputs()[0], product.getInputs()[1], product.getOutputs()[0]}, kPanel, target);
      if (auto product = dyn_cast<attn::PanelProductOp>(op))
        return lower(withAhead(product), kPanel, target);
      if (auto product = dyn_cast<attn::PairedProductOp>(op))
        return lower({op, product.getRows(), product.getPanel(), product.getDest()}, 2 * kPanel, target);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](linalg::FillOp fill) {
      rewriter.setInsertionPoint(fill);
      if (succeeded(linalg::vectorize(rewriter, fill)))
        rewriter.eraseOp(fill);
    });
  }

  static Product withAhead(attn::PanelProductOp op) {
    Product product{op, op.getRows(), op.getPanel(), op.getDest(), {}, op.getWrite()};
    for (auto [i, matrix] : llvm::enumerate(op.getAhead()))
      product.ahead.push_back({matrix, op.getBounds()[2 * i], op.getBounds()[2 * i + 1]});
    return product;
  }

  WalkResult lower(const Product &product, int64_t width, const TargetInfo &target) {
    auto [op, rows, panel, dest] = std::tie(product.op, product.a, product.w, product.dest);
    auto a = dyn_cast<MemRefType>(rows.getType()), w = dyn_cast<MemRefType>(panel.getType());
    const bool mayVary = isa<attn::PanelProductOp>(op);
    if (!a || !w || w.getShape().back() % width != 0 || (!mayVary && (!a.hasStaticShape() || !w.hasStaticShape()))) {
      op->emitOpError("is not a tile of whole panels of static shape in memory");
      return WalkResult::interrupt();
    }
    ImplicitLocOpBuilder b(op->getLoc(), op);
    linalg::FillOp fill = zeroFill(op, dest);
    const bool byTiles =
        target.amxBf16 && a.getElementType().isBF16() && width == 2 * kPanel && a.getDimSize(0) % kMatrixTileRows == 0;
    auto multiply = [&](ArrayRef<Value> panels, Value dest) {
      if (byTiles)
        cpu::multiplyByTiles(b, rows, panels, dest, a.getDimSize(1), fill != nullptr);
      else
        multiplyByVectors(b, {op, rows, panels[0], dest, product.ahead, product.aheadIsWritten}, width, fill != nullptr,
                          target);
    };
    if (w.getRank() == 2)
      multiply(panel, dest);
    else
      overPanels(b, panel, dest, byTiles && a.getDimSize(0) == kMatrixTileRows ? 2 : 1, multiply);
    if (fill)
      fill.erase();
    op->erase();
    return WalkResult::skip();
  }

  /// `multiply` for each of several panels, or of so many `together`, with their columns of `dest`.
  static void overPanels(ImplicitLocOpBuilder &b, Value panels, Value dest, int64_t together,
                         function_ref<void(ArrayRef<Value>, Value)> multiply) {
    auto type = cast<MemRefType>(panels.getType());
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), lines = b.getIndexAttr(type.getDimSize(1)),
                 width = b.getIndexAttr(type.getDimSize(2)),
                 rows = b.getIndexAttr(cast<MemRefType>(dest.getType()).getDimSize(0));
    auto slice = [&](Value from, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
                     ArrayRef<int64_t> shape) -> Value {
      SmallVector<OpFoldResult> strides(sizes.size(), one);
      MemRefType view = memref::SubViewOp::inferRankReducedResultType(shape, cast<MemRefType>(from.getType()), offsets,
                                                                      sizes, strides);
      return memref::SubViewOp::create(b, view, from, offsets, sizes, strides);
    };
    auto some = [&](Value first, int64_t count) {
      SmallVector<Value> parts;
      for (int64_t i = 0; i < count; ++i) {
        OpFoldResult nth(i > 0 ? Value(arith::AddIOp::create(b, first, index(b, i))) : first);
        parts.push_back(slice(panels, {nth, zero, zero}, {one, lines, width}, type.getShape().drop_front()));
      }
      Value column = arith::MulIOp::create(b, first, index(b, kPanel));
      multiply(parts, slice(dest, {zero, OpFoldResult(column)}, {rows, b.getIndexAttr(count * kPanel)},
                            {cast<MemRefType>(dest.getType()).getDimSize(0), count * kPanel}));
    };
    int64_t count = type.getDimSize(0), whole = count / together * together;
    auto each = scf::ForOp::create(b, index(b, 0), index(b, whole), index(b, together));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(each.getBody());
      some(each.getInductionVar(), together);
    }
    for (int64_t rest = whole; rest < count; ++rest)
      some(index(b, rest), 1);
  }

  static void multiplyByVectors(ImplicitLocOpBuilder &b, const Product &product, int64_t width, bool fromZero,
                                const TargetInfo &target) {
    auto a = cast<MemRefType>(product.a.getType()), w = cast<MemRefType>(product.w.getType());
    Step kind = width == kPanel ? Step::Single : target.bf16Dot && a.getElementType().isBF16() ? Step::Dot : Step::Pair;
    int64_t m = a.getDimSize(0), lanes = target.lanesF32(), columns = 2 * lanes;
    // As many rows as the accumulators allow, in parts of nearly one size. Pairs are widened to four vectors and need a
    // mask.
    int64_t parts = llvm::divideCeil(m, (target.vectorRegisters - (kind == Step::Pair ? 6 : 3)) / 2);
    for (int64_t column = 0; column < w.getDimSize(1) / width * kPanel; column += columns)
      for (int64_t part = 0; part < parts; ++part) {
        int64_t row = m * part / parts, end = m * (part + 1) / parts;
        RegisterTile{product, kind, fromZero, row, end - row, column, lanes}.emit(b);
      }
  }
};

} // namespace
