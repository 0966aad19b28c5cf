//===- LinearTiles.cpp - Tiles of rows of one panel of attn.linear ------------------------===//
//
// A task walks tiles of each number of rows of its schedule, the last one of single rows, each
// [rows, k] x [k, 32] followed by the epilogue, or by nothing for a k block, which adds to
// partial accumulators. A panel of 16 bits is widened once for all tiles of the most rows, where
// the target does not multiply it as it is; a VNNI-packed one only where there are many rows. So
// is a panel of 4 bits unpacked.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/LinearTiles.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Kernel.h"
#include "lib/Target/CPU/Tile/Quantization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

Value fillWithZero(ImplicitLocOpBuilder &b, Value tile) {
  Value f0 = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  return linalg::FillOp::create(b, f0, tile).getResult(0);
}

/// Adds the matmul of rows `input` and the task's panel to `sums`.
Value addMatmul(ImplicitLocOpBuilder &b, const LinearTask &task, Value input, Value sums) {
  Type type = sums.getType();
  if (task.isVnniPacked)
    return cpu::withKernel(attn_cpu::VnniMatmulOp::create(b, type, input, task.weight, sums),
                           task.schedule.getKernel());
  const Value inputs[] = {input, task.weight};
  if (task.packed)
    return cpu::withKernel(
        linalg::MatmulTransposeAOp::create(b, b.getLoc(), type, ValueRange(inputs), ValueRange(sums)),
        task.schedule.getKernel());
  return cpu::withKernel(linalg::MatmulOp::create(b, type, ValueRange(inputs), ValueRange(sums)),
                         task.schedule.getKernel());
}

/// The matmul without the epilogue, in a tile like `init`.
Value emitMatmul(ImplicitLocOpBuilder &b, const LinearTask &task, Value input, Value init) {
  if (task.quantized)
    return cpu::withKernel(attn_cpu::QuantizedMatmulOp::create(b, init.getType(), input, task.weight, init, task.k,
                                                               task.quantized, task.inWords, task.isUnpacked),
                           task.schedule.getKernel());
  return addMatmul(b, task, input, fillWithZero(b, init));
}

/// Rows [row, row + m) of the input; [k, m] where it is packed, whose tiles they do not cross.
Value inputRows(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, OpFoldResult row) {
  if (task.packed) {
    AffineExpr d0 = b.getAffineDimExpr(0);
    const int64_t each = cast<RankedTensorType>(task.packed.getType()).getDimSize(2);
    OpFoldResult tile = affineOf(b, d0.floorDiv(each), {row}),
                 place = m == each ? b.getIndexAttr(0) : affineOf(b, d0 % each, {row});
    return extract(b, task.packed, {tile, task.block ? task.block->from : b.getIndexAttr(0), place},
                   {b.getIndexAttr(1), b.getIndexAttr(task.rowExtent), b.getIndexAttr(m)}, {task.rowExtent, m});
  }
  return extract(b, task.input, {row, task.block ? task.block->from : b.getIndexAttr(0)},
                 {b.getIndexAttr(m), b.getIndexAttr(task.rowExtent)}, {m, task.rowExtent});
}

/// Adds rows [r, r + m) of a k block to the accumulators.
Value addTile(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value r, Value input, Value sums) {
  OpFoldResult row(r), zero = b.getIndexAttr(0), rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel);
  Value tile = extract(b, sums, {row, zero}, {rows, panel}, {m, kPanel});
  tile = loop(b, index(b, 0), task.block->fills, 1, tile,
              [](ImplicitLocOpBuilder &b, Value, Value carried) { return fillWithZero(b, carried); });
  return insert(b, addMatmul(b, task, input, tile), sums, {row, zero}, {rows, panel});
}

/// Rows [r, r + m) of the task into `dest`.
Value emitTile(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value r, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult row = affineOf(b, d0 + d1, {task.firstRow, r}), zero = b.getIndexAttr(0), rows = b.getIndexAttr(m),
               panel = b.getIndexAttr(kPanel);
  Value input = inputRows(b, task, m, row);
  if (task.block)
    return addTile(b, task, m, r, input, dest);
  auto type = RankedTensorType::get({m, kPanel}, b.getF32Type());
  // Without an epilogue the sums are the result.
  attn::LinearOp op = task.op;
  bool direct = op.getEpilogue().empty() && !task.narrow;
  Value sums =
      direct ? extract(b, dest, {OpFoldResult(r), zero}, {rows, panel}, {m, kPanel}) : empty(b, type, {rows, panel});
  sums = emitMatmul(b, task, input, sums);
  if (direct)
    return insert(b, sums, dest, {OpFoldResult(r), zero}, {rows, panel});
  return finishTile(b, task, m, r, sums, dest);
}

