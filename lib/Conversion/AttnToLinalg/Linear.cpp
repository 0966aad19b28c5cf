//===- Linear.cpp - attn.linear as a grid of register tiles ----------------------------===//
//
// The grid is (blocks of at most 210 rows, panels of 32 columns). A task walks tiles of 14
// rows, then of 8, of 4, and single rows, each [rows, k] x [k, 32] followed by the epilogue. A
// residual that nothing reads afterwards is the destination, so it is updated in
// place. A panel of 16 bits is widened once for all tiles of 14 rows, where the target does
// not multiply it as it is.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/LinearTask.h"
#include "lib/Conversion/AttnToLinalg/Quantization.h"
#include "lib/Conversion/AttnToLinalg/Rows.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

/// Rows of register tiles, largest first, of weights of 4 bits, where words, their nibbles and a mask take 5 registers.
constexpr int64_t kNibbleRows[] = {12, 4, 1};
/// The same where tiles of 16 rows are multiplied at once, two of them a panel.
constexpr int64_t kMatrixRows[] = {32, 16, 8, 4, 2, 1};

/// Rows of the task's tiles, largest first.
ArrayRef<int64_t> tileRowsOf(attn::LinearOp op, attn::QuantizedType quantized, const TargetInfo &target) {
  bool byMatrix = quantized ? target.amxInt8 && quantized.bits() == 8 && quantized.getGroup() == 0
                            : target.amxBf16 && op.getInput().getType().getElementType().isBF16();
  if (byMatrix)
    return kMatrixRows;
  return quantized && quantized.bits() == 4 ? ArrayRef(kNibbleRows) : ArrayRef(kProductRows);
}

/// The products of rows `input` with the task's panel, in a tile like `init`.
Value emitProducts(ImplicitLocOpBuilder &b, const LinearTask &task, Value input, Value init) {
  Type type = init.getType();
  if (task.quantized)
    return attn::QuantizedProductOp::create(b, type, input, task.weight, init, task.k, task.quantized).getResult()[0];
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Value sums = linalg::FillOp::create(b, f0, init).getResult(0);
  if (task.inPairs)
    return attn::PairedProductOp::create(b, type, input, task.weight, sums).getResult()[0];
  return linalg::MatmulOp::create(b, type, ValueRange{input, task.weight}, ValueRange{sums}).getResult(0);
}

/// rows [r, r + m) of the task into `dest`, [rows of the task, 32 or width].
Value emitTile(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value r, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult row = affineOf(b, d0 + d1, {task.firstRow, r}), zero = b.getIndexAttr(0), rows = b.getIndexAttr(m),
               panel = b.getIndexAttr(kPanel);
  Value input = extract(b, task.input, {row, zero}, {rows, b.getIndexAttr(task.rowExtent)}, {m, task.rowExtent});
  auto type = RankedTensorType::get({m, kPanel}, b.getF32Type());
  // Without an epilogue the sums are the result.
  attn::LinearOp op = task.op;
  bool direct = op.getEpilogue().empty() && !task.narrow;
  Value sums =
      direct ? extract(b, dest, {OpFoldResult(r), zero}, {rows, panel}, {m, kPanel}) : empty(b, type, {rows, panel});
  sums = emitProducts(b, task, input, sums);
  if (direct)
    return insert(b, sums, dest, {OpFoldResult(r), zero}, {rows, panel});
  return finishTile(b, task, m, r, sums, dest);
}

/// Tiles of m rows of [from, to).
Value emitTiles(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value from, Value to, Value dest) {
  return loop(b, from, to, m, dest,
              [&](ImplicitLocOpBuilder &b, Value r, Value carried) { return emitTile(b, task, m, r, carried); });
}

/// The same with the panel widened before, unless there are no rows.
Value emitWidened(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value from, Value to, Value dest) {
  Value trips = arith::MinSIOp::create(b, arith::SubIOp::create(b, to, from), index(b, 1));
  return loop(b, index(b, 0), trips, 1, dest, [&](ImplicitLocOpBuilder &b, Value, Value carried) {
    LinearTask wide = task;
    Value panel = widenPanel(b, task.weight, task.inPairs);
    OpFoldResult zero = b.getIndexAttr(0);
    wide.weight = extract(b, panel, {zero, zero}, {b.getIndexAttr(task.k), b.getIndexAttr(kPanel)}, {task.k, kPanel});
    wide.inPairs = false;
    return emitTiles(b, wide, m, from, to, carried);
  });
}

