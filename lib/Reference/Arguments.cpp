//===- Arguments.cpp - Values of the evaluator and .npy tensors ----------------===//
#include "lib/Reference/Arguments.h"
#include "lib/Support/CheckedMath.h"
#include "lib/Support/Float16.h"
#include <cstring>
#include <type_traits>

using namespace mlir;
namespace rapt::reference {

namespace {

Error wrong(StringRef name, const std::string &what) { return Error{name.str() + ": " + what}; }

template <typename From, typename To> std::vector<To> elementsAs(const NpyTensor &tensor) {
  std::vector<To> values(tensor.data.size() / sizeof(From));
  for (size_t i = 0; i < values.size(); ++i) {
    From element;
    memcpy(&element, tensor.data.data() + i * sizeof(From), sizeof(From));
    values[i] = To(element);
  }
  return values;
}

/// The numbers that an array of 16 bits has as `type`.
template <typename S> std::vector<S> elementsOfBits(const NpyTensor &tensor, bool isBF16) {
  std::vector<S> values;
  for (uint16_t bits : elementsAs<uint16_t, uint16_t>(tensor))
    values.push_back(S(isBF16 ? bf16ToF32(bits) : f16ToF32(bits)));
  return values;
}

/// Whether an array's numbers are of the element's kind. Arrays of u16 have the bits of floats of 16 bits.
bool fits(NpyType type, Type element) {
  if (type == NpyType::U16)
    return element.isBF16() || element.isF16();
  return isa<FloatType>(element) == isFloat(type);
}

template <typename T, typename From> void append(std::vector<std::byte> &data, const std::vector<From> &values) {
  data.resize(values.size() * sizeof(T));
  for (auto [i, value] : llvm::enumerate(values)) {
    T element = T(value);
    memcpy(data.data() + i * sizeof(T), &element, sizeof(T));
  }
}

/// The integer elements of an i32, i64 or bool tensor; empty for floats.
std::vector<int64_t> integersOf(const NpyTensor &tensor) {
  switch (tensor.type) {
  case NpyType::I8:
    return elementsAs<int8_t, int64_t>(tensor);
  case NpyType::I32:
    return elementsAs<int32_t, int64_t>(tensor);
  case NpyType::I64:
    return elementsAs<int64_t, int64_t>(tensor);
  case NpyType::Bool: {
    std::vector<int64_t> values = elementsAs<uint8_t, int64_t>(tensor);
    for (int64_t &value : values)
      value = value ? -1 : 0; // an i1, sign-extended
    return values;
  }
  default:
    return {};
  }
}

unsigned widthOf(Type element) { return element.isIndex() ? 64 : element.getIntOrFloatBitWidth(); }

} // namespace

std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + (ShapedType::isDynamic(size) ? "?" : std::to_string(size));
  return text + "]";
}

template <typename S> Expected<Value<S>> fromNpy(StringRef name, const NpyTensor &tensor, Type type) {
  auto ranked = dyn_cast<RankedTensorType>(type);
  Type element = ranked ? ranked.getElementType() : type;
  ArrayRef<int64_t> declared = ranked ? ranked.getShape() : ArrayRef<int64_t>();
  if (!element.isIntOrIndexOrFloat() || widthOf(element) > 64)
    return wrong(name, "an argument of its type cannot be given as a file");
  bool hasShape = declared.size() == tensor.shape.size();
  for (size_t i = 0; hasShape && i < declared.size(); ++i)
    hasShape = ShapedType::isDynamic(declared[i]) || declared[i] == tensor.shape[i];
  if (!hasShape || !fits(tensor.type, element))
    return wrong(name, std::string("is ") + nameOf(tensor.type) + " " + shapeText(tensor.shape) + ", but " +
                           (isa<FloatType>(element) ? "floats " : "integers ") + shapeText(declared) + " are needed");
  Tensor<S> value;
  value.shape.assign(tensor.shape.begin(), tensor.shape.end());
  if (auto floats = dyn_cast<FloatType>(element)) {
    if (sizeOf(tensor.type) == 2)
      value.floats = elementsOfBits<S>(tensor, tensor.type == NpyType::U16 && element.isBF16());
    else
      value.floats = tensor.type == NpyType::F32 ? elementsAs<float, S>(tensor) : elementsAs<double, S>(tensor);
    for (S &x : value.floats)
      x = S(roundTo(floats, double(x)));
  } else {
    value.ints = integersOf(tensor);
    for (int64_t x : value.ints)
      if (signExtend(x, widthOf(element)) != x)
        return wrong(name, "its element " + std::to_string(x) + " does not fit in " + std::to_string(widthOf(element)) +
                               " bits");
  }
  if (ranked)
    return Value<S>(std::make_shared<const Tensor<S>>(std::move(value)));
  return isa<FloatType>(element) ? Value<S>(value.floats[0]) : Value<S>(value.ints[0]);
}

