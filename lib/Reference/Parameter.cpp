//===- Parameter.cpp - Weights and declared dims ----------------------------===//
#include "lib/Reference/Ops.h"
#include "lib/Reference/ParameterReader.h"

using namespace mlir;
namespace rapt::reference {

/// A matrix that the checkpoint has in blocks.
template <typename S>
static Result<S> readBlocks(attn::ParameterSliceOp op, attn::QuantizedType type, attn::ParameterOp parameter,
                            ParameterReader &parameters, int64_t layer) {
  std::vector<double> parts[3];
  constexpr PartOfElement order[] = {PartOfElement::Number, PartOfElement::Scale, PartOfElement::Offset};
  for (auto [values, part] : llvm::zip_equal(parts, order)) {
    Expected<std::vector<double>> read = parameters.readPart(parameter, layer, part);
    if (!read)
      return op.emitOpError() << read.error().message;
    values = std::move(*read);
  }
  const auto &[numbers, scales, offsets] = parts;
  ArrayRef<int64_t> shape = op.getValue().getType().getShape();
  const int64_t depth = shape[type.getAxis()], lines = shape[1 - type.getAxis()];
  Tensor<S> result{{shape.begin(), shape.end()},
                   std::vector<S>(numbers.size()),
                   std::vector<int64_t>(numbers.begin(), numbers.end())};
  // Numbers are those of f32.
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double product = float(scales[i] * numbers[i]); // of numbers of f32, which f64 multiplies without error
    result.floats[i] = S(float(product + offsets[i]));
  }
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t i = 0; i < depth; i += type.getGroup()) {
      const int64_t at = type.getAxis() == 1 ? line * depth + i : i * lines + line;
      result.scales.push_back(S(scales[at]));
      result.offsets.push_back(S(offsets[at]));
      result.zeros.push_back(0);
    }
  return result;
}

template <typename S> Result<S> evaluate(attn::ParameterSliceOp op, ParameterReader &parameters, int64_t layer) {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(op, op.getParameterAttr());
  int64_t layers = parameter.getLayers().value_or(1);
  if (layer < 0 || layer >= layers)
    return op.emitOpError() << "reads layer " << layer << " of '" << op.getParameter() << "', which has " << layers;
  if (op.getValue().getType().getNumElements() > maxElements)
    return op.emitOpError() << "reads more than " << maxElements << " elements";
  auto quantized = dyn_cast<attn::QuantizedType>(op.getValue().getType().getElementType());
  if (quantized && quantized.blocks())
    return readBlocks<S>(op, quantized, parameter, parameters, layer);
  Expected<std::vector<double>> values = parameters.read(parameter, layer);
  if (!values)
    return op.emitOpError() << values.error().message;
  ArrayRef<int64_t> shape = op.getValue().getType().getShape();
  if (quantized)
    return quantizeWeight<S>(op, quantized, std::move(*values));
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
