//===- Rows.cpp - Grids over rows, in vectors of 32 columns -----------------------------===//
#include "lib/Target/CPU/Tile/Rows.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Fusions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace rapt;
using attn_cpu::kPanel;

bool tile::fillsPanels(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getRank() == 2 && !type.isDynamicDim(1) && type.getDimSize(1) % kPanel == 0;
}

LogicalResult tile::refuseColumns(PatternRewriter &rewriter, Operation *op, Value value) {
  return rewriter.notifyMatchFailure(op, [&](Diagnostic &reason) {
    reason << "it needs two dims, the last one a static multiple of " << kPanel << ", found " << value.getType();
  });
}

bool tile::isReadOnly(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto function = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
  if (!function || !function->hasAttr(attn::AttnDialect::entryAttr))
    return false;
  Attribute name = function.getArgAttr(argument.getArgNumber(), attn::AttnDialect::nameAttr);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, attn::AttnDialect::nameAttr) == name)
      return false;
  return true;
}

bool tile::isReadLastBy(Operation *op, Value value) {
  return !isReadOnly(value) && llvm::count(op->getOperands(), value) == 1 &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
           return ancestor && (ancestor == op || ancestor->isBeforeInBlock(op));
         });
}

bool tile::coverAllRows(Value begin) {
  if (attn::isKernelModule(begin.getParentRegion()->getParentOfType<ModuleOp>()))
    return false;
  auto argument = dyn_cast<BlockArgument>(begin);
  auto function = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
  return !function || function.getArgAttr(argument.getArgNumber(), attn::AttnDialect::nameAttr) ==
                          StringAttr::get(begin.getContext(), "row_begin");
}

Value tile::restOf(ImplicitLocOpBuilder &b, Value begin) {
  return readIndex(b, begin, asValue(b, affineOf(b, b.getAffineDimExpr(0) - 1, {extent(b, begin, 0)})));
}

/// Fills the part of `dest` at `indices` of its first dims with `element` or with vectors of zeros.
static Value fill(ImplicitLocOpBuilder &b, Value dest, Value element, SmallVector<Value> indices) {
  const int64_t dim = indices.size();
  const bool isLast = dim + 1 == cast<RankedTensorType>(dest.getType()).getRank();
  Value end = tile::asValue(b, tile::extent(b, dest, dim));
  auto body = [&](ImplicitLocOpBuilder &b, Value i, Value carried) -> Value {
    indices.resize(dim);
    indices.push_back(i);
    if (!isLast)
      return fill(b, carried, element, indices);
    if (element)
      return tensor::InsertOp::create(b, element, carried, indices);
    Value zeros = arith::ConstantOp::create(b, b.getZeroAttr(VectorType::get({kPanel}, b.getF32Type())));
    return tile::writePanel(b, zeros, carried, indices);
  };
  return tile::loop(b, tile::index(b, 0), end, isLast && !element ? kPanel : 1, dest, body);
}

Value tile::fillRest(ImplicitLocOpBuilder &b, Value begin, unsigned dim, int64_t each, Value dest, Value element) {
  AffineExpr d0 = b.getAffineDimExpr(0), d1 = b.getAffineDimExpr(1);
  Value first = restOf(b, begin);
  OpFoldResult end = extent(b, dest, dim), tasks = affineOf(b, (d0 - d1).ceilDiv(each), {end, OpFoldResult(first)});
  auto body = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    Insertion out;
    SmallVector<int64_t> shape(cast<RankedTensorType>(dest.getType()).getShape());
    for (int64_t i = 0, rank = shape.size(); i < rank; ++i) {
      out.offsets.push_back(b.getIndexAttr(0));
      out.sizes.push_back(extent(b, dest, i));
    }
    out.offsets[dim] = affineOf(b, d0 + d1 * each, {OpFoldResult(first), OpFoldResult(ids[0])});
    out.sizes[dim] = affineMin(b, {affineOf(b, d0 - d1, {end, out.offsets[dim]}), b.getIndexAttr(each)});
    shape[dim] = ShapedType::kDynamic;
    out.tile = fill(b, extract(b, dests[0], out.offsets, out.sizes, shape), element, {});
    return SmallVector<Insertion>{out};
  };
  return grid(b, tasks, dest, body)[0];
}