template <typename S> Expected<NpyTensor> toNpy(StringRef name, const Value<S> &value, Type type) {
  NpyTensor tensor;
  Type element = getElementTypeOrSelf(type);
  if (!element.isIntOrIndexOrFloat() || widthOf(element) > 64)
    return wrong(name, "a result of its type cannot be written to a file");
  std::vector<S> floats;
  std::vector<int64_t> ints;
  if (auto *held = std::get_if<TensorRef<S>>(&value)) {
    tensor.shape.assign((*held)->shape.begin(), (*held)->shape.end());
    floats = (*held)->floats, ints = (*held)->ints;
  } else if (auto *number = std::get_if<S>(&value)) {
    floats = {*number};
  } else if (auto *integer = std::get_if<int64_t>(&value)) {
    ints = {*integer};
  } else {
    return wrong(name, "holds nothing that can be written to a file");
  }
  if (isa<FloatType>(element)) {
    tensor.type = std::is_same_v<S, float> ? NpyType::F32 : NpyType::F64;
    append<S>(tensor.data, floats);
  } else if (element.isInteger(1)) {
    tensor.type = NpyType::Bool;
    append<bool>(tensor.data, ints);
  } else if (widthOf(element) <= 32) {
    tensor.type = NpyType::I32;
    append<int32_t>(tensor.data, ints);
  } else {
    tensor.type = NpyType::I64;
    append<int64_t>(tensor.data, ints);
  }
  return tensor;
}

template <typename S> Expected<Value<S>> makeCache(attn::KVCacheType type, int64_t blocks) {
  Cache<S> cache;
  cache.blocks = blocks;
  int64_t all = 0;
  for (const attn::KVSegment &segment : type.getSegments())
    for (auto [layers, part] : {std::pair(&cache.keys, segment.keys), std::pair(&cache.values, segment.values)}) {
      const int64_t factors[] = {blocks, segment.heads, type.getBlock(), part.channels},
                    ofSegment[] = {segment.layers, blocks, segment.heads, type.getBlock(), part.channels};
      std::optional<int64_t> elements = checkedProduct<int64_t>(ofSegment);
      if (blocks < 0 || !elements || *elements > maxElements - all)
        return Error{"a cache of " + std::to_string(blocks) + " blocks has more than " + std::to_string(maxElements) +
                     " elements"};
      all += *elements;
      auto zeros = std::make_shared<const std::vector<S>>(*checkedProduct<int64_t>(factors));
      layers->insert(layers->end(), segment.layers, zeros);
    }
  return Value<S>(std::make_shared<const Cache<S>>(std::move(cache)));
}

#define INSTANTIATE(S)                                                                                                 \
  template Expected<Value<S>> fromNpy<S>(StringRef, const NpyTensor &, Type);                                          \
  template Expected<NpyTensor> toNpy<S>(StringRef, const Value<S> &, Type);                                            \
  template Expected<Value<S>> makeCache<S>(attn::KVCacheType, int64_t);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace rapt::reference
