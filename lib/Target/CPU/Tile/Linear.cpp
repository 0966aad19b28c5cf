//===- Linear.cpp - attn.linear as a grid of micro-kernel tiles -------------------------===//
//
// The grid is (blocks of rows, packed panels of 32 columns). A residual that nothing reads
// afterwards is the destination, so it is updated in place. A task of a fused rotation has
// all panels of a head, and rotates the head's rows when their sums are complete. A task of
// a fused dual matmul computes the same panel of both matmuls.
//
// A task reads its rows of the input once a panel. Where k is so large that the rows do not
// stay in L2, a task has several panels and k is blocked: a k block of the rows is read for
// all panels, and partial accumulators are in a scratch buffer until the last block. Few
// rows stay in L2 in any case, and leave more tasks.
//
// Where the schedule says so, rows are packed by tiles first, of which a step over k reads one line.
//
// A single row reads each panel once, out of memory, which gives more to several streams: where
// registers hold the accumulators of several panels, a task reads as many side by side.
//
// Where rows have a matrix of several each, the grid is (groups of rows, panels of a matrix),
// and a task has all rows of its group, a block at a time. There are no more groups with
// rows than rows, so few tokens make few tasks, and read only their matrices. Where heads
// have a matrix each, the grid is (blocks of rows, heads, panels of a matrix).
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "lib/Target/CPU/Schedule/Fusions.h"
#include "lib/Target/CPU/Tile/LinearTiles.h"
#include "lib/Target/CPU/Tile/PackRows.h"
#include "lib/Target/CPU/Tile/Quantization.h"
#include "lib/Target/CPU/Tile/Rotation.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/Target/CPU/Tile/Tiling.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

/// Rotates the rows of one head, [count, channels], the first of which is row `firstRow` of the result.
Value rotateRows(ImplicitLocOpBuilder &b, attn::RopeOp rope, Value head, OpFoldResult firstRow, OpFoldResult count,
                 Value rows) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value end = asValue(b, count);
  if (std::optional<uint64_t> heads = rope.getHeads()) {
    Value isRotated = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, head, index(b, *heads));
    end = arith::SelectOp::create(b, isRotated, end, index(b, 0));
  }
  return loop(b, index(b, 0), end, 1, rows, [&](ImplicitLocOpBuilder &b, Value row, Value carried) {
    Value token = asValue(b, affineOf(b, d0 + d1, {firstRow, OpFoldResult(row)}));
    auto place = [&](Value, OpFoldResult channel) { return SmallVector<Value>{row, asValue(b, channel)}; };
    return rotateHeads(b, rope, token, index(b, 1), /*source=*/nullptr, place, carried, place);
  });
}

/// The operands and sizes that all tasks of a matmul share.
struct Matmul {
  attn::LinearOp op;
  Value input, panels;
  Value packed; ///< the input by tiles, or null
  std::optional<unsigned> inPlace;
  int64_t k, depth; ///< of a k block, or k
  int64_t columns;
  attn::QuantizedType quantized;
  attn_cpu::LinearScheduleAttr schedule;
  bool isVnniPacked;
  attn::RopeOp rope = nullptr;    ///< the fused rotation, or null
  int64_t unit = kPanel;          ///< columns that a task computes whole: those of a rotated head, or of a panel
  const Matmul *second = nullptr; ///< the other matmul of a fused dual matmul, or null

  int64_t panelsOfUnit() const { return unit / kPanel; }
  int64_t panelsOfMatrix() const { return llvm::divideCeil(columns, kPanel); }
  int64_t mostRows() const { return schedule.getTaskRows(); } ///< of a task
  bool isWhole() const { return depth == k; }
};

/// A block of rows as one task sees it.
struct RowBlock {
  OpFoldResult first, count;
  Value matrix = nullptr; ///< the one of several that the rows are multiplied by, or null
};

/// The sums of all panels of a task over all k blocks, [panels * rows, 32], panel after panel, or those of a single row
/// beside each other, [1, panels * 32]; those of the second matmul are the second half.
struct Sums {
  Value tensor, firstPanel;
  int64_t rows;           ///< of a panel
  int64_t firstPlace = 0; ///< panels before the first
  bool isRow = false;     ///< [1, panels * 32]

