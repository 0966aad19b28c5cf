//===- ParameterReader.cpp - Where the evaluator gets weights ------------------===//
#include "lib/Reference/ParameterReader.h"
#include "lib/Reference/Value.h"
#include "lib/Support/Float16.h"
#include <cstring>

using namespace mlir;
using namespace rapt;
using namespace rapt::reference;

namespace {

std::string shown(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + "]";
}

Error wrong(attn::ParameterOp parameter, const std::string &what) {
  return Error{"parameter '" + parameter.getSymName().str() + "': " + what};
}

/// Rows (1 for rank 1) and columns of one layer's slice.
std::pair<int64_t, int64_t> extentsOf(RankedTensorType slice) {
  int64_t columns = slice.getRank() == 0 ? 1 : slice.getShape().back();
  int64_t rows = slice.getRank() < 2 ? 1 : slice.getDimSize(0);
  return {rows, columns};
}

void roundAll(attn::ParameterOp parameter, std::vector<double> &values) {
  Type element = cast<RankedTensorType>(parameter.getType()).getElementType();
  // Quantization starts from f32 values.
  auto type = isa<attn::QuantizedType>(element) ? cast<FloatType>(Float32Type::get(parameter.getContext()))
                                                : cast<FloatType>(element);
  for (double &value : values)
    value = roundTo(type, value, /*exact=*/true);
}

} // namespace

std::string rapt::reference::tensorName(attn::ParameterOp parameter, attn::SourceAttr source, int64_t layer) {
  constexpr StringLiteral placeholder = "{layer}";
  auto [before, after] = source.getName().split(placeholder);
  if (!parameter.getLayers())
    return source.getName().str();
  return (before + Twine(parameter.getFirstLayer() + layer) + after).str();
}

Expected<std::vector<double>> SourceParameters::readTensor(StringRef name, const artifact::TensorInfo &info,
                                                           int64_t begin) {
  int64_t count = llvm::product_of(info.shape), line = llvm::product_of(ArrayRef(info.shape).drop_front());
  std::vector<std::byte> bytes(count * artifact::sizeOf(info.dtype));
  if (Status status = tensors.read(name.str(), begin * line * artifact::sizeOf(info.dtype), bytes); !status)
    return status.error();
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) {
    uint16_t half = 0;
    float single = 0;
    if (info.dtype == artifact::DType::F32)
      memcpy(&single, &bytes[i * 4], 4);
    else
      memcpy(&half, &bytes[i * 2], 2);
    values[i] = info.dtype == artifact::DType::F32    ? single
                : info.dtype == artifact::DType::BF16 ? bf16ToF32(half)
                                                      : f16ToF32(half);
  }
  return values;
}

Expected<std::vector<double>> SourceParameters::read(attn::ParameterOp parameter, int64_t layer) {
  if (parameter.getLayout())
    return wrong(parameter, "has a layout, which the reference does not read");
  auto [rows, columns] = extentsOf(parameter.getSliceType());
  std::vector<double> values(rows * columns);
  int64_t first = 0;
  for (auto source : parameter.getSources().getAsRange<attn::SourceAttr>()) {
    std::string name = tensorName(parameter, source, layer);
    const artifact::TensorInfo *info = tensors.find(name);
    if (!info)
      return wrong(parameter, "there is no tensor '" + name + "'");
    artifact::TensorInfo part = *info;
    int64_t begin = 0;
    if (ArrayRef<int64_t> taken = source.getRows(); !taken.empty()) {
      if (info->shape.empty() || taken[1] > info->shape[0])
        return wrong(parameter, "tensor '" + name + "' of shape " + shown(info->shape) + " has no rows up to " +
                                    std::to_string(taken[1]));
      begin = taken[0];
      part.shape[0] = taken[1] - taken[0];
    }
    std::vector<int64_t> shape = part.shape;
    if (parameter.getSliceType().getRank() == 2)
      shape = artifact::matrixShape(shape, rows, source.getTranspose());
    else if (parameter.getSliceType().getRank() == 1)
      shape = artifact::vectorShape(shape);
    if (source.getTranspose())
      std::reverse(shape.begin(), shape.end());
    int64_t width = shape.empty() ? 1 : shape.back();
    bool fits = int64_t(shape.size()) == parameter.getSliceType().getRank() && (shape.size() < 2 || shape[0] == rows) &&
                width <= columns - first;
    if (!fits)
      return wrong(parameter, "tensor '" + name + "' of shape " + shown(info->shape) + " does not fit columns " +
                                  std::to_string(first) + " to " + std::to_string(columns) + " of " +
                                  shown(parameter.getSliceType().getShape()));
    Expected<std::vector<double>> read = readTensor(name, part, begin);
    if (!read)
      return read.error();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < width; ++c)
        values[r * columns + first + c] = (*read)[source.getTranspose() ? c * rows + r : r * width + c];
    first += width;
  }
  if (first != columns)
    return wrong(parameter, "its sources have " + std::to_string(first) + " columns, but its type needs " +
                                std::to_string(columns));
  roundAll(parameter, values);
  return values;
}

Expected<std::vector<double>> NpyParameters::read(attn::ParameterOp parameter, int64_t layer) {
  auto type = cast<RankedTensorType>(parameter.getType());
  auto found = tensors.find(parameter.getSymName());
  if (found == tensors.end())
    return wrong(parameter, "no value was given");
  const NpyTensor &tensor = found->second;
  if (ArrayRef<int64_t>(tensor.shape) != type.getShape() ||
      (tensor.type != NpyType::F32 && tensor.type != NpyType::F64))
    return wrong(parameter, "the given tensor is " + std::string(nameOf(tensor.type)) + " " + shown(tensor.shape) +
                                ", but f32 or f64 " + shown(type.getShape()) + " is needed");
  int64_t count = parameter.getSliceType().getNumElements();
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) {
    const std::byte *at = tensor.data.data() + (layer * count + i) * sizeOf(tensor.type);
    float single;
    if (tensor.type == NpyType::F64)
      memcpy(&values[i], at, 8);
    else
      memcpy(&single, at, 4), values[i] = single;
  }
  roundAll(parameter, values);
  return values;
}
