//===- Parameter.cpp - Weights and declared dims ----------------------------===//
#include "lib/Reference/Ops.h"
#include "lib/Reference/ParameterReader.h"

using namespace mlir;
namespace rapt::reference {

template <typename S> Result<S> evaluate(attn::ParameterSliceOp op, ParameterReader &parameters, int64_t layer) {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(op, op.getParameterAttr());
  int64_t layers = parameter.getLayers().value_or(1);
  if (layer < 0 || layer >= layers)
    return op.emitOpError() << "reads layer " << layer << " of '" << op.getParameter() << "', which has " << layers;
  if (op.getValue().getType().getNumElements() > maxElements)
    return op.emitOpError() << "reads more than " << maxElements << " elements";
  Expected<std::vector<double>> values = parameters.read(parameter, layer);
  if (!values)
    return op.emitOpError() << values.error().message;
  ArrayRef<int64_t> shape = op.getValue().getType().getShape();
  if (auto type = dyn_cast<attn::QuantizedType>(op.getValue().getType().getElementType()))
    return quantizeWeight<S>(op, type, std::move(*values));
  return Tensor<S>{{shape.begin(), shape.end()}, std::vector<S>(values->begin(), values->end()), {}};
}

FailureOr<int64_t> evaluate(attn::DimSizeOp op, const llvm::StringMap<int64_t> &dims) {
  auto found = dims.find(op.getDim());
  if (found == dims.end())
    return op.emitOpError() << "reads dim '" << op.getDim() << "', which no argument of the entry names in attn.dims";
  return found->second;
}

#define INSTANTIATE(S) template Result<S> evaluate(attn::ParameterSliceOp, ParameterReader &, int64_t);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