  /// Those of the panel that is `p` behind the first.
  Value of(ImplicitLocOpBuilder &b, Value p) const {
    return extract(b, tensor, placeOf(b, p), sizes(b), {rows, kPanel});
  }
  Value with(ImplicitLocOpBuilder &b, Value p, Value panel) const {
    return insert(b, panel, tensor, placeOf(b, p), sizes(b));
  }

private:
  SmallVector<OpFoldResult> placeOf(ImplicitLocOpBuilder &b, Value p) const {
    OpFoldResult zero = b.getIndexAttr(0),
                 at = affineOf(b, (b.getAffineDimExpr(0) + firstPlace) * (isRow ? kPanel : rows), {OpFoldResult(p)});
    return isRow ? SmallVector<OpFoldResult>{zero, at} : SmallVector<OpFoldResult>{at, zero};
  }
  SmallVector<OpFoldResult> sizes(ImplicitLocOpBuilder &b) const {
    return {b.getIndexAttr(rows), b.getIndexAttr(kPanel)};
  }
};

/// Where panel `nth` of the block's matrix is in the weight.
Value panelOf(ImplicitLocOpBuilder &b, const Matmul &matmul, Value nth, const RowBlock &rows) {
  if (!rows.matrix)
    return nth;
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult at[] = {OpFoldResult(rows.matrix), OpFoldResult(nth)};
  return asValue(b, affineOf(b, d0 * matmul.panelsOfMatrix() + d1, at));
}

/// Rows [from, from + depth) of panel `nth` of the block's matrix.
Value weightOf(ImplicitLocOpBuilder &b, const Matmul &matmul, Value nth, const RowBlock &rows, OpFoldResult from) {
  attn::LinearOp op = matmul.op;
  nth = panelOf(b, matmul, nth, rows);
  OpFoldResult zero = b.getIndexAttr(0), panel = b.getIndexAttr(kPanel);
  if (!op.getLayout())
    return extract(b, matmul.panels, {from, affineOf(b, b.getAffineDimExpr(0) * kPanel, {OpFoldResult(nth)})},
                   {b.getIndexAttr(matmul.depth), panel}, {matmul.depth, kPanel});
  SmallVector<int64_t> shape(cast<RankedTensorType>(matmul.panels.getType()).getShape().drop_front());
  if (!matmul.isWhole()) {
    const int64_t rowsOfLine = matmul.isVnniPacked ? 2 : 1;
    shape[0] = matmul.depth / rowsOfLine;
    from = affineOf(b, b.getAffineDimExpr(0).floorDiv(rowsOfLine), {from});
  }
  return extract(b, matmul.panels, {OpFoldResult(nth), from, zero},
                 {b.getIndexAttr(1), b.getIndexAttr(shape[0]), b.getIndexAttr(shape[1])}, shape);
}

/// The rows of a block and panel `nth`.
LinearTask taskOf(ImplicitLocOpBuilder &b, const Matmul &matmul, Value nth, const RowBlock &rows) {
  LinearTask task;
  task.op = matmul.op, task.input = matmul.input, task.packed = matmul.packed, task.inPlace = matmul.inPlace;
  task.schedule = matmul.schedule, task.quantized = matmul.quantized, task.isVnniPacked = matmul.isVnniPacked;
  task.k = matmul.depth;
  task.inWords = matmul.quantized && cpu::readsWords(matmul.quantized, TargetInfo::of(matmul.op));
  task.rowExtent = matmul.quantized
                       ? attn_cpu::QuantizedLayout::ofRows(matmul.quantized, matmul.k, task.inWords).rowBytes()
                       : matmul.depth;
  task.firstRow = rows.first;
  task.column = affineOf(b, b.getAffineDimExpr(0) * kPanel, {OpFoldResult(nth)});
  task.vectorColumn = affineOf(b, b.getAffineDimExpr(0) * kPanel, {OpFoldResult(panelOf(b, matmul, nth, rows))});
  return task;
}

