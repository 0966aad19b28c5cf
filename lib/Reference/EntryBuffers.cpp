//===- EntryBuffers.cpp - Memory of the runtime and values of the evaluator ----------===//
#include "lib/Reference/EntryBuffers.h"
#include "dialect/Attn/EntryDescription.h"
#include "lib/Reference/Arguments.h"
#include "lib/Support/CheckedMath.h"
#include <cstring>

using namespace mlir;
namespace rapt::reference {

namespace {

/// Types whose elements memory of the runtime holds.
bool isHeld(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return isa<attn::KVCacheType>(type) ||
         (tensor && (tensor.getElementType().isF32() || tensor.getElementType().isInteger(32) ||
                     tensor.getElementType().isInteger(64)));
}

/// An extent for these dims: "rows+1", or of an output "height/16*width/16+1".
std::optional<int64_t> extentOf(StringRef text, const DimValues &dims) {
  auto [product, plus] = text.split('+');
  SmallVector<StringRef> factors;
  product.split(factors, '*');
  int64_t value = 1, more = 0;
  for (StringRef factor : factors) {
    auto [name, divisor] = factor.split('/');
    int64_t by = 1;
    auto dim = dims.find(name);
    if (dim == dims.end() || (!divisor.empty() && (divisor.getAsInteger(10, by) || by < 1)))
      return std::nullopt;
    value *= dim->second / by;
  }
  if (!plus.empty() && plus.getAsInteger(10, more))
    return std::nullopt;
  return value + more;
}

Expected<SmallVector<int64_t, 4>> shapeOf(const EntryBuffer &buffer, const DimValues &dims) {
  auto names = buffer.attributes.getAs<ArrayAttr>(attn::AttnDialect::dimsAttr);
  auto tensor = dyn_cast<RankedTensorType>(buffer.type);
  SmallVector<int64_t, 4> shape(tensor ? tensor.getShape() : ArrayRef(ShapedType::kDynamic)); // blocks of a cache
  size_t next = 0;
  for (int64_t &extent : shape) {
    if (!ShapedType::isDynamic(extent))
      continue;
    auto name = names && next < names.size() ? dyn_cast<StringAttr>(names[next++]) : StringAttr();
    std::optional<int64_t> value = name ? extentOf(name.getValue(), dims) : std::nullopt;
    if (!value)
      return Error{"buffer '" + buffer.name + "' has an extent that no dim tells"};
    extent = *value;
  }
  return shape;
}

/// Calls visit(numbers, at, count) for the keys and for the values of each layer: a block has `count` of them from
/// number `at` on.
template <typename CacheType, typename Visit> void visitLayers(attn::KVCacheType type, CacheType &cache, Visit visit) {
  int64_t at = 0;
  size_t layer = 0;
  for (const attn::KVSegment &segment : type.getSegments())
    for (int64_t i = 0; i < segment.layers; ++i, ++layer)
      for (auto [numbers, channels] : {std::pair(&cache.keys[layer], segment.keys.channels),
                                       std::pair(&cache.values[layer], segment.values.channels)}) {
        const int64_t count = segment.heads * type.getBlock() * channels;
        visit(*numbers, at, count);
        at += count;
      }
}

template <typename S> Expected<Value<S>> readCache(const EntryBuffer &buffer, const void *memory, int64_t blocks) {
  auto type = cast<attn::KVCacheType>(buffer.type);
  RAPT_ASSIGN_OR_RETURN(Value<S> made, makeCache<S>(type, blocks));
  Cache<S> cache = *std::get<std::shared_ptr<const Cache<S>>>(made);
  const auto *bytes = static_cast<const char *>(memory);
  const int64_t blockBytes = *blockBytesOf(type, sizeof(S)); // as its manifest says
  visitLayers(type, cache, [&](std::shared_ptr<const std::vector<S>> &numbers, int64_t at, int64_t count) {
    auto read = std::make_shared<std::vector<S>>(size_t(blocks * count));
    for (int64_t block = 0; block < blocks; ++block)
      memcpy(read->data() + block * count, bytes + block * blockBytes + at * sizeof(S), size_t(count) * sizeof(S));
    numbers = std::move(read);
  });
  return Value<S>(std::make_shared<const Cache<S>>(std::move(cache)));
}

template <typename S> void writeCache(attn::KVCacheType type, const Cache<S> &cache, void *memory) {
  auto *bytes = static_cast<char *>(memory);
  const int64_t blockBytes = *blockBytesOf(type, sizeof(S)); // as its manifest says
  visitLayers(type, cache, [&](const std::shared_ptr<const std::vector<S>> &numbers, int64_t at, int64_t count) {
    for (int64_t block = 0; block < cache.blocks; ++block)
      memcpy(bytes + block * blockBytes + at * sizeof(S), numbers->data() + block * count, size_t(count) * sizeof(S));
  });
}

template <typename From, typename To> void readNumbers(const void *memory, std::vector<To> &numbers, int64_t count) {
  const auto *from = static_cast<const From *>(memory);
  numbers.assign(from, from + count);
}

template <typename To, typename From> void writeNumbers(const std::vector<From> &numbers, void *memory) {
  auto *to = static_cast<To *>(memory);
  for (From number : numbers)
    *to++ = To(number);
}

} // namespace

Expected<SmallVector<EntryBuffer>> buffersOf(func::FuncOp entry) {
  SmallVector<EntryBuffer> buffers;
  auto add = [&](StringAttr name, Type type, DictionaryAttr attributes) -> Status {
    std::string wrong;
    llvm::raw_string_ostream text(wrong);
    if (!name)
      text << "an argument or result has no name";
    else if (!isHeld(type))
      text << "'" << name.getValue() << "' is of type " << type;
    else
      buffers.push_back({name.str(), type, attributes, {}, {}});
    return wrong.empty() ? Status() : Error{"'" + entry.getSymName().str() + "' cannot be an entry: " + wrong};
  };
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    RAPT_RETURN_IF_ERROR(add(entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr),
                             entry.getArgumentTypes()[i], entry.getArgAttrDict(i)));
    buffers.back().argument = i;
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto name = entry.getResultAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr);
    auto kept = llvm::find_if(
        buffers, [&](const EntryBuffer &buffer) { return buffer.argument && name && buffer.name == name.getValue(); });
    if (kept == buffers.end()) {
      RAPT_RETURN_IF_ERROR(add(name, entry.getResultTypes()[i], cast<DictionaryAttr>(entry.getResultAttrDict(i))));
      kept = std::prev(buffers.end());
    }
    kept->result = i;
  }
  return buffers;
}

