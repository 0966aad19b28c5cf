//===- Quantization.cpp - Int8 and int4 matmuls ------------------------------===//
#include "lib/Artifact/Quantization.h"
#include "lib/Reference/GroupScale.h"
#include "lib/Reference/Ops.h"

using namespace mlir;
namespace rapt::reference {

namespace {

/// Where the groups of a line of `depth` elements begin; one more for the end. They begin anew after each period.
SmallVector<int64_t> groupsOf(attn::QuantizedType type, int64_t depth) {
  int64_t period = type.getPeriod() ? type.getPeriod() : depth;
  SmallVector<int64_t> begins;
  for (int64_t part = 0; part < depth; part += period)
    for (int64_t i = 0; i < period; i += type.getGroup()) {
      begins.push_back(part + i);
      if (type.getGroup() == 0)
        break;
    }
  if (type.getGroup() == 0)
    begins.resize(1);
  begins.push_back(depth);
  return begins;
}

} // namespace

template <typename S>
Result<S> quantizeWeight(attn::ParameterSliceOp op, attn::QuantizedType type, std::vector<double> values) {
  ArrayRef<int64_t> shape = op.getValue().getType().getShape();
  int64_t depth = shape[type.getAxis()], lines = shape[1 - type.getAxis()];
  const auto how = artifact::Quantization::of(type);
  Tensor<S> result{{shape.begin(), shape.end()}, std::vector<S>(values.size()), std::vector<int64_t>(values.size())};
  auto at = [&](int64_t line, int64_t i) { return type.getAxis() == 1 ? line * depth + i : i * lines + line; };
  SmallVector<int64_t> groups = groupsOf(type, depth);
  artifact::QuantizedGroup group;
  constexpr int64_t width = artifact::QuantizedGroup::width;
  for (int64_t line = 0; line < lines; ++line)
    for (auto [begin, end] : llvm::zip(ArrayRef(groups).drop_back(), ArrayRef(groups).drop_front())) {
      // Many columns are quantized at the same time; here only the first one counts.
      std::vector<float> columns((end - begin) * width);
      for (int64_t i = begin; i < end; ++i)
        columns[(i - begin) * width] = float(values[at(line, i)]);
      if (artifact::quantize(columns.data(), end - begin, how, group) >= 0)
        return op.emitOpError() << "reads '" << op.getParameter() << "', which holds NaN or infinity";
      for (int64_t i = begin; i < end; ++i) {
        result.ints[at(line, i)] = group.codes[(i - begin) * width];
        result.floats[at(line, i)] = S(group.value(i - begin, 0));
      }
      result.scales.push_back(S(group.scales[0]));
      result.zeros.push_back(group.zeros[0]);
    }
  return result;
}

template <typename S> Result<S> evaluate(attn::QuantizeRowsOp op, const Tensor<S> &input) {
  auto type = cast<attn::QuantizedType>(op.getResult().getType().getElementType());
  int64_t depth = input.dim(1);
  Tensor<S> result = input;
  result.ints.resize(input.floats.size());
  SmallVector<int64_t> groups = groupsOf(type, depth);
  for (int64_t m = 0; m < input.dim(0); ++m)
    for (auto [begin, end] : llvm::zip(ArrayRef(groups).drop_back(), ArrayRef(groups).drop_front())) {
      GroupScale scale(ArrayRef(input.floats).slice(m * depth + begin, end - begin));
      for (int64_t i = begin; i < end; ++i) {
        int64_t code = scale.codeOf(double(input.floats[m * depth + i]));
        result.ints[m * depth + i] = code;
        result.floats[m * depth + i] = S(scale.scale) * S(code);
      }
      result.scales.push_back(S(scale.scale));
    }
  return result;
}

template <typename S>
std::vector<S> quantizedSums(attn::LinearOp op, const Tensor<S> &rows, const Tensor<S> &weight, int64_t n,
                             ArrayRef<int64_t> first) {
  auto type = cast<attn::QuantizedType>(op.getWeight().getType().getElementType());
  int64_t depth = rows.dim(1);
  SmallVector<int64_t> begins = groupsOf(type, depth);
  int64_t groups = begins.size() - 1;
  const int64_t all = weight.shape[1 - type.getAxis()];
  std::vector<S> sums(rows.dim(0) * n);
  for (int64_t m = 0; m < rows.dim(0); ++m)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t column = first[m] + j;
        int64_t dot = 0, sum = 0;
        for (int64_t i = begins[g]; i < begins[g + 1]; ++i) {
          sum += rows.ints[m * depth + i];
          int64_t code = weight.ints[type.getAxis() == 1 ? column * depth + i : i * all + column];
          dot += rows.ints[m * depth + i] * (code - weight.zeros[column * groups + g]);
        }
        S ofGroup = S(dot) * weight.scales[column * groups + g];
        if (!weight.offsets.empty())
          ofGroup += S(sum) * weight.offsets[column * groups + g];
        sums[m * n + j] += ofGroup * rows.scales[m * groups + g];
      }
  return sums;
}

#define INSTANTIATE(S)                                                                                                 \
  template Result<S> quantizeWeight(attn::ParameterSliceOp, attn::QuantizedType, std::vector<double>);                 \
  template Result<S> evaluate(attn::QuantizeRowsOp, const Tensor<S> &);                                                \
  template std::vector<S> quantizedSums(attn::LinearOp, const Tensor<S> &, const Tensor<S> &, int64_t,                 \
                                        ArrayRef<int64_t>);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