/// Rows of panel `nth` into `tile`: the whole matmul, or the epilogue of its accumulators `sums`.
Value emitPanel(ImplicitLocOpBuilder &b, const Matmul &matmul, const Sums *sums, Value nth, const RowBlock &rows,
                Value tile) {
  LinearTask task = taskOf(b, matmul, nth, rows);
  cutToPanel(b, task, matmul.columns);
  OpFoldResult zero = b.getIndexAttr(0), panel = b.getIndexAttr(kPanel);
  if (const Matmul *second = matmul.second) {
    const int64_t most = matmul.mostRows();
    Value buffer = empty(b, RankedTensorType::get({most, kPanel}, b.getF32Type()), {b.getIndexAttr(most), panel});
    buffer = extract(b, buffer, {zero, zero}, {rows.count, panel}, {ShapedType::kDynamic, kPanel});
    attn::LinearOp op = matmul.op, other = second->op;
    task.local = llvm::find(op.getExtras(), other.getResult()).getIndex();
    Sums after;
    if (sums) {
      after = *sums;
      after.firstPlace = cast<RankedTensorType>(sums->tensor.getType()).getNumElements() / (sums->rows * kPanel) / 2;
    }
    task.extras[*task.local] = emitPanel(b, *second, sums ? &after : nullptr, nth, rows, buffer);
  }
  if (!sums) {
    task.weight = weightOf(b, matmul, nth, rows, zero);
    return multiplyRows(b, task, asValue(b, rows.count), tile);
  }
  Value place = arith::SubIOp::create(b, nth, sums->firstPanel);
  if (sums->isRow)
    return finishTile(b, task, 1, index(b, 0), sums->of(b, place), tile);
  return finishRows(b, task, asValue(b, rows.count), sums->of(b, place), tile);
}

/// Rows of unit `nth` into `tile`; those of a head are rotated then.
Value emitUnit(ImplicitLocOpBuilder &b, const Matmul &matmul, const Sums *sums, Value nth, const RowBlock &rows,
               Value tile) {
  if (!matmul.rope)
    return emitPanel(b, matmul, sums, nth, rows, tile);
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  const int64_t panels = matmul.panelsOfUnit();
  OpFoldResult zero = b.getIndexAttr(0), panel = b.getIndexAttr(kPanel);
  tile = loop(b, index(b, 0), index(b, panels), 1, tile, [&](ImplicitLocOpBuilder &b, Value p, Value carried) {
    OpFoldResult column = affineOf(b, d0 * kPanel, {OpFoldResult(p)});
    Value ofHead = asValue(b, affineOf(b, d0 * panels + d1, {OpFoldResult(nth), OpFoldResult(p)}));
    Value part = extract(b, carried, {zero, column}, {rows.count, panel}, {ShapedType::kDynamic, kPanel});
    part = emitPanel(b, matmul, sums, ofHead, rows, part);
    return insert(b, part, carried, {zero, column}, {rows.count, panel});
  });
  return rotateRows(b, matmul.rope, nth, rows.first, rows.count, tile);
}

/// Replaces unit `nth` of `tile`, whose first column is `column` there, by what `emit` makes of it.
Value intoUnit(ImplicitLocOpBuilder &b, const Matmul &matmul, Value nth, OpFoldResult column, const RowBlock &rows,
               Value tile, function_ref<Value(Value)> emit) {
  OpFoldResult zero = b.getIndexAttr(0), width = b.getIndexAttr(matmul.unit);
  const bool isNarrow = matmul.columns % kPanel != 0;
  if (isNarrow)
    width = widthOf(b, matmul.columns, affineOf(b, b.getAffineDimExpr(0) * matmul.unit, {OpFoldResult(nth)}));
  Value mine = extract(b, tile, {zero, column}, {rows.count, width},
                       {ShapedType::kDynamic, isNarrow ? ShapedType::kDynamic : matmul.unit});
  return insert(b, emit(mine), tile, {zero, column}, {rows.count, width});
}

/// The accumulators of a block of rows and `panels` panels from `firstPanel` on, over all k blocks.
Sums accumulate(ImplicitLocOpBuilder &b, const Matmul &matmul, int64_t mostPanels, Value firstPanel, Value panels,
                const RowBlock &rows) {
  const int64_t mostRows = matmul.mostRows(), allRows = mostPanels * mostRows * (matmul.second ? 2 : 1);
  Value zero = index(b, 0), count = asValue(b, rows.count);
  Value buffer = empty(b, RankedTensorType::get({allRows, kPanel}, b.getF32Type()),
                       {b.getIndexAttr(allRows), b.getIndexAttr(kPanel)});
  auto addBlock = [&](ImplicitLocOpBuilder &b, Value from, Value carried) {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, from, zero);
    Value fills = arith::SelectOp::create(b, isFirst, index(b, 1), zero);
    return loop(b, zero, panels, 1, carried, [&](ImplicitLocOpBuilder &b, Value p, Value inner) {
      Value nth = arith::AddIOp::create(b, firstPanel, p);
      auto add = [&](const Matmul &matmul, int64_t firstPlace, Value all) {
        LinearTask task = taskOf(b, matmul, nth, rows);
        task.weight = weightOf(b, matmul, nth, rows, from);
        task.block = {from, fills};
        Sums sums{all, firstPanel, mostRows, firstPlace};
        return sums.with(b, p, multiplyRows(b, task, count, sums.of(b, p)));
      };
      inner = add(matmul, 0, inner);
      return matmul.second ? add(*matmul.second, mostPanels, inner) : inner;
    });
  };
  return {loop(b, zero, index(b, matmul.k), matmul.depth, buffer, addBlock), firstPanel, mostRows};
}