/// Tiles of m rows of [from, to).
Value emitTiles(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value from, Value to, Value dest) {
  return loop(b, from, to, m, dest,
              [&](ImplicitLocOpBuilder &b, Value r, Value carried) { return emitTile(b, task, m, r, carried); });
}

/// A panel of 16 bits, [k, 32] or VNNI-packed [k/2, 64], as [k, 32] of f32.
Value widenPanel(ImplicitLocOpBuilder &b, Value weight, bool isVnniPacked) {
  int64_t units = cast<RankedTensorType>(weight.getType()).getDimSize(0), k = isVnniPacked ? 2 * units : units;
  Value wide =
      empty(b, RankedTensorType::get({k, kPanel}, b.getF32Type()), {b.getIndexAttr(k), b.getIndexAttr(kPanel)});
  wide =
      loop(b, index(b, 0), index(b, units), 1, wide, [&](ImplicitLocOpBuilder &b, Value unit, Value carried) -> Value {
        if (!isVnniPacked)
          return writePanel(b, readPanel(b, weight, {unit, index(b, 0)}), carried, {unit, index(b, 0)});
        auto [even, odd] = readInterleaved(b, weight, {unit, index(b, 0)}, kPanel);
        Value first = arith::MulIOp::create(b, unit, index(b, 2)),
              second = arith::AddIOp::create(b, first, index(b, 1));
        return writePanel(b, odd, writePanel(b, even, carried, {first, index(b, 0)}), {second, index(b, 0)});
      });
  return wide;
}

/// The same as emitTiles with the panel widened or unpacked before, unless there are no rows.
Value emitWidened(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value from, Value to, Value dest) {
  Value trips = arith::MinSIOp::create(b, arith::SubIOp::create(b, to, from), index(b, 1));
  return loop(b, index(b, 0), trips, 1, dest, [&](ImplicitLocOpBuilder &b, Value, Value carried) {
    LinearTask wide = task;
    Value panel = task.quantized ? unpackPanel(b, task.weight, task.quantized, task.k)
                                 : widenPanel(b, task.weight, task.isVnniPacked);
    OpFoldResult zero = b.getIndexAttr(0);
    SmallVector<int64_t> shape(cast<RankedTensorType>(panel.getType()).getShape());
    if (!task.quantized)
      shape[0] = task.k; // without the row that pads an odd number
    wide.weight = extract(b, panel, {zero, zero}, {b.getIndexAttr(shape[0]), b.getIndexAttr(shape[1])}, shape);
    wide.isVnniPacked = false;
    wide.isUnpacked = bool(task.quantized);
    return emitTiles(b, wide, m, from, to, carried);
  });
}

/// Row r of the task, whose accumulators are `own`, [1, 32]. Those of a k block are added to the partial ones.
Value emitRow(ImplicitLocOpBuilder &b, const LinearTask &task, Value r, Value own, Value dest) {
  if (!task.block)
    return finishTile(b, task, 1, r, own, dest);
  Value zero = index(b, 0), added = readPanel(b, own, {zero, zero});
  Value sum = arith::AddFOp::create(b, readPanel(b, dest, {r, zero}), added);
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, task.block->fills, zero);
  return writePanel(b, arith::SelectOp::create(b, isFirst, added, sum), dest, {r, zero});
}

/// Rows [from, count), if there are any and the task has as many as a tile: the matmul of its last rows, of which
/// those that are not done go on.
Value emitLastRows(ImplicitLocOpBuilder &b, const LinearTask &task, Value from, Value count, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  const int64_t m = *task.schedule.getKernel().getMatrixRows();
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), all = b.getIndexAttr(m),
               panel = b.getIndexAttr(kPanel);
  Value left = arith::MinSIOp::create(b, arith::SubIOp::create(b, count, from), index(b, 1));
  Value fits = arith::DivUIOp::create(b, count, index(b, m));
  return loop(b, index(b, 0), arith::MinSIOp::create(b, left, fits), 1, dest,
              [&](ImplicitLocOpBuilder &b, Value, Value carried) {
                Value first = arith::SubIOp::create(b, count, index(b, m));
                OpFoldResult row = affineOf(b, d0 + d1, {task.firstRow, OpFoldResult(first)});
                Value sums = empty(b, RankedTensorType::get({m, kPanel}, b.getF32Type()), {all, panel});
                sums = emitMatmul(b, task, inputRows(b, task, m, row), sums);
                return loop(b, from, count, 1, carried, [&](ImplicitLocOpBuilder &b, Value r, Value rows) {
                  OpFoldResult place = affineOf(b, d0 - d1, {OpFoldResult(r), OpFoldResult(first)});
                  Value own = extract(b, sums, {place, zero}, {one, panel}, {1, kPanel});
                  return emitRow(b, task, r, own, rows);
                });
              });
}

