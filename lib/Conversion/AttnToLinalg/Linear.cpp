//===- Linear.cpp - attn.linear as a grid of register tiles ----------------------------===//
//
// The grid is (blocks of at most 210 rows, panels of 32 columns). A task walks tiles of 14
// rows, then of 4, then single rows, each [rows, k] x [k, 32] followed by the epilogue. A
// residual that nothing reads afterwards is the destination, so it is updated in
// place. A panel of 16 bits is widened once for all tiles of 14 rows, where the target does
// not multiply it as it is.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"
#include "lib/Conversion/AttnToLinalg/Quantization.h"
#include "lib/Conversion/AttnToLinalg/Rotation.h"
#include "lib/Conversion/AttnToLinalg/Rows.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn::kPanel;

namespace {

/// Most rows of one task. Fewer would read a panel, which comes from memory or a last-level cache, more often; 56 and
/// 112 were slower at k = 768 and k = 3072 alike.
constexpr int64_t kTaskRows = 210;
/// Rows of a register tile, largest first. 14 x 2 vectors of accumulators are what 32 registers hold beside two vectors
/// of the panel and one of the input. The more rows, the less often a panel is read.
constexpr int64_t kProductRows[] = {kTileRows, 4, 1};
/// The same of weights of 4 bits, where words, their nibbles and a mask take 5 registers.
constexpr int64_t kNibbleRows[] = {12, 4, 1};
/// The same where tiles of 16 rows are multiplied at once, two of them a panel.
constexpr int64_t kMatrixRows[] = {32, 16, 8, 4, 2, 1};

/// The extra operand that can be overwritten: of the result's type, and read last by this op.
std::optional<unsigned> overwritable(attn::LinearOp op) {
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    if (extra.getType() == op.getResult().getType() && isReadLastBy(op, extra))
      return i;
  }
  return std::nullopt;
}

/// The input as the product reads it. The caller's rows are where they are: those that alias are copied once.
Value inputOf(ImplicitLocOpBuilder &b, attn::LinearOp op) {
  Value input = op.getInput();
  RankedTensorType type = op.getInput().getType();
  if (!isa<BlockArgument>(input) || !isReadOnly(input) || !rowsAlias(type) || !isPadded(input))
    return input;
  int64_t columns = type.getDimSize(1);
  Value apart = emptyApart(b, type, {extent(b, input, 0), b.getIndexAttr(columns)});
  return rowGrid(b, apart, [&](ImplicitLocOpBuilder &b, Value row, Value dest) {
    return forPanels(b, columns, dest,
                     [&](ImplicitLocOpBuilder &b, Value column, Value) { return readPanel(b, input, {row, column}); });
  });
}

/// What one task sees: the operands cut to its panel.
struct Task {
  attn::LinearOp op;
  Value input;
  std::optional<unsigned> inPlace;
  Value weight;                  // [k, 32]
  SmallVector<Value> extras;     // rank 1: [32] of this panel; rank 2: the whole
  OpFoldResult firstRow, column; // of the task
  int64_t k;
  OpFoldResult width;            // columns of the panel that the result has
  bool narrow;                   // width may be below 32
  attn::QuantizedType quantized; // of the weight, or null
  int64_t rowExtent;             // of the input as it lies: k, or a quantised row's bytes
  bool inPairs;                  // the weight is [k/2, 64]
};

/// Rows of the task's tiles, largest first.
ArrayRef<int64_t> tileRowsOf(attn::LinearOp op, attn::QuantizedType quantized, const TargetInfo &target) {
  bool byMatrix = quantized ? target.amxInt8 && quantized.bits() == 8 && quantized.getGroup() == 0
                            : target.amxBf16 && op.getInput().getType().getElementType().isBF16();
  if (byMatrix)
    return kMatrixRows;
  return quantized && quantized.bits() == 4 ? ArrayRef(kNibbleRows) : ArrayRef(kProductRows);
}