/// The accumulators of a single row and `panels` panels from `firstPanel` on, `together` of them at a time.
Sums accumulateRow(ImplicitLocOpBuilder &b, const Matmul &matmul, int64_t mostPanels, Value firstPanel, Value panels,
                   const RowBlock &row) {
  const int64_t width = mostPanels * kPanel * (matmul.second ? 2 : 1), together = *matmul.schedule.getRowPanels();
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  Value buffer = empty(b, RankedTensorType::get({1, width}, b.getF32Type()), {one, b.getIndexAttr(width)});
  auto add = [&](ImplicitLocOpBuilder &b, const Matmul &matmul, int64_t firstPlace, int64_t count, Value p, Value all) {
    LinearTask task = taskOf(b, matmul, p, row);
    task.packed = nullptr;
    task.k = matmul.k; // the whole of it also where other rows take k in blocks
    if (!matmul.quantized)
      task.rowExtent = matmul.k;
    Value nth = arith::AddIOp::create(b, firstPanel, p);
    SmallVector<int64_t> shape(cast<RankedTensorType>(matmul.panels.getType()).getShape());
    shape[0] = count;
    task.weight = extract(b, matmul.panels, {OpFoldResult(nth), zero, zero},
                          {b.getIndexAttr(count), b.getIndexAttr(shape[1]), b.getIndexAttr(shape[2])}, shape);
    SmallVector<OpFoldResult> at{zero, affineOf(b, (b.getAffineDimExpr(0) + firstPlace) * kPanel, {OpFoldResult(p)})},
        sizes{one, b.getIndexAttr(count * kPanel)};
    Value sums = multiplyRow(b, task, extract(b, all, at, sizes, {1, count * kPanel}));
    return insert(b, sums, all, at, sizes);
  };
  auto addAll = [&](Value from, Value to, int64_t count, Value all) {
    return loop(b, from, to, count, all, [&](ImplicitLocOpBuilder &b, Value p, Value carried) {
      carried = add(b, matmul, /*firstPlace=*/0, count, p, carried);
      return matmul.second ? add(b, *matmul.second, mostPanels, count, p, carried) : carried;
    });
  };
  Value whole = asValue(b, affineOf(b, b.getAffineDimExpr(0).floorDiv(together) * together, {OpFoldResult(panels)}));
  buffer = addAll(index(b, 0), whole, together, buffer);
  return {addAll(whole, panels, 1, buffer), firstPanel, /*rows=*/1, /*firstPlace=*/0, /*isRow=*/true};
}

/// Units [first, first + count) of a block of rows into `tile`: k blocked, or those of a single row side by side.
Value emitUnits(ImplicitLocOpBuilder &b, const Matmul &matmul, bool isRow, int64_t mostUnits, Value first, Value count,
                const RowBlock &rows, Value tile) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  const int64_t panels = matmul.panelsOfUnit();
  auto panelsOf = [&](Value units) { return asValue(b, affineOf(b, d0 * panels, {OpFoldResult(units)})); };
  Sums sums =
      (isRow ? accumulateRow : accumulate)(b, matmul, mostUnits * panels, panelsOf(first), panelsOf(count), rows);
  return loop(b, index(b, 0), count, 1, tile, [&](ImplicitLocOpBuilder &b, Value u, Value carried) {
    Value nth = arith::AddIOp::create(b, first, u);
    return intoUnit(b, matmul, nth, affineOf(b, d0 * matmul.unit, {OpFoldResult(u)}), rows, carried,
                    [&](Value mine) { return emitUnit(b, matmul, &sums, nth, rows, mine); });
  });
}