/// All rows of a task by instructions on tiles, but few ones.
Value emitByMatrix(ImplicitLocOpBuilder &b, const LinearTask &task, Value count, Value dest) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value from = index(b, 0);
  for (int64_t m : task.schedule.getRows()) {
    Value to = asValue(b, affineOf(b, d0 + (d1 - d0).floorDiv(m) * m, {OpFoldResult(from), OpFoldResult(count)}));
    dest = emitTiles(b, task, m, from, to, dest);
    if (m == *task.schedule.getKernel().getMatrixRows()) {
      dest = emitLastRows(b, task, to, count, dest);
      Value isDone = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, count, index(b, m));
      to = arith::SelectOp::create(b, isDone, count, to);
    }
    from = to;
  }
  return dest;
}

/// overRowTiles without a tile that crosses those of the packed input: the largest ones are its own.
Value overPackedTiles(ImplicitLocOpBuilder &b, ArrayRef<int64_t> rows, Value count, Value dest,
                      function_ref<Value(ImplicitLocOpBuilder &, int64_t, Value, Value, Value)> emit) {
  const int64_t most = rows.front();
  Value whole = asValue(b, affineOf(b, b.getAffineDimExpr(0).floorDiv(most) * most, {OpFoldResult(count)}));
  dest = emit(b, most, index(b, 0), whole, dest);
  return overRowTiles(b, rows.drop_front(), arith::SubIOp::create(b, count, whole), /*least=*/0, dest,
                      [&](ImplicitLocOpBuilder &b, int64_t m, Value from, Value to, Value carried) {
                        return emit(b, m, arith::AddIOp::create(b, from, whole), arith::AddIOp::create(b, to, whole),
                                    carried);
                      });
}

} // namespace

Value tile::multiplyRows(ImplicitLocOpBuilder &b, const LinearTask &task, Value count, Value dest) {
  if (task.schedule.getKernel().getMatrixRows())
    return emitByMatrix(b, task, count, dest);
  // A matmul of f32 rows widens a panel of 16 bits; one of 4 bits is unpacked where the schedule says so.
  const bool isUnpacked = task.quantized && task.schedule.getWidenRows(),
             isWidened = isUnpacked || (getElementTypeOrSelf(task.input.getType()).isF32() &&
                                        getElementTypeOrSelf(task.weight.getType()).getIntOrFloatBitWidth() == 16);
  auto emit = [&](ImplicitLocOpBuilder &b, int64_t m, Value from, Value to, Value carried) {
    return m == task.schedule.getRows().front() && isWidened ? emitWidened(b, task, m, from, to, carried)
                                                             : emitTiles(b, task, m, from, to, carried);
  };
  if (task.packed)
    return overPackedTiles(b, task.schedule.getRows(), count, dest, emit);
  // Tiles of one size take all rows.
  const bool hasLeast = (isUnpacked || (isWidened && task.isVnniPacked)) && task.schedule.getRows().size() > 1;
  const int64_t least = hasLeast ? *task.schedule.getWidenRows() : 0;
  return overRowTiles(b, task.schedule.getRows(), count, least, dest, emit);
}

Value tile::multiplyRow(ImplicitLocOpBuilder &b, const LinearTask &task, Value dest) {
  Value row = inputRows(b, task, 1, task.firstRow);
  if (task.quantized)
    return emitMatmul(b, task, row, dest);
  Value start = fillWithZero(b, dest);
  if (task.isVnniPacked)
    return cpu::withKernel(attn_cpu::VnniMatmulOp::create(b, dest.getType(), row, task.weight, start),
                           task.schedule.getKernel());
  return cpu::withKernel(attn_cpu::PanelMatmulOp::create(b, dest.getType(), row, task.weight, ValueRange(),
                                                         ValueRange(), start, /*write=*/false),
                         task.schedule.getKernel());
}

Value tile::finishRows(ImplicitLocOpBuilder &b, const LinearTask &task, Value count, Value sums, Value dest) {
  return overRowTiles(b, task.schedule.getFinish(), count, /*least=*/0, dest,
                      [&](ImplicitLocOpBuilder &b, int64_t m, Value from, Value to, Value carried) {
                        return loop(b, from, to, m, carried, [&](ImplicitLocOpBuilder &b, Value r, Value inner) {
                          OpFoldResult rows = b.getIndexAttr(m), zero = b.getIndexAttr(0),
                                       panel = b.getIndexAttr(kPanel);
                          Value tile = extract(b, sums, {OpFoldResult(r), zero}, {rows, panel}, {m, kPanel});
                          return finishTile(b, task, m, r, tile, inner);
                        });
                      });
}
