//===- WeightOffsets.cpp - Where parameters are in the weight file ------------------------===//
#include "lib/Host/WeightOffsets.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace rapt;

std::optional<int64_t> rapt::bytesOf(ShapedType tensor) {
  std::optional<int64_t> bytes = tensor.getElementTypeBitWidth() / 8;
  for (int64_t extent : tensor.getShape())
    bytes = bytes ? llvm::checkedMul(*bytes, extent) : std::nullopt;
  return bytes;
}

FailureOr<int64_t> rapt::appendToWeights(attn::ParameterOp parameter, attn::ParameterLayoutInterface layout,
                                         RankedTensorType layer, RankedTensorType bytes, int64_t end) {
  constexpr int64_t alignment = 64;
  const int64_t layers = int64_t(parameter.getLayers().value_or(1));
  std::optional<int64_t> stride = bytesOf(bytes);
  stride = stride ? llvm::checkedAdd(*stride, alignment - 1) : std::nullopt;
  if (stride)
    *stride -= *stride % alignment;
  std::optional<int64_t> all = stride ? llvm::checkedMul(*stride, layers) : std::nullopt;
  std::optional<int64_t> next = all ? llvm::checkedAdd(end, *all) : std::nullopt;
  if (!next)
    return parameter.emitOpError("has no layout: the weight file would have more bytes than 64 bits hold");
  SmallVector<int64_t> shape(layer.getShape());
  if (parameter.getLayers())
    shape.insert(shape.begin(), layers);
  parameter.setType(RankedTensorType::get(shape, layer.getElementType()));
  parameter.setLayoutAttr(layout);
  parameter.setOffset(end);
  parameter.setStride(*stride);
  return *next;
}
