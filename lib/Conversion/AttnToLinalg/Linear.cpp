//===- Linear.cpp - attn.linear as a grid of register tiles ----------------------------===//
//
// The grid is (blocks of at most 210 rows, panels of 32 columns). A task walks tiles of 14
// rows, then of 8, of 4, and single rows, each [rows, k] x [k, 32] followed by the epilogue. A
// residual that nothing reads afterwards is the destination, so it is updated in
// place. Where the result's heads are rotated next, a task has the panels of one head and
// rotates its rows when they are made. A panel of 16 bits is widened once for all tiles of 14 rows, where the target
// does not multiply it as it is.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/LinearTask.h"
#include "lib/Conversion/AttnToLinalg/Quantization.h"
#include "lib/Conversion/AttnToLinalg/Rotation.h"
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
/// The same where instructions multiply 16 rows at once, two such tiles with a panel. Of at least 16 rows, those that
/// are left are the last of 16 that overlap others.
constexpr int64_t kMatrixRows[] = {32, kMatrixTileRows, 4, 1};

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

/// Rows [row, row + m) of the input.
Value inputRows(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, OpFoldResult row) {
  return extract(b, task.input, {row, b.getIndexAttr(0)}, {b.getIndexAttr(m), b.getIndexAttr(task.rowExtent)},
                 {m, task.rowExtent});
}

/// rows [r, r + m) of the task into `dest`, [rows of the task, 32 or width].
Value emitTile(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value r, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult row = affineOf(b, d0 + d1, {task.firstRow, r}), zero = b.getIndexAttr(0), rows = b.getIndexAttr(m),
               panel = b.getIndexAttr(kPanel);
  Value input = inputRows(b, task, m, row);
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

/// Rows [from, count), if there are any and the task has as many as a tile: the products of its last rows, of which
/// those that are not done go on.
Value emitLastRows(ImplicitLocOpBuilder &b, const LinearTask &task, Value from, Value count, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), all = b.getIndexAttr(kMatrixTileRows),
               panel = b.getIndexAttr(kPanel);
  Value left = arith::MinSIOp::create(b, arith::SubIOp::create(b, count, from), index(b, 1));
  Value fits = arith::DivUIOp::create(b, count, index(b, kMatrixTileRows));
  return loop(b, index(b, 0), arith::MinSIOp::create(b, left, fits), 1, dest,
              [&](ImplicitLocOpBuilder &b, Value, Value carried) {
                Value first = arith::SubIOp::create(b, count, index(b, kMatrixTileRows));
                OpFoldResult row = affineOf(b, d0 + d1, {task.firstRow, OpFoldResult(first)});
                Value sums = empty(b, RankedTensorType::get({kMatrixTileRows, kPanel}, b.getF32Type()), {all, panel});
                sums = emitProducts(b, task, inputRows(b, task, kMatrixTileRows, row), sums);
                return loop(b, from, count, 1, carried, [&](ImplicitLocOpBuilder &b, Value r, Value rows) {
                  OpFoldResult place = affineOf(b, d0 - d1, {OpFoldResult(r), OpFoldResult(first)});
                  Value own = extract(b, sums, {place, zero}, {one, panel}, {1, kPanel});
                  return finishTile(b, task, 1, r, own, rows);
                });
              });
}

/// All rows of a task by instructions on tiles, but few ones.
Value emitByMatrix(ImplicitLocOpBuilder &b, const LinearTask &task, Value count, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value from = index(b, 0);
  for (int64_t m : kMatrixRows) {
    Value to = asValue(b, affineOf(b, d0 + (d1 - d0).floorDiv(m) * m, {OpFoldResult(from), OpFoldResult(count)}));
    dest = emitTiles(b, task, m, from, to, dest);
    if (m == kMatrixTileRows) {
      dest = emitLastRows(b, task, to, count, dest);
      Value isDone = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, count, index(b, kMatrixTileRows));
      to = arith::SelectOp::create(b, isDone, count, to);
    }
    from = to;
  }
  return dest;
}

/// The rotation of the heads that the result is cut into, which nothing else reads: a task that makes whole heads
/// rotates them where they lie. Null where there is none.
attn::RopeOp rotationOf(attn::LinearOp op) {
  auto split = op.getResult().hasOneUse() ? dyn_cast<attn::SplitHeadsOp>(*op->user_begin()) : nullptr;
  if (!split || split.getHeads().size() != 1 || !split.getHeads()[0].hasOneUse())
    return nullptr;
  auto rope = dyn_cast<attn::RopeOp>(*split->user_begin());
  if (!rope || rope->getBlock() != op->getBlock() || rope.getInput().getType().getDimSize(2) % kPanel != 0)
    return nullptr;
  for (Value table : {rope.getCosines(), rope.getSines()})
    if (Operation *made = table.getDefiningOp();
        made && made->getBlock() == op->getBlock() && op->isBeforeInBlock(made))
      return nullptr;
  return rope;
}

/// Rotates the rows of one head, [count, channels], the first of which is row `firstRow` of the result.
Value rotateRows(ImplicitLocOpBuilder &b, attn::RopeOp rope, Value head, OpFoldResult firstRow, OpFoldResult count,
                 Value rows) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value end = asValue(b, count);
  if (std::optional<uint64_t> heads = rope.getHeads()) {
    Value turns = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, head, index(b, *heads));
    end = arith::SelectOp::create(b, turns, end, index(b, 0));
  }
  return loop(b, index(b, 0), end, 1, rows, [&](ImplicitLocOpBuilder &b, Value row, Value carried) {
    Value token = asValue(b, affineOf(b, d0 + d1, {firstRow, OpFoldResult(row)}));
    auto place = [&](Value, int64_t channel) { return SmallVector<Value>{row, index(b, channel)}; };
    return rotateHeads(b, rope, token, index(b, 1), /*source=*/nullptr, place, carried, place);
  });
}