tile::RowResult::RowResult(ImplicitLocOpBuilder &b, Value result, OFRs rows, Value overwritten)
    : castRows(cpu::fusedCastOf(result)) {
  SmallVector<OpFoldResult> extents(rows);
  extents.push_back(b.getIndexAttr(cast<RankedTensorType>(result.getType()).getShape().back()));
  if (!castRows || !result.hasOneUse())
    destinations.push_back(overwritten ? overwritten : destination(b, result, extents));
  if (castRows)
    destinations.push_back(destination(b, castRows.getResult(), extents));
}

void tile::RowResult::replace(RewriterBase &rewriter, Operation *op, ValueRange made) {
  // The cast's operand is bf16 now, so its own pattern erases it.
  if (castRows)
    rewriter.modifyOpInPlace(castRows, [&] { castRows->setOperand(0, made.back()); });
  if (hasF32())
    rewriter.replaceOp(op, made.front());
  else
    rewriter.eraseOp(op);
}

/// Where the row at `at` is.
static tile::Insertion placeOfRow(ImplicitLocOpBuilder &b, Value tensor, ValueRange at) {
  tile::Insertion place{{}, getAsOpFoldResult(at), SmallVector<OpFoldResult>(at.size(), b.getIndexAttr(1))};
  place.offsets.push_back(b.getIndexAttr(0));
  place.sizes.push_back(b.getIndexAttr(cast<RankedTensorType>(tensor.getType()).getShape().back()));
  return place;
}

Value tile::rowOf(ImplicitLocOpBuilder &b, Value tensor, ValueRange at) {
  Insertion place = placeOfRow(b, tensor, at);
  return extract(b, tensor, place.offsets, place.sizes, cast<RankedTensorType>(tensor.getType()).getShape().back());
}

SmallVector<Value>
tile::rowGrid(ImplicitLocOpBuilder &b, ValueRange inits,
              function_ref<SmallVector<Value>(ImplicitLocOpBuilder &, ValueRange at, ValueRange dests)> body) {
  SmallVector<OpFoldResult> tasks = extents(b, inits[0]);
  tasks.pop_back();
  return grid(b, tasks, inits, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    SmallVector<Insertion> insertions;
    SmallVector<Value> rows;
    for (Value dest : dests) {
      insertions.push_back(placeOfRow(b, dest, ids));
      rows.push_back(rowOf(b, dest, ids));
    }
    for (auto [insertion, row] : llvm::zip_equal(insertions, body(b, ids, rows)))
      insertion.tile = row;
    return insertions;
  });
}

Value tile::rowGrid(ImplicitLocOpBuilder &b, Value init,
                    function_ref<Value(ImplicitLocOpBuilder &, Value row, Value dest)> body) {
  auto one = [&](ImplicitLocOpBuilder &b, ValueRange at, ValueRange dests) {
    return SmallVector<Value>{body(b, at[0], dests[0])};
  };
  return rowGrid(b, ValueRange(init), one)[0];
}

SmallVector<Value> tile::forPanels(ImplicitLocOpBuilder &b, int64_t columns, ValueRange dests,
                                   function_ref<Value(ImplicitLocOpBuilder &, Value column, ValueRange carried)> body) {
  return loop(b, index(b, 0), index(b, columns), kPanel, dests,
              [&](ImplicitLocOpBuilder &b, Value column, ValueRange carried) {
                Value panel = body(b, column, carried);
                return llvm::map_to_vector(carried, [&](Value dest) { return writePanel(b, panel, dest, column); });
              });
}

Value tile::forPanels(ImplicitLocOpBuilder &b, int64_t columns, Value dest,
                      function_ref<Value(ImplicitLocOpBuilder &, Value column, Value carried)> body) {
  auto one = [&](ImplicitLocOpBuilder &b, Value column, ValueRange carried) { return body(b, column, carried[0]); };
  return forPanels(b, columns, ValueRange(dest), one)[0];
}

Value tile::splat(ImplicitLocOpBuilder &b, Value scalar) {
  if (isa<VectorType>(scalar.getType()))
    return scalar;
  return vector::BroadcastOp::create(b, VectorType::get({kPanel}, scalar.getType()), scalar);
}
