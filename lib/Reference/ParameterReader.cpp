//===- ParameterReader.cpp - Where the evaluator gets weights ------------------===//
#include "lib/Reference/ParameterReader.h"
#include "lib/Reference/Value.h"
#include "lib/Support/Float16.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
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

/// A tensor on its way into a parameter. Every step makes a new one, element by element.
struct Part {
  SmallVector<int64_t> shape;
  std::vector<double> values;
};

/// Calls body(index) for every index of `shape`, in row-major order.
template <typename Body> void forEachIndex(ArrayRef<int64_t> shape, Body body) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t n = 0, count = llvm::product_of(shape); n < count; ++n) {
    body(index);
    for (size_t dim = shape.size(); dim-- > 0 && ++index[dim] == shape[dim];)
      index[dim] = 0;
  }
}

size_t positionOf(ArrayRef<int64_t> index, ArrayRef<int64_t> shape) {
  int64_t position = 0;
  for (auto [i, extent] : llvm::zip_equal(index, shape))
    position = position * extent + i;
  return size_t(position);
}

/// The part of `shape` whose element at an index is that of `part` at indexBefore(index).
template <typename Map> Part gather(const Part &part, ArrayRef<int64_t> shape, Map indexBefore) {
  Part result{SmallVector<int64_t>(shape), {}};
  forEachIndex(shape, [&](ArrayRef<int64_t> index) {
    result.values.push_back(part.values[positionOf(indexBefore(index), part.shape)]);
  });
  return result;
}

Part apply(attn::SliceAttr slice, const Part &part) {
  SmallVector<int64_t> shape(part.shape);
  shape[slice.getDim()] = slice.getEnd() - slice.getBegin();
  return gather(part, shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> before(index);
    before[slice.getDim()] += slice.getBegin();
    return before;
  });
}

Part apply(attn::TransposeAttr transpose, const Part &part) {
  SmallVector<int64_t> shape;
  for (int64_t dim : transpose.getOrder())
    shape.push_back(part.shape[dim]);
  return gather(part, shape, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> before(index.size());
    for (auto [dim, i] : llvm::zip_equal(transpose.getOrder(), index))
      before[dim] = i;
    return before;
  });
}

/// The part with each value replaced by change(value).
template <typename Change> Part changed(Part part, Change change) {
  for (double &value : part.values)
    value = change(value);
  return part;
}

Part applyAny(attn::SourceTransformInterface transform, const Part &part) {
  return llvm::TypeSwitch<Attribute, Part>(transform)
      .Case<attn::SliceAttr, attn::TransposeAttr>([&](auto step) { return apply(step, part); })
      .Case([&](attn::ReshapeAttr step) { return Part{SmallVector<int64_t>(step.getShape()), part.values}; })
      .Case([&](attn::CastAttr step) {
        return changed(part, [&](double value) { return roundTo(step.getType(), value, /*exact=*/true); });
      })
      .Case([&](attn::ScaleAttr step) {
        const float factor = step.getFactor().convertToFloat();
        return changed(part, [&](double value) { return double(float(value) * factor); });
      })
      .Case([&](attn::AddAttr step) {
        const float summand = step.getSummand().convertToFloat();
        return changed(part, [&](double value) { return double(float(value) + summand); });
      });
}

/// Whether a step made a finite value infinite.
bool overflows(const Part &before, const Part &after) {
  return llvm::any_of(llvm::seq(after.values.size()), [&](size_t i) {
    return !std::isfinite(after.values[i]) && i < before.values.size() && std::isfinite(before.values[i]);
  });
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
  std::string name = source.getName().str();
  if (!parameter.getLayers())
    return name;
  const std::string number = std::to_string(parameter.getLayerNumber(layer));
  for (size_t at = name.find(placeholder); at != std::string::npos; at = name.find(placeholder, at))
    name.replace(at, placeholder.size(), number);
  return name;
}