/// What all tasks of a product share.
struct Product {
  attn::LinearOp op;
  Value input, panels;
  std::optional<unsigned> inPlace;
  int64_t k, columns;
  attn::QuantizedType quantized;
  ArrayRef<int64_t> tileRows;
  bool inPairs;
};

/// Rows [first, first + count) of panel `nth` into `tile`.
Value emitPanel(ImplicitLocOpBuilder &b, const Product &product, Value nth, OpFoldResult first, OpFoldResult count,
                Value tile) {
  attn::LinearOp op = product.op;
  const int64_t k = product.k, rowExtent = product.quantized ? product.quantized.ofRows().rowBytes(k) : k;
  LinearTask task{op,        product.input,  product.inPlace, {}, {}, {}, {}, k, {}, false, product.quantized,
                  rowExtent, product.inPairs};
  task.firstRow = first;
  task.column = affineOf(b, b.getAffineDimExpr(0) * kPanel, {OpFoldResult(nth)});
  cutToPanel(b, task, product.columns);
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), panel = b.getIndexAttr(kPanel);
  ArrayRef<int64_t> onePanel = cast<RankedTensorType>(product.panels.getType()).getShape().drop_front();
  task.weight = op.isPacked()
                    ? extract(b, product.panels, {OpFoldResult(nth), zero, zero},
                              {one, b.getIndexAttr(onePanel[0]), b.getIndexAttr(onePanel[1])}, onePanel)
                    : extract(b, product.panels, {zero, task.column}, {b.getIndexAttr(k), panel}, {k, kPanel});
  if (product.tileRows == ArrayRef(kMatrixRows))
    return emitByMatrix(b, task, asValue(b, count), tile);
  return overRowTiles(b, product.tileRows, asValue(b, count), tile,
                      [&](ImplicitLocOpBuilder &b, int64_t m, Value from, Value to, Value carried) {
                        return m == product.tileRows.front() && widens(op) ? emitWidened(b, task, m, from, to, carried)
                                                                           : emitTiles(b, task, m, from, to, carried);
                      });
}

/// The same of all panels of one head, whose rows are rotated then.
Value emitHead(ImplicitLocOpBuilder &b, const Product &product, attn::RopeOp rope, Value head, OpFoldResult first,
               OpFoldResult count, Value tile) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  const int64_t parts = rope.getInput().getType().getDimSize(2) / kPanel;
  OpFoldResult zero = b.getIndexAttr(0), panel = b.getIndexAttr(kPanel);
  tile = loop(b, index(b, 0), index(b, parts), 1, tile, [&](ImplicitLocOpBuilder &b, Value p, Value carried) {
    OpFoldResult column = affineOf(b, d0 * kPanel, {OpFoldResult(p)});
    Value nth = asValue(b, affineOf(b, d0 * parts + d1, {OpFoldResult(head), OpFoldResult(p)}));
    Value part = extract(b, carried, {zero, column}, {count, panel}, {ShapedType::kDynamic, kPanel});
    part = emitPanel(b, product, nth, first, count, part);
    return insert(b, part, carried, {zero, column}, {count, panel});
  });
  return rotateRows(b, rope, head, first, count, tile);
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
    attn::QuantizedType quantized = quantizedPanels(op.getWeight());
    Value panels = quantized ? bytesOf(b, op.getWeight()) : Value(op.getWeight());
    ArrayRef<int64_t> tileRows = tileRowsOf(op, quantized, TargetInfo::of(op));
    Product product{op, inputOf(b, op), panels, overwritable(op), k, columns, quantized, tileRows, inPairs};
    attn::RopeOp rope = rotationOf(op);
    rewriter.replaceOp(op, emitGrid(b, product, rope));
    if (rope)
      rewriter.modifyOpInPlace(rope, [&] { rope.setHeads(0); });
    return success();
  }

  static SmallVector<Value> emitGrid(ImplicitLocOpBuilder &b, const Product &product, attn::RopeOp rope) {
    attn::LinearOp op = product.op;
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    const int64_t unit = rope ? rope.getInput().getType().getDimSize(2) : kPanel; // columns of a task
    OpFoldResult rows = extent(b, op.getInput(), 0);
    Value dest = product.inPlace ? Value(op.getExtras()[*product.inPlace])
                                 : destination(b, op.getResult(), {rows, b.getIndexAttr(product.columns)});
    auto share = shareRows(b, rows, kTaskRows, product.tileRows[0]);
    OpFoldResult blocks = share.first;
    Value each = share.second;
    SmallVector<OpFoldResult> extents{blocks, b.getIndexAttr(llvm::divideCeil(product.columns, unit))};
    return grid(b, extents, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      OpFoldResult first(Value(arith::MulIOp::create(b, ids[0], each)));
      OpFoldResult count = affineMin(b, {OpFoldResult(each), affineOf(b, d0 - d1, {rows, first})});
      OpFoldResult column = affineOf(b, d0 * unit, {OpFoldResult(ids[1])}), width = b.getIndexAttr(unit);
      const bool isNarrow = product.columns % kPanel != 0;
      if (isNarrow)
        width = widthOf(b, product.columns, column);
      Value tile = extract(b, dests[0], {first, column}, {count, width},
                           {ShapedType::kDynamic, isNarrow ? ShapedType::kDynamic : unit});
      tile = rope ? emitHead(b, product, rope, ids[1], first, count, tile)
                  : emitPanel(b, product, ids[1], first, count, tile);
      return SmallVector<Insertion>{{tile, {first, column}, {count, width}}};
    });
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
