//===- Tile.cpp - Helpers that emit tiled code --------------------------------------===//
#include "lib/Target/CPU/Tile/Tile.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace rapt;

static attn_cpu::RowScheduleAttr rowsOf(Operation *op) {
  attn_cpu::ModuleScheduleAttr schedule = attn_cpu::ModuleScheduleAttr::around(op);
  return schedule ? schedule.getRows() : attn_cpu::RowScheduleAttr();
}

bool tile::rowsAlias(Operation *op, RankedTensorType type) {
  const attn_cpu::RowScheduleAttr schedule = rowsOf(op);
  if (!schedule || type.getRank() < 2 || !type.isDynamicDim(0) || !isa<FloatType>(type.getElementType()))
    return false;
  ArrayRef<int64_t> row = type.getShape().drop_front();
  return llvm::none_of(row, ShapedType::isDynamic) && llvm::product_of(row) > 0 &&
         llvm::product_of(row) * type.getElementTypeBitWidth() / 8 % schedule.getAliasBytes() == 0;
}

/// Whether `use` is a table, which regions look up as one row (A30).
static bool isTable(OpOperand &use) {
  auto attention = dyn_cast<attn::AttentionOp>(use.getOwner());
  if (!attention || attention.getExtras().empty())
    return false;
  const unsigned first = attention.getExtras().getBeginOperandIndex(), number = use.getOperandNumber();
  return number >= first && number < first + attention.getExtras().size() && attention.isTable(number - first);
}

Value tile::destination(ImplicitLocOpBuilder &b, Value result, OFRs extents, Type element) {
  auto type = cast<RankedTensorType>(result.getType());
  if (element)
    type = RankedTensorType::get(type.getShape(), element);
  const bool isDense = llvm::any_of(
      result.getUses(), [](OpOperand &use) { return use.getOwner()->hasTrait<OpTrait::ReturnLike>() || isTable(use); });
  return isDense || !rowsAlias(b.getInsertionBlock()->getParentOp(), type) ? empty(b, type, extents)
                                                                           : emptyApart(b, type, extents);
}

Value tile::emptyApart(ImplicitLocOpBuilder &b, RankedTensorType type, OFRs extents) {
  const int64_t inner = llvm::product_of(type.getShape().drop_front(2)),
                line = std::max<int64_t>(1, 8 * rowsOf(b.getInsertionBlock()->getParentOp()).getApartBytes() /
                                                type.getElementTypeBitWidth() / inner);
  SmallVector<OpFoldResult> wider(extents), zeros(extents.size(), b.getIndexAttr(0));
  wider[1] = b.getIndexAttr(type.getDimSize(1) + line);
  return extract(b, empty(b, type, wider), zeros, extents, type.getShape());
}

std::pair<OpFoldResult, Value> tile::shareRows(ImplicitLocOpBuilder &b, OpFoldResult extent, int64_t most,
                                               int64_t tile) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  OpFoldResult tasks = affineOf(b, d0.ceilDiv(most), {extent}), one = b.getIndexAttr(1);
  Value each = arith::CeilDivUIOp::create(b, asValue(b, extent), asValue(b, affineMax(b, {tasks, one})));
  return {tasks, asValue(b, affineOf(b, d0.ceilDiv(tile) * tile, {OpFoldResult(each)}))};
}

/// Whether a panel that begins within the last dim ends there too.
static bool endsWithPanel(Value tensor) {
  int64_t columns = cast<RankedTensorType>(tensor.getType()).getShape().back();
  return ShapedType::isDynamic(columns) || columns % attn_cpu::kPanel == 0;
}

Value tile::readPanel(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices, int64_t columns) {
  Type element = getElementTypeOrSelf(tensor.getType());
  auto type = VectorType::get({columns}, element);
  Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
  Value panel =
      vector::TransferReadOp::create(b, type, tensor, indices, padding, ArrayRef<bool>{endsWithPanel(tensor)});
  if (element.isF32())
    return panel;
  return arith::ExtFOp::create(b, VectorType::get({columns}, b.getF32Type()), panel);
}

Value tile::writePanel(ImplicitLocOpBuilder &b, Value panel, Value tensor, ValueRange indices) {
  Type element = getElementTypeOrSelf(tensor.getType());
  if (getElementTypeOrSelf(panel.getType()).isF32() && (element.isBF16() || element.isF16()))
    panel = arith::TruncFOp::create(b, cast<VectorType>(panel.getType()).clone(element), panel);
  return vector::TransferWriteOp::create(b, panel, tensor, indices, ArrayRef<bool>{endsWithPanel(tensor)}).getResult();
}

std::pair<Value, Value> tile::readInterleaved(ImplicitLocOpBuilder &b, Value tensor, ValueRange indices,
                                              int64_t columns) {
  Type element = getElementTypeOrSelf(tensor.getType());
  Value padding = arith::ConstantOp::create(b, b.getZeroAttr(element));
  return widenInterleaved(b, vector::TransferReadOp::create(b, VectorType::get({2 * columns}, element), tensor, indices,
                                                            padding, ArrayRef<bool>{true}));
}

std::pair<Value, Value> tile::widenInterleaved(ImplicitLocOpBuilder &b, Value interleaved) {
  int64_t count = cast<VectorType>(interleaved.getType()).getDimSize(0) / 2;
  auto words = VectorType::get({count}, b.getI32Type()), floats = VectorType::get({count}, b.getF32Type());
  // A bf16 is the upper half of its f32; the even element is the lower half of a word.
  Value word = vector::BitCastOp::create(b, words, interleaved);
  auto splat = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(b,
                                     DenseElementsAttr::get(words, b.getI32IntegerAttr(static_cast<int32_t>(value))));
  };
  Value first = arith::ShLIOp::create(b, word, splat(16)), second = arith::AndIOp::create(b, word, splat(0xffff0000));
  return {arith::BitcastOp::create(b, floats, first), arith::BitcastOp::create(b, floats, second)};
}
