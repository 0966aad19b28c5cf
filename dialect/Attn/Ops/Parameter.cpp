//===- Parameter.cpp - Weights and declared dims --------------------------===//
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
using namespace rapt::attn;

bool rapt::attn::isKernelModule(Operation *module) {
  return !module->hasAttr(AttnDialect::modelAttr) &&
         llvm::none_of(module->getRegion(0).front(), llvm::IsaPred<ParameterOp>);
}

LogicalResult DimOp::verify() {
  int64_t min = getMin(), max = getMax();
  if (min < 0 || max < min)
    return emitOpError() << "needs 0 <= min <= max, found min " << min << ", max " << max;
  return success();
}

LogicalResult DimSizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<DimOp>(*this, getDimAttr()))
    return emitOpError() << "names '" << getDim() << "', which is no attn.dim";
  return success();
}

void DimSizeOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setRange) {
  auto dim = SymbolTable::lookupNearestSymbolFrom<DimOp>(*this, getDimAttr());
  if (dim)
    setRange(getSize(), ConstantIntRanges::fromSigned(APInt(64, dim.getMin()), APInt(64, dim.getMax())));
}

RankedTensorType ParameterOp::getSliceType() {
  auto type = cast<RankedTensorType>(getType());
  if (!getLayers())
    return type;
  return RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
}

bool ParameterOp::isReadAsBytes(RankedTensorType type) {
  return getLayout() && isa<QuantizedType>(getSliceType().getElementType()) && type.hasStaticShape() &&
         type.getElementType().isInteger(8);
}

LogicalResult ParameterOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape())
    return emitOpError() << "needs a static shape, found " << type;
  auto quantized = dyn_cast<QuantizedType>(type.getElementType());
  if (!isa<FloatType>(type.getElementType()) && !quantized)
    return emitOpError() << "needs a float or quantized element type, found " << type;
  if (quantized && (quantized.getCode() == QuantizedCode::s8 || getSliceType().getRank() != (getLayout() ? 3 : 2)))
    return emitOpError() << "is quantized, but no matrix of u8 or u4: " << type;
  if (std::optional<uint64_t> layers = getLayers()) {
    if (static_cast<int64_t>(*layers) < 1 || static_cast<int64_t>(getFirstLayer()) < 0)
      return emitOpError() << "needs at least one layer and a first layer from 0 on, found "
                           << static_cast<int64_t>(*layers) << " from " << static_cast<int64_t>(getFirstLayer())
                           << " on";
    if (type.getRank() < 2 || type.getDimSize(0) != static_cast<int64_t>(*layers))
      return emitOpError() << "is stacked over " << *layers << " layers, but its type is " << type;
  }
  if (getSources().empty())
    return emitOpError() << "needs at least one source tensor";
  if (!getLayout() && getSliceType().getRank() > 2)
    return emitOpError() << "needs at most two dims besides layers, found " << type;
  for (auto source : getSources().getAsRange<SourceAttr>()) {
    size_t placeholders = source.getName().count("{layer}");
    if (placeholders != (getLayers() ? 1 : 0))
      return emitOpError() << "source '" << source.getName() << "' "
                           << (placeholders == 0 ? "must name {layer}, because the parameter is stacked"
                               : getLayers()     ? "names {layer} more than once"
                                                 : "names {layer}, but the parameter is not stacked");
    ArrayRef<int64_t> rows = source.getRows();
    if (!rows.empty() && (rows.size() != 2 || rows[0] < 0 || rows[1] <= rows[0]))
      return emitOpError() << "source '" << source.getName()
                           << "' needs rows (begin, end) with 0 <= begin < end, found (" << rows << ")";
    if (source.getTranspose() && !getLayout() && getSliceType().getRank() != 2)
      return emitOpError() << "source '" << source.getName() << "' is transposed, but a slice is " << getSliceType();
  }
  return success();
}

LogicalResult ParameterSliceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto parameter = symbols.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (!parameter)
    return emitOpError() << "names '" << getParameter() << "', which is no attn.parameter";
  if (parameter.getLayers().has_value() != static_cast<bool>(getLayer()))
    return emitOpError() << (getLayer() ? "gives a layer, but '" : "needs a layer, because '") << getParameter()
                         << (getLayer() ? "' is not stacked" : "' is stacked");
  if (parameter.getSliceType() != getValue().getType() && !parameter.isReadAsBytes(getValue().getType()))
    return emitOpError() << "has type " << getValue().getType() << ", but '" << getParameter() << "' gives "
                         << parameter.getSliceType();
  return success();
}

/// A parameter's shape is static.
void ParameterSliceOp::relateDims(DimRelations &) {}