/// A matmul whose weight's extents are static.
Matmul describe(ImplicitLocOpBuilder &b, attn::LinearOp op, Value input, Value packed,
                attn_cpu::LinearScheduleAttr schedule) {
  attn::QuantizedType quantized = cpu::quantizedPanels(op.getLayout(), op.getWeight());
  Value panels = quantized ? bytesOf(b, op.getWeight()) : Value(op.getWeight());
  const int64_t k = cpu::depthOf(op);
  return {op,
          input,
          panels,
          packed,
          overwritable(op),
          k,
          schedule.getDepth().value_or(k),
          op.getResult().getType().getShape().back(),
          quantized,
          schedule,
          attn_cpu::isInterleaved(op.getLayout())};
}

/// The input by tiles, where the schedule says so; null else. A single row that reads panels side by side is not
/// copied.
Value packedInputOf(ImplicitLocOpBuilder &b, attn::LinearOp op, attn_cpu::LinearScheduleAttr schedule) {
  if (!schedule.getPackRows())
    return nullptr;
  OpFoldResult rows = extent(b, op.getInput(), 0);
  if (schedule.getRowPanels()) {
    Value all = asValue(b, rows);
    Value isRow = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, all, index(b, 1));
    rows = OpFoldResult(arith::SelectOp::create(b, isRow, index(b, 0), all).getResult());
  }
  return packRows(b, op.getInput(), rows, *schedule.getPackRows());
}

/// How many of `units` one task takes: `most`, or fewer where fewer than the schedule's `tasks` would be left.
Value unitsTogether(ImplicitLocOpBuilder &b, attn_cpu::LinearScheduleAttr schedule, OpFoldResult blocks, int64_t units,
                    int64_t most) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  OpFoldResult shared = affineOf(b, (d0 * units).floorDiv(*schedule.getTasks()), {blocks});
  return asValue(b, affineMax(b, {affineMin(b, {shared, b.getIndexAttr(most)}), b.getIndexAttr(1)}));
}