/// The task's panel of 16 bits as [k, 32] of f32.
Value widenPanel(ImplicitLocOpBuilder &b, const Task &task) {
  int64_t units = cast<RankedTensorType>(task.weight.getType()).getDimSize(0), k = task.inPairs ? 2 * units : units;
  Value wide =
      empty(b, RankedTensorType::get({k, kPanel}, b.getF32Type()), {b.getIndexAttr(k), b.getIndexAttr(kPanel)});
  wide =
      loop(b, index(b, 0), index(b, units), 1, wide, [&](ImplicitLocOpBuilder &b, Value unit, Value carried) -> Value {
        if (!task.inPairs)
          return writePanel(b, readPanel(b, task.weight, {unit, index(b, 0)}), carried, {unit, index(b, 0)});
        auto [even, odd] = readPairs(b, task.weight, {unit, index(b, 0)}, kPanel);
        Value first = arith::MulIOp::create(b, unit, index(b, 2)),
              second = arith::AddIOp::create(b, first, index(b, 1));
        return writePanel(b, odd, writePanel(b, even, carried, {first, index(b, 0)}), {second, index(b, 0)});
      });
  return extract(b, wide, {b.getIndexAttr(0), b.getIndexAttr(0)}, {b.getIndexAttr(task.k), b.getIndexAttr(kPanel)},
                 {task.k, kPanel});
}

/// The epilogue of rows [row, row + m), whose products are `sums`, into `out`.
Value applyEpilogue(ImplicitLocOpBuilder &b, Task &task, int64_t m, OpFoldResult row, Value sums, Value out) {
  AffineExpr d1 = b.getAffineDimExpr(1);
  OpFoldResult rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel);
  SmallVector<Value> inputs{sums};
  AffineMap identity = b.getMultiDimIdentityMap(2), byColumn = AffineMap::get(2, 0, d1);
  SmallVector<AffineMap> maps{identity};
  for (auto [i, extra] : llvm::enumerate(task.extras)) {
    if (task.inPlace == i)
      continue;
    bool bias = cast<RankedTensorType>(extra.getType()).getRank() == 1;
    inputs.push_back(bias ? extra : extract(b, extra, {row, task.column}, {rows, panel}, {m, kPanel}));
    maps.push_back(bias ? byColumn : identity);
  }
  maps.push_back(identity);
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, out.getType(), inputs, out, maps, parallel,
                                   [&](OpBuilder &nested, Location loc, ValueRange args) {
                                     Block &epilogue = task.op.getEpilogue().front();
                                     IRMapping mapping;
                                     mapping.map(epilogue.getArgument(0), args[0]);
                                     unsigned next = 1;
                                     for (unsigned i = 0; i < task.extras.size(); ++i) {
                                       Value value = task.inPlace == i ? args.back() : args[next++];
                                       if (!value.getType().isF32())
                                         value = arith::ExtFOp::create(nested, loc, nested.getF32Type(), value);
                                       mapping.map(epilogue.getArgument(1 + i), value);
                                     }
                                     for (Operation &inner : epilogue.without_terminator())
                                       nested.clone(inner, mapping);
                                     linalg::YieldOp::create(nested, loc,
                                                             mapping.lookupOrDefault(epilogue.back().getOperand(0)));
                                   })
      .getResult(0);
}

