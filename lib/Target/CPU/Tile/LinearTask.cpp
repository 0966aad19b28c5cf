//===- LinearTask.cpp - Operands and epilogue of a matmul's task -------------------------===//
#include "lib/Target/CPU/Tile/LinearTask.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Fusions.h"
#include "lib/Target/CPU/Tile/Rows.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

std::optional<unsigned> tile::overwritable(attn::LinearOp op) {
  if (cpu::fusedCastOf(op.getResult()))
    return std::nullopt;
  for (auto [i, extra] : llvm::enumerate(op.getExtras()))
    if (extra.getType() == op.getResult().getType() && isReadLastBy(op, extra) && !cpu::isFused(extra.getDefiningOp()))
      return i;
  return std::nullopt;
}

Value tile::inputOf(ImplicitLocOpBuilder &b, attn::LinearOp op) {
  Value input = op.getInput();
  RankedTensorType type = op.getInput().getType();
  if (type.getElementType().isBF16() && !TargetInfo::of(op).hasBf16Matmul()) {
    Value rows = destination(b, input, extents(b, input), b.getF32Type());
    auto widen = [&](ImplicitLocOpBuilder &b, ValueRange at, ValueRange dests) {
      return forPanels(b, type.getShape().back(), dests, [&](ImplicitLocOpBuilder &b, Value column, ValueRange) {
        SmallVector<Value> place(at);
        place.push_back(column);
        return readPanel(b, input, place);
      });
    };
    return rowGrid(b, ValueRange(rows), widen)[0];
  }
  if (!isa<BlockArgument>(input) || !isReadOnly(input) || !rowsAlias(op, type) || !fillsPanels(input))
    return input;
  int64_t columns = type.getDimSize(1);
  Value apart = emptyApart(b, type, {extent(b, input, 0), b.getIndexAttr(columns)});
  return rowGrid(b, apart, [&](ImplicitLocOpBuilder &b, Value row, Value) {
    return extract(b, input, {OpFoldResult(row), b.getIndexAttr(0)}, {b.getIndexAttr(1), b.getIndexAttr(columns)},
                   {columns});
  });
}

OpFoldResult tile::widthOf(ImplicitLocOpBuilder &b, int64_t columns, OpFoldResult column) {
  OpFoldResult left = affineOf(b, b.getAffineConstantExpr(columns) - b.getAffineDimExpr(0), {column});
  return affineMin(b, {OpFoldResult(b.getIndexAttr(kPanel)), left});
}

void tile::cutToPanel(ImplicitLocOpBuilder &b, LinearTask &task, int64_t columns) {
  attn::LinearOp op = task.op;
  OpFoldResult panel = b.getIndexAttr(kPanel);
  for (Value extra : op.getExtras())
    task.extras.push_back(cast<RankedTensorType>(extra.getType()).getRank() == 1
                              ? extract(b, extra, {task.vectorColumn}, {panel}, {kPanel})
                              : extra);
  task.narrow = columns % kPanel != 0;
  task.width = task.narrow ? widthOf(b, columns, task.column) : panel;
}

Value tile::overRowTiles(ImplicitLocOpBuilder &b, ArrayRef<int64_t> tileRows, Value rows, int64_t least, Value init,
                         function_ref<Value(ImplicitLocOpBuilder &, int64_t, Value, Value, Value)> body) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value from = index(b, 0);
  for (auto [i, m] : llvm::enumerate(tileRows)) {
    // As many tiles of m rows as are left; a tile of one row takes the rest.
    Value to = asValue(b, affineOf(b, d0 + (d1 - d0).floorDiv(m) * m, {OpFoldResult(from), OpFoldResult(rows)}));
    if (const int64_t rest = i + 1 < tileRows.size() ? 2 * tileRows[i + 1] - m : 0; rest > 0) {
      Value left = arith::SubIOp::create(b, rows, to), fits = arith::SubIOp::create(b, to, index(b, m));
      Value isRest = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, left, index(b, rest));
      to = arith::MaxSIOp::create(b, arith::SelectOp::create(b, isRest, fits, to), from);
    }
    if (m == tileRows.front() && least > m) {
      Value isMany = arith::CmpIOp::create(b, arith::CmpIPredicate::uge, rows, index(b, least));
      to = arith::SelectOp::create(b, isMany, to, from);
    }
    init = body(b, m, from, to, init);
    from = to;
  }
  return init;
}

/// The epilogue of rows [r, r + m) of the task, whose accumulators are `sums`, into `out`.
static Value applyEpilogue(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value r, Value sums, Value out) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  OpFoldResult row = affineOf(b, d0 + d1, {task.firstRow, r}), zero = b.getIndexAttr(0), rows = b.getIndexAttr(m),
               panel = b.getIndexAttr(kPanel);
  SmallVector<Value> inputs{sums};
  AffineMap identity = b.getMultiDimIdentityMap(2), byColumn = AffineMap::get(2, 0, d1);
  SmallVector<AffineMap> maps{identity};
  for (auto [i, extra] : llvm::enumerate(task.extras)) {
    if (task.inPlace == i)
      continue;
    bool bias = cast<RankedTensorType>(extra.getType()).getRank() == 1;
    SmallVector<OpFoldResult> place{row, task.column};
    if (task.local == i)
      place = {OpFoldResult(r), zero};
    inputs.push_back(bias ? extra : extract(b, extra, place, {rows, panel}, {m, kPanel}));
    maps.push_back(bias ? byColumn : identity);
  }
  maps.push_back(identity);
  SmallVector<utils::IteratorType> parallel(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(b, out.getType(), inputs, out, maps, parallel,
                                   [&](OpBuilder &nested, Location loc, ValueRange args) {
                                     attn::LinearOp op = task.op;
                                     Block &epilogue = op.getEpilogue().front();
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
                                     Value result = mapping.lookupOrDefault(epilogue.back().getOperand(0));
                                     if (Type type = args.back().getType(); !type.isF32())
                                       result = arith::TruncFOp::create(nested, loc, type, result);
                                     linalg::YieldOp::create(nested, loc, result);
                                   })
      .getResult(0);
}

Value tile::finishTile(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value r, Value sums, Value dest) {
  OpFoldResult zero = b.getIndexAttr(0), rows = b.getIndexAttr(m), panel = b.getIndexAttr(kPanel);
  attn::LinearOp op = task.op;
  if (op.getEpilogue().empty()) {
    Value cut = task.narrow ? extract(b, sums, {zero, zero}, {rows, task.width}, {m, ShapedType::kDynamic}) : sums;
    return insert(b, cut, dest, {OpFoldResult(r), zero}, {rows, task.width});
  }
  auto type = RankedTensorType::get({m, kPanel}, b.getF32Type());
  Value out = task.narrow ? empty(b, type, {rows, panel})
                          : extract(b, dest, {OpFoldResult(r), zero}, {rows, panel}, {m, kPanel});
  Value result = applyEpilogue(b, task, m, r, sums, out);
  if (task.narrow)
    result = extract(b, result, {zero, zero}, {rows, task.width}, {m, ShapedType::kDynamic});
  return insert(b, result, dest, {OpFoldResult(r), zero}, {rows, task.width});
}