Expected<std::vector<double>> SourceParameters::readTensor(StringRef name, const artifact::TensorInfo &info) {
  const int64_t count = llvm::product_of(info.shape);
  std::vector<std::byte> bytes(count * artifact::sizeOf(info.dtype));
  RAPT_RETURN_IF_ERROR(tensors.read(name.str(), 0, bytes));
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

Expected<std::vector<double>> SourceParameters::readBlocks(StringRef name, const artifact::TensorInfo &info,
                                                           PartOfElement part) {
  const BlockFormat &format = *info.blocks->format;
  const int64_t count = llvm::product_of(info.shape);
  std::vector<std::byte> stored(size_t(count / format.block) * info.blocks->bytes);
  RAPT_RETURN_IF_ERROR(tensors.readBlocks(name.str(), 0, stored));
  std::vector<double> values(count);
  artifact::CodeBlock block;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t inBlock = i % format.block, group = inBlock / format.group;
    if (inBlock == 0)
      info.blocks->read(stored.data() + uint64_t(i / format.block) * info.blocks->bytes, block);
    values[i] = part == PartOfElement::Number  ? double(numberOf(format, block.codes[inBlock]) - format.zero)
                : part == PartOfElement::Scale ? artifact::scaleOf(format, block, group)
                                               : artifact::offsetOf(format, block, group);
  }
  return values;
}

Expected<std::vector<double>> ParameterReader::readPart(attn::ParameterOp parameter, int64_t, PartOfElement) {
  return wrong(parameter, "has blocks, which only the checkpoint's tensors give");
}

Expected<std::vector<double>> SourceParameters::readPart(attn::ParameterOp parameter, int64_t layer, PartOfElement of) {
  if (parameter.getLayout())
    return wrong(parameter, "has a layout, which the reference does not read");
  ArrayRef<int64_t> shape = parameter.getSliceType().getShape();
  const std::optional<attn::JoinAttr> join = parameter.getJoin();
  std::vector<double> values(llvm::product_of(shape));
  int64_t begin = 0; // of the source, along the joined dim
  for (auto source : parameter.getSources().getAsRange<attn::SourceAttr>()) {
    std::string name = tensorName(parameter, source, layer);
    const artifact::TensorInfo *info = tensors.find(name);
    if (!info)
      return wrong(parameter, "there is no tensor '" + name + "'");
    Part part{parameter.getStoredShape(source), {}};
    if (ArrayRef<int64_t>(info->shape) != ArrayRef<int64_t>(part.shape))
      return wrong(parameter, "tensor '" + name + "' is " + shown(info->shape) + ", expected " + shown(part.shape) +
                                  (source.getTransforms().empty()
                                       ? ""
                                       : ", which " + source.textOfTransforms() + " makes a part of " + shown(shape)));
    if (llvm::product_of(part.shape) > maxElements)
      return wrong(parameter, "tensor '" + name + "' has more than " + std::to_string(maxElements) + " elements");
    if (of != PartOfElement::Value) {
      const BlockFormat *format = source.getCode() ? attn::blocksOf(*source.getCode()) : nullptr;
      if (!format || !info->blocks || info->blocks->format != format)
        return wrong(parameter, "tensor '" + name + "' has no blocks of its type");
    }
    RAPT_ASSIGN_OR_RETURN(part.values,
                          of == PartOfElement::Value ? readTensor(name, *info) : readBlocks(name, *info, of));
    for (attn::SourceTransformInterface transform : source.getTransforms()) {
      Part next = applyAny(transform, part);
      if (!isa<attn::SliceAttr, attn::TransposeAttr>(transform) && overflows(part, next))
        return wrong(parameter, "tensor '" + name + "' holds a finite value that a step of " +
                                    source.textOfTransforms() + " makes infinite");
      part = std::move(next);
    }
    if (!join) { // the only source
      values = std::move(part.values);
      break;
    }
    if (join->getKind() == attn::JoinKind::stack)
      part.shape.insert(part.shape.begin() + join->getDim(), 1);
    auto value = part.values.begin();
    forEachIndex(part.shape, [&](SmallVector<int64_t> index) {
      index[join->getDim()] += begin;
      values[positionOf(index, shape)] = *value++;
    });
    begin += part.shape[join->getDim()];
  }
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