struct TileLinear : OpRewritePattern<attn::LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(attn::LinearOp op, PatternRewriter &rewriter) const override {
    if (std::string reason = cpu::whyNotTiled(op); !reason.empty())
      return rewriter.notifyMatchFailure(op, reason);
    if (cpu::isFused(op))
      return rewriter.notifyMatchFailure(op, "its fusion root computes it");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto schedule = attn::scheduleOf<attn_cpu::LinearScheduleAttr>(op);
    Value packed = packedInputOf(b, op, schedule), input = packed ? Value(op.getInput()) : inputOf(b, op);
    Matmul matmul = describe(b, op, input, packed, schedule), other;
    if (attn::LinearOp second = cpu::fusedMatmulOf(op)) {
      other = describe(b, second, input, packed, schedule);
      matmul.second = &other;
    }
    if (attn::RopeOp rope = cpu::fusedRotationOf(op)) {
      matmul.rope = rope;
      matmul.unit = rope.getInput().getType().getDimSize(2);
    }
    OpFoldResult rows = extent(b, op.getInput(), 0);
    SmallVector<OpFoldResult> extents = tile::extents(b, op.getInput());
    extents.pop_back();
    RowResult result(b, op.getResult(), extents, matmul.inPlace ? Value(op.getExtras()[*matmul.inPlace]) : Value());
    auto emit = op.getGroups() ? emitGroups : op.isOfHeads() ? emitHeads : emitGrid;
    result.replace(rewriter, op, emit(b, matmul, rows, result.getDestinations()));
    return success();
  }

  /// Rows with a matrix each, group by group.
  static SmallVector<Value> emitGroups(ImplicitLocOpBuilder &b, const Matmul &matmul, OpFoldResult rows,
                                       ValueRange dest) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    attn::LinearOp op = matmul.op;
    Value groups = op.getGroups();
    const int64_t number = cast<RankedTensorType>(groups.getType()).getDimSize(0) - 1, each = matmul.mostRows();
    OpFoldResult mostGroups = affineMin(b, {b.getIndexAttr(number), rows}), zero = b.getIndexAttr(0),
                 units = b.getIndexAttr(matmul.columns / matmul.unit), width = b.getIndexAttr(matmul.unit);
    return grid(b, {mostGroups, units}, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      auto numberOf = [&](Value group, int64_t column) { return readIndex(b, groups, {group, index(b, column)}); };
      Value begin = numberOf(ids[0], 0), end = numberOf(arith::AddIOp::create(b, ids[0], index(b, 1)), 0);
      Value count = arith::SubIOp::create(b, end, begin), matrix = numberOf(ids[0], 1);
      OpFoldResult column = affineOf(b, d0 * matmul.unit, {OpFoldResult(ids[1])});
      SmallVector<OpFoldResult> offsets{begin, column}, sizes{count, width};
      Value tile = extract(b, dests[0], offsets, sizes, {ShapedType::kDynamic, matmul.unit});
      tile = loop(b, index(b, 0), count, each, tile, [&](ImplicitLocOpBuilder &b, Value from, Value carried) {
        RowBlock block{affineOf(b, d0 + d1, {OpFoldResult(begin), OpFoldResult(from)}), {}, matrix};
        block.count = affineMin(
            b, {OpFoldResult(b.getIndexAttr(each)), affineOf(b, d0 - d1, {OpFoldResult(count), OpFoldResult(from)})});
        SmallVector<OpFoldResult> at{OpFoldResult(from), zero}, extents{block.count, width};
        Value mine = extract(b, carried, at, extents, {ShapedType::kDynamic, matmul.unit});
        return insert(b, emitUnit(b, matmul, /*sums=*/nullptr, ids[1], block, mine), carried, at, extents);
      });
      return SmallVector<Insertion>{{tile, offsets, sizes}};
    });
  }

  /// Heads with a matrix each: a task has a block of rows of one.
  static SmallVector<Value> emitHeads(ImplicitLocOpBuilder &b, const Matmul &matmul, OpFoldResult rows,
                                      ValueRange dest) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    auto share = shareRows(b, rows, matmul.schedule.getTaskRows(), matmul.schedule.getRows()[0]);
    Value each = share.second;
    OpFoldResult heads = extent(b, matmul.input, 1), zero = b.getIndexAttr(0), one = b.getIndexAttr(1),
                 units = b.getIndexAttr(matmul.columns / matmul.unit), width = b.getIndexAttr(matmul.unit);
    return grid(b, {share.first, heads, units}, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      RowBlock block{Value(arith::MulIOp::create(b, ids[0], each)), {}, ids[1]};
      block.count = affineMin(b, {OpFoldResult(each), affineOf(b, d0 - d1, {rows, block.first})});
      Matmul own = matmul;
      const int64_t columns = cast<RankedTensorType>(matmul.input.getType()).getDimSize(2);
      own.input = extract(b, matmul.input, {zero, OpFoldResult(ids[1]), zero}, {rows, one, b.getIndexAttr(columns)},
                          {ShapedType::kDynamic, columns});
      OpFoldResult column = affineOf(b, d0 * matmul.unit, {OpFoldResult(ids[2])});
      SmallVector<OpFoldResult> offsets{block.first, OpFoldResult(ids[1]), column}, sizes{block.count, one, width};
      Value tile = extract(b, dests[0], offsets, sizes, {ShapedType::kDynamic, matmul.unit});
      return SmallVector<Insertion>{{emitUnit(b, own, /*sums=*/nullptr, ids[2], block, tile), offsets, sizes}};
    });
  }

  static SmallVector<Value> emitGrid(ImplicitLocOpBuilder &b, const Matmul &matmul, OpFoldResult rows,
                                     ValueRange dest) {
    AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
    const Shares shares = shareGrid(b, matmul, rows);
    const int64_t unit = matmul.unit;
    Value together = shares.together;
    OpFoldResult tasks = b.getIndexAttr(shares.units);
    if (together)
      tasks = Value(arith::CeilDivUIOp::create(b, index(b, shares.units), together));
    return grid(b, {shares.blocks, tasks}, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      RowBlock block{Value(arith::MulIOp::create(b, ids[0], shares.each)), {}};
      block.count = affineMin(b, {OpFoldResult(shares.each), affineOf(b, d0 - d1, {rows, block.first})});
      Value first = ids[1], count;
      if (together) {
        first = arith::MulIOp::create(b, first, together);
        count = arith::MinUIOp::create(b, together, arith::SubIOp::create(b, index(b, shares.units), first));
      }
      OpFoldResult column = affineOf(b, d0 * unit, {OpFoldResult(first)}), width = b.getIndexAttr(unit);
      const bool isNarrow = matmul.columns % kPanel != 0;
      if (together)
        width = affineMin(b, {affineOf(b, d0 * unit, {OpFoldResult(count)}),
                              affineOf(b, b.getAffineConstantExpr(matmul.columns) - d0, {column})});
      else if (isNarrow)
        width = widthOf(b, matmul.columns, column);
      Value tile = extract(b, dests[0], {block.first, column}, {block.count, width},
                           {ShapedType::kDynamic, together || isNarrow ? ShapedType::kDynamic : unit});
      tile = emitBlock(b, matmul, shares, first, count, block, tile);
      return SmallVector<Insertion>{{tile, {block.first, column}, {block.count, width}}};
    });
  }

  /// How a grid shares the rows and the units of a matmul among its tasks.
  struct Shares {
    OpFoldResult blocks;          ///< of rows
    Value each;                   ///< rows of a block
    int64_t units;                ///< of all tasks
    int64_t mostUnits, mostOfRow; ///< of a task that blocks k, or of one of a single row
    Value isRow;                  ///< whether there is a single row, whose panels lie side by side; or null
    Value together;               ///< units of a task; null where each has one
  };
  static Shares shareGrid(ImplicitLocOpBuilder &b, const Matmul &matmul, OpFoldResult rows) {
    attn_cpu::LinearScheduleAttr schedule = matmul.schedule;
    const int64_t panels = matmul.panelsOfUnit();
    auto most = [](std::optional<int64_t> all, int64_t ofUnit) {
      return std::max<int64_t>(1, all.value_or(1) / ofUnit);
    };
    Shares shares;
    std::tie(shares.blocks, shares.each) = shareRows(b, rows, schedule.getTaskRows(), schedule.getRows()[0]);
    shares.units = llvm::divideCeil(matmul.columns, matmul.unit);
    shares.mostUnits = most(schedule.getPanels(), panels * (matmul.second ? 2 : 1));
    shares.mostOfRow = most(schedule.getRowPanels(), panels);
    auto takeIf = [&](Value condition, int64_t most) {
      Value one = shares.together ? shares.together : index(b, 1);
      shares.together =
          arith::SelectOp::create(b, condition, unitsTogether(b, schedule, shares.blocks, shares.units, most), one);
    };
    if (!matmul.isWhole())
      takeIf(arith::CmpIOp::create(b, arith::CmpIPredicate::uge, asValue(b, rows), index(b, *schedule.getManyRows())),
             shares.mostUnits);
    if (schedule.getRowPanels()) {
      shares.isRow = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, asValue(b, rows), index(b, 1));
      takeIf(shares.isRow, shares.mostOfRow);
    }
    return shares;
  }

  /// Units [first, first + count) of a block of rows, or unit `first` where a task has one, into `tile`.
  static Value emitBlock(ImplicitLocOpBuilder &b, const Matmul &matmul, const Shares &shares, Value first, Value count,
                         const RowBlock &block, Value tile) {
    auto emitRows = [&](ImplicitLocOpBuilder &b, Value tile) {
      if (!matmul.isWhole())
        return emitUnits(b, matmul, /*isRow=*/false, shares.mostUnits, first, count, block, tile);
      auto emit = [&](Value mine) { return emitUnit(b, matmul, /*sums=*/nullptr, first, block, mine); };
      return shares.together ? intoUnit(b, matmul, first, b.getIndexAttr(0), block, tile, emit) : emit(tile);
    };
    auto emitRow = [&](ImplicitLocOpBuilder &b, Value tile) {
      return emitUnits(b, matmul, /*isRow=*/true, shares.mostOfRow, first, count, block, tile);
    };
    return shares.isRow ? eitherOf(b, shares.isRow, tile, emitRow, emitRows) : emitRows(b, tile);
  }

  /// `init` after `then` if `condition` holds, else after `otherwise`. Loops of one iteration or none, which keep their
  /// destination in place.
  static Value eitherOf(ImplicitLocOpBuilder &b, Value condition, Value init,
                        function_ref<Value(ImplicitLocOpBuilder &, Value)> then,
                        function_ref<Value(ImplicitLocOpBuilder &, Value)> otherwise) {
    Value zero = index(b, 0), one = index(b, 1);
    for (bool holds : {true, false}) {
      Value trips = arith::SelectOp::create(b, condition, holds ? one : zero, holds ? zero : one);
      init = loop(b, zero, trips, 1, init, [&](ImplicitLocOpBuilder &b, Value, Value carried) {
        return holds ? then(b, carried) : otherwise(b, carried);
      });
    }
    return init;
  }
};

} // namespace

void rapt::populateLinearTilingPatterns(RewritePatternSet &patterns) {
  patterns.add<TileLinear>(patterns.getContext());
}