/// The products of rows `input` with the task's panel, in a tile like `init`.
Value emitProducts(ImplicitLocOpBuilder &b, Task &task, Value input, Value init) {
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
Value emitTile(ImplicitLocOpBuilder &b, Task &task, int64_t m, Value r, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult row = affineOf(b, d0 + d1, {task.firstRow, r}), zero = b.getIndexAttr(0), rows = b.getIndexAttr(m),
               panel = b.getIndexAttr(kPanel);
  Value input = extract(b, task.input, {row, zero}, {rows, b.getIndexAttr(task.rowExtent)}, {m, task.rowExtent});
  auto type = RankedTensorType::get({m, kPanel}, b.getF32Type());
  Value out = task.narrow ? empty(b, type, {rows, panel})
                          : extract(b, dest, {OpFoldResult(r), zero}, {rows, panel}, {m, kPanel});
  // Without an epilogue the sums are the result.
  Value sums = emitProducts(b, task, input, task.op.getEpilogue().empty() ? out : empty(b, type, {rows, panel}));
  Value result = task.op.getEpilogue().empty() ? sums : applyEpilogue(b, task, m, row, sums, out);
  if (!task.narrow)
    return insert(b, result, dest, {OpFoldResult(r), zero}, {rows, panel});
  Value cut = extract(b, result, {zero, zero}, {rows, task.width}, {m, ShapedType::kDynamic});
  return insert(b, cut, dest, {OpFoldResult(r), zero}, {rows, task.width});
}

/// Tiles of m rows of [from, to).
Value emitTiles(ImplicitLocOpBuilder &b, Task &task, int64_t m, Value from, Value to, Value dest) {
  return loop(b, from, to, m, dest,
              [&](ImplicitLocOpBuilder &b, Value r, Value carried) { return emitTile(b, task, m, r, carried); });
}

/// Whether products of several rows read the weight from a copy in f32.
bool widens(attn::LinearOp op) {
  Type weight = op.getWeight().getType().getElementType();
  return (weight.isBF16() || weight.isF16()) && !op.getInput().getType().getElementType().isBF16();
}

/// The same with the panel widened before, unless there are no rows.
Value emitWidened(ImplicitLocOpBuilder &b, Task &task, int64_t m, Value from, Value to, Value dest) {
  Value trips = arith::MinSIOp::create(b, arith::SubIOp::create(b, to, from), index(b, 1));
  return loop(b, index(b, 0), trips, 1, dest, [&](ImplicitLocOpBuilder &b, Value, Value carried) {
    Task wide = task;
    wide.weight = widenPanel(b, task);
    wide.inPairs = false;
    return emitTiles(b, wide, m, from, to, carried);
  });
}

/// Columns of the panel that begins at `column`, of a result whose last one is narrower.
OpFoldResult widthOf(ImplicitLocOpBuilder &b, int64_t columns, OpFoldResult column) {
  OpFoldResult left = affineOf(b, b.getAffineConstantExpr(columns) - b.getAffineDimExpr(0), {column});
  return affineMin(b, {OpFoldResult(b.getIndexAttr(kPanel)), left});
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

/// The task of panel `nth` from row `first` on.
Task taskOf(ImplicitLocOpBuilder &b, const Product &product, Value nth, OpFoldResult first) {
  attn::LinearOp op = product.op;
  const int64_t k = product.k;
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0), panel = b.getIndexAttr(kPanel);
  Task task{op,
            product.input,
            product.inPlace,
            {},
            {},
            first,
            affineOf(b, b.getAffineDimExpr(0) * kPanel, {OpFoldResult(nth)}),
            k,
            panel,
            product.columns % kPanel != 0,
            product.quantized,
            product.quantized ? product.quantized.ofRows().rowBytes(k) : k,
            product.inPairs};
  ArrayRef<int64_t> onePanel = cast<RankedTensorType>(product.panels.getType()).getShape().drop_front();
  task.weight = op.isPacked()
                    ? extract(b, product.panels, {OpFoldResult(nth), zero, zero},
                              {one, b.getIndexAttr(onePanel[0]), b.getIndexAttr(onePanel[1])}, onePanel)
                    : extract(b, product.panels, {zero, task.column}, {b.getIndexAttr(k), panel}, {k, kPanel});
  for (Value extra : op.getExtras())
    task.extras.push_back(cast<RankedTensorType>(extra.getType()).getRank() == 1
                              ? extract(b, extra, {task.column}, {panel}, {kPanel})
                              : extra);
  if (task.narrow)
    task.width = widthOf(b, product.columns, task.column);
  return task;
}

/// Rows [first, first + count) of panel `nth` into `tile`.
Value emitPanel(ImplicitLocOpBuilder &b, const Product &product, Value nth, OpFoldResult first, OpFoldResult count,
                Value tile) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Task task = taskOf(b, product, nth, first);
  Value from = index(b, 0);
  for (int64_t m : product.tileRows) {
    // As many tiles of m rows as are left; a tile of one row takes the rest.
    Value to = asValue(b, affineOf(b, d0 + (d1 - d0).floorDiv(m) * m, {OpFoldResult(from), count}));
    tile = m == product.tileRows.front() && widens(product.op) ? emitWidened(b, task, m, from, to, tile)
                                                               : emitTiles(b, task, m, from, to, tile);
    from = to;
  }
  return tile;
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
    OpFoldResult rows = extent(b, op.getInput(), 0), one = b.getIndexAttr(1);
    Value dest = product.inPlace ? Value(op.getExtras()[*product.inPlace])
                                 : destination(b, op.getResult(), {rows, b.getIndexAttr(product.columns)});
    // Blocks of nearly one size, in whole register tiles.
    OpFoldResult blocks = affineOf(b, d0.ceilDiv(kTaskRows), {rows});
    Value each = arith::CeilDivUIOp::create(b, asValue(b, rows), asValue(b, affineMax(b, {blocks, one})));
    each = asValue(b, affineOf(b, d0.ceilDiv(product.tileRows[0]) * product.tileRows[0], {OpFoldResult(each)}));
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