struct TileLinear : OpRewritePattern<attn::LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::LinearOp op, PatternRewriter &rewriter) const override {
    RankedTensorType weight = op.getWeight().getType(), result = op.getResult().getType();
    // A kernel's weight [k, n] is read where it lies.
    bool packed = op.isPacked();
    if (!packed && (op.getTransposed() || weight.isDynamicDim(1) || weight.getDimSize(1) % kPanel != 0))
      return rewriter.notifyMatchFailure(op, "the weight is not in panels");
    bool inPairs = packed && attn::isInPairs(weight);
    // The row that fills the last pair is not read of an input that ends before it.
    int64_t k = inPairs ? std::min(op.getDepth(), op.getInput().getType().getDimSize(1)) : op.getDepth(),
            columns = result.getDimSize(1);
    if (ShapedType::isDynamic(k) || ShapedType::isDynamic(columns))
      return rewriter.notifyMatchFailure(op, "the weight's extents are not static");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    TargetInfo target = TargetInfo::of(op);
    attn::QuantizedType quantized = quantizedPanels(op.getWeight());
    Value panels = quantized ? bytesOf(b, op.getWeight()) : Value(op.getWeight());
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    OpFoldResult rows = extent(b, op.getInput(), 0), zero = b.getIndexAttr(0), panel = b.getIndexAttr(kPanel);
    Value input = inputOf(b, op);
    std::optional<unsigned> inPlace = overwritable(op);
    Value dest =
        inPlace ? Value(op.getExtras()[*inPlace]) : destination(b, op.getResult(), {rows, b.getIndexAttr(columns)});

    // Blocks of nearly one size, in whole register tiles.
    ArrayRef<int64_t> tileRows = tileRowsOf(op, quantized, target);
    OpFoldResult one = b.getIndexAttr(1), blocks = affineOf(b, d0.ceilDiv(kTaskRows), {rows});
    Value each = arith::CeilDivUIOp::create(b, asValue(b, rows), asValue(b, affineMax(b, {blocks, one})));
    each = asValue(b, affineOf(b, d0.ceilDiv(tileRows[0]) * tileRows[0], {OpFoldResult(each)}));
    int64_t rowExtent = quantized ? quantized.ofRows().rowBytes(k) : k;
    SmallVector<OpFoldResult> extents{blocks, b.getIndexAttr(llvm::divideCeil(columns, kPanel))};
    SmallVector<Value> results = grid(b, extents, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      LinearTask task{op, input, inPlace, {}, {}, {}, {}, k, {}, false, quantized, rowExtent, inPairs};
      task.firstRow = OpFoldResult(Value(arith::MulIOp::create(b, ids[0], each)));
      task.column = affineOf(b, d0 * kPanel, {OpFoldResult(ids[1])});
      cutToPanel(b, task, columns);
      OpFoldResult depth = b.getIndexAttr(k);
      ArrayRef<int64_t> onePanel = cast<RankedTensorType>(panels.getType()).getShape().drop_front();
      task.weight = packed ? extract(b, panels, {OpFoldResult(ids[1]), zero, zero},
                                     {one, b.getIndexAttr(onePanel[0]), b.getIndexAttr(onePanel[1])}, onePanel)
                           : extract(b, panels, {zero, task.column}, {depth, panel}, {k, kPanel});
      OpFoldResult count = affineMin(b, {OpFoldResult(each), affineOf(b, d0 - d1, {rows, task.firstRow})});
      int64_t width = task.narrow ? ShapedType::kDynamic : kPanel;
      Value tile =
          extract(b, dests[0], {task.firstRow, task.column}, {count, task.width}, {ShapedType::kDynamic, width});
      tile = overRowTiles(b, tileRows, asValue(b, count), tile,
                          [&](ImplicitLocOpBuilder &b, int64_t m, Value from, Value to, Value carried) {
                            return m == tileRows.front() && widens(op) ? emitWidened(b, task, m, from, to, carried)
                                                                       : emitTiles(b, task, m, from, to, carried);
                          });
      return SmallVector<Insertion>{{tile, {task.firstRow, task.column}, {count, task.width}}};
    });
    rewriter.replaceOp(op, results);
    return success();
  }
};

/// A row of bf16, whose columns beyond the input's are zero.
struct TileRoundRows : OpRewritePattern<attn::RoundRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::RoundRowsOp op, PatternRewriter &rewriter) const override {
    if (!isPadded(op.getResult()))
      return rewriter.notifyMatchFailure(op, "columns are not padded");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    RankedTensorType type = op.getResult().getType();
    int64_t columns = op.getInput().getType().getDimSize(1), width = type.getDimSize(1);
    Value init = destination(b, op.getResult(), {extent(b, op.getInput(), 0), b.getIndexAttr(width)});
    rewriter.replaceOp(op, rowGrid(b, init, [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
                         auto panel = VectorType::get({kPanel}, type.getElementType());
                         dest = forPanels(b, attn::padToPanel(columns), dest,
                                          [&](ImplicitLocOpBuilder &b, Value column, Value) -> Value {
                                            Value read = readPanel(b, op.getInput(), {row, column});
                                            return arith::TruncFOp::create(b, panel, read);
                                          });
                         Value zero = arith::ConstantOp::create(b, b.getZeroAttr(panel));
                         return loop(b, index(b, attn::padToPanel(columns)), index(b, width), kPanel, dest,
                                     [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
                                       return writePanel(b, zero, carried, column);
                                     });
                       }));
    return success();
  }
};

} // namespace

void rapt::populateLinearTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileLinear, TileRoundRows>(patterns.getContext());
}