Expected<json::Value> describe(const EntryBuffer &buffer, int64_t scalarBytes) {
  const BufferKind kind = buffer.kind();
  const char *name = kind == BufferKind::Input ? "input" : kind == BufferKind::Output ? "output" : "cache";
  json::Object described{{"name", json::Value(buffer.name)}, {"kind", json::Value(name)}};
  auto tensor = dyn_cast<RankedTensorType>(buffer.type);
  if (!tensor)
    return json::Value(std::move(described));
  SmallVector<int64_t> shape(tensor.getShape());
  if (kind == BufferKind::Cache && !shape.empty() && !ShapedType::isDynamic(shape.back()))
    shape.back() = // what a manifest calls f32 are bytes of a state
        checkedMul(shape.back(), scalarBytes / int64_t(sizeof(float))).value_or(-1);
  RAPT_RETURN_IF_ERROR(attn::describeTensor(buffer.attributes, tensor.clone(shape), described));
  return json::Value(std::move(described));
}

std::optional<int64_t> blockBytesOf(attn::KVCacheType type, int64_t scalarBytes) {
  constexpr int64_t alignment = 64; // as the runtime wants it
  int64_t all = 0;
  for (const attn::KVSegment &segment : type.getSegments())
    for (int64_t channels : {segment.keys.channels, segment.values.channels}) {
      const int64_t factors[] = {segment.layers, segment.heads, type.getBlock(), channels, scalarBytes};
      const std::optional<int64_t> bytes = checkedProduct<int64_t>(factors);
      const std::optional<int64_t> sum = bytes ? checkedAdd(all, *bytes) : std::nullopt;
      if (!sum || *sum > INT64_MAX - alignment)
        return std::nullopt;
      all = *sum;
    }
  return int64_t(llvm::alignTo(uint64_t(all), alignment));
}

template <typename S>
Expected<Value<S>> readBuffer(const EntryBuffer &buffer, const void *memory, const DimValues &dims) {
  RAPT_ASSIGN_OR_RETURN(auto shape, shapeOf(buffer, dims));
  if (isa<attn::KVCacheType>(buffer.type))
    return readCache<S>(buffer, memory, shape[0]);
  Tensor<S> tensor;
  tensor.shape = shape;
  const Type element = cast<RankedTensorType>(buffer.type).getElementType();
  if (buffer.kind() == BufferKind::Cache)
    readNumbers<S>(memory, tensor.floats, tensor.size());
  else if (element.isF32())
    readNumbers<float>(memory, tensor.floats, tensor.size());
  else if (element.isInteger(32))
    readNumbers<int32_t>(memory, tensor.ints, tensor.size());
  else
    readNumbers<int64_t>(memory, tensor.ints, tensor.size());
  return Value<S>(std::make_shared<const Tensor<S>>(std::move(tensor)));
}

template <typename S>
Status writeBuffer(const EntryBuffer &buffer, const Value<S> &value, void *memory, const DimValues &dims) {
  RAPT_ASSIGN_OR_RETURN(auto shape, shapeOf(buffer, dims));
  if (auto type = dyn_cast<attn::KVCacheType>(buffer.type)) {
    writeCache<S>(type, *std::get<std::shared_ptr<const Cache<S>>>(value), memory);
    return {};
  }
  const Tensor<S> &tensor = *std::get<TensorRef<S>>(value);
  if (tensor.shape != shape)
    return Error{"'" + buffer.name + "' is " + shapeText(tensor.shape) + ", but " + shapeText(shape) + " is needed"};
  const Type element = cast<RankedTensorType>(buffer.type).getElementType();
  if (buffer.kind() == BufferKind::Cache)
    writeNumbers<S>(tensor.floats, memory);
  else if (element.isF32())
    writeNumbers<float>(tensor.floats, memory);
  else if (element.isInteger(32))
    writeNumbers<int32_t>(tensor.ints, memory);
  else
    writeNumbers<int64_t>(tensor.ints, memory);
  return {};
}

#define INSTANTIATE(S)                                                                                                 \
  template Expected<Value<S>> readBuffer<S>(const EntryBuffer &, const void *, const DimValues &);                     \
  template Status writeBuffer<S>(const EntryBuffer &, const Value<S> &, void *, const DimValues &);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace rapt::reference
