//===- Quantization.cpp - Products of integers ------------------------------===//
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
using namespace rapt::attn;

LogicalResult QuantizedType::verify(function_ref<InFlightDiagnostic()> emitError, QuantizedCode, int64_t group,
                                    int64_t axis, int64_t period, bool) {
  if (group != 0 && group != 32 && group != 64 && group != 128)
    return emitError() << "groups have 32, 64 or 128 elements, or 0 for all of them, found " << group;
  if (axis < 0 || axis > 1)
    return emitError() << "a matrix has the axes 0 and 1, found " << axis;
  if (period < 0)
    return emitError() << "a period is not negative, found " << period;
  return success();
}

int64_t QuantizedType::paddedDepth(int64_t depth) const {
  return llvm::alignTo(depth, getGroup() == 0 ? kPanel : getGroup());
}

int64_t QuantizedType::codeBytes(int64_t depth) const { return groupDepth(depth) * kPanel * bits() / 8; }

int64_t QuantizedType::groupBytes(int64_t depth) const {
  return codeBytes(depth) + 2 * kPanel + (getZeroPoints() ? 64 : 0);
}

RankedTensorType QuantizedType::panelBytes(int64_t panels, int64_t depth) const {
  return RankedTensorType::get({panels, groups(depth), groupBytes(depth)}, IntegerType::get(getContext(), 8));
}

int64_t QuantizedType::rowBytes(int64_t depth) const { return llvm::alignTo(rowSum(depth, groups(depth)), 64); }

QuantizedType QuantizedType::ofRows() const {
  return get(getContext(), QuantizedCode::s8, getGroup(), 1, getPeriod(), false);
}

QuantizedType QuantizedType::along(int64_t axis) const {
  return get(getContext(), getCode(), getGroup(), axis, getPeriod(), getZeroPoints());
}

LogicalResult QuantizeRowsOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  auto type = cast<QuantizedType>(result.getElementType());
  if (input.getRank() != 2 || input.getShape() != result.getShape() || input.isDynamicDim(1))
    return emitOpError() << "needs an input [m, k] of static columns and a result of its shape, found " << input
                         << " and " << result;
  if (type.getCode() != QuantizedCode::s8 || type.getAxis() != 1)
    return emitOpError() << "gives codes s8 along axis 1, found " << type;
  return success();
}

LogicalResult QuantizedProductOp::verify() {
  if (llvm::any_of(getOperandTypes(), llvm::IsaPred<UnrankedTensorType>))
    return emitOpError("works on ranked tiles");
  auto rows = cast<ShapedType>(getRows().getType()), panel = cast<ShapedType>(getPanel().getType()),
       dest = cast<ShapedType>(getDest().getType());
  auto type = cast<QuantizedType>(getWeight());
  int64_t depth = getDepth();
  if (type.getCode() == QuantizedCode::s8 || depth < 1 || depth > (int64_t(1) << 32))
    return emitOpError() << "needs a weight of u8 or u4 with at least one row, found " << type << " of depth " << depth;
  if (rows.getRank() != 2 || panel.getRank() != 2 || dest.getRank() != 2 || dest.getDimSize(1) != kPanel ||
      rows.getDimSize(0) != dest.getDimSize(0) || rows.getDimSize(1) != type.ofRows().rowBytes(depth) ||
      panel.getShape() != type.panelBytes(1, depth).getShape().drop_front())
    return emitOpError() << "rows " << rows << ", panel " << panel << " and dest " << dest << " do not fit depth "
                         << depth << " of " << type;
  bool onTensors = isa<RankedTensorType>(dest);
  if (getResult().size() != (onTensors ? 1 : 0) || (onTensors && getResult()[0].getType() != dest))
    return emitOpError("gives a tensor of the type of dest, and nothing on memory");
  return success();
}

void QuantizedProductOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (isa<TensorType>(getDest().getType()))
    return;
  for (OpOperand *read : {&getRowsMutable(), &getPanelMutable()})
    effects.emplace_back(MemoryEffects::Read::get(), read, SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getDestMutable(), SideEffects::DefaultResource::get());
}
