//===- KVCache.cpp - Keys and values of past positions ---------------------------===//
#include "lib/Reference/GroupScale.h"
#include "lib/Reference/Ops.h"

using namespace mlir;
namespace rapt::reference {

namespace {

/// The number of an op's layer among those of all segments; an error where its segment has no such layer.
FailureOr<int64_t> layerOf(Operation *op, attn::KVCacheType type, uint64_t segment, int64_t layer) {
  ArrayRef<attn::KVSegment> segments = type.getSegments();
  if (layer >= 0 && layer < segments[segment].layers)
    return llvm::sum_of(llvm::map_range(segments.take_front(segment), [](const auto &s) { return s.layers; }), layer);
  auto error = op->emitOpError() << "names layer " << layer << " of a cache of " << segments[segment].layers
                                 << " layers";
  if (segments.size() > 1)
    error << " in segment " << int64_t(segment);
  return error;
}

/// Index of channel 0 of `head` at slot `slot` of block `block`.
int64_t at(attn::KVCacheType type, int64_t heads, int64_t channels, int64_t block, int64_t head, int64_t slot) {
  return ((block * heads + head) * type.getBlock() + slot) * channels;
}

/// For each token of a row the slot of the pool that it is written to; -1 for tokens of no row.
template <typename S>
FailureOr<std::vector<int64_t>> slotsOf(attn::KVAppendOp op, attn::KVCacheType type, int64_t blocks, int64_t tokens,
                                        const Tensor<S> &rowBegin, const Tensor<S> &past, const Tensor<S> &table) {
  if (failed(checkOffsets(op, "row_begin", rowBegin, tokens)))
    return failure();
  int64_t rows = rowBegin.dim(0) - 1, length = table.dim(1), block = type.getBlock();
  if (past.dim(0) != rows || table.dim(0) != rows)
    return op.emitOpError() << "has " << past.dim(0) << " past lengths and a table of " << table.dim(0) << " rows for "
                            << rows << " rows";
  std::vector<int64_t> slots(tokens, -1);
  std::vector<int64_t> writer(blocks, -1); // the entry of the table
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t t = rowBegin.ints[r]; t < rowBegin.ints[r + 1]; ++t) {
      int64_t position = past.ints[r] + t - rowBegin.ints[r];
      if (position < 0 || position / block >= length)
        return op.emitOpError() << "writes position " << position << " of row " << r << ", but its table has " << length
                                << " blocks of " << block;
      int64_t number = table.ints[r * length + position / block];
      if (number < 0 || number >= blocks)
        return op.emitOpError() << "table[" << r << ", " << position / block << "] is " << number
                                << ", but the cache has " << blocks << " blocks";
      slots[t] = number * block + position % block;
      const int64_t entry = r * length + position / block;
      if (writer[number] >= 0 && writer[number] != entry)
        return op.emitOpError() << "row " << r << " writes block " << number << ", which is written for table["
                                << writer[number] / length << ", " << writer[number] % length << "], too";
      writer[number] = entry;
    }
  return slots;
}

/// One key or value of a head as the cache has it.
template <typename S> void store(Type element, ArrayRef<S> given, S *to) {
  if (auto rounded = dyn_cast<FloatType>(element)) {
    for (S x : given)
      *to++ = S(roundTo(rounded, x));
    return;
  }
  GroupScale scale(given);
  for (S x : given)
    *to++ = S(scale.scale) * S(scale.codeOf(double(x)));
}

} // namespace

template <typename S>
FailureOr<Cache<S>> evaluate(attn::KVAppendOp op, const Cache<S> &cache, int64_t layer, const Tensor<S> &key,
                             const Tensor<S> &value, const Tensor<S> &rowBegin, const Tensor<S> &past,
                             const Tensor<S> &table) {
  auto type = cast<attn::KVCacheType>(op.getCache().getType());
  FailureOr<int64_t> number = layerOf(op, type, op.getSegment(), layer);
  if (failed(number))
    return failure();
  const attn::KVSegment &segment = type.getSegments()[op.getSegment()];
  if (ArrayRef(key.shape).drop_back() != ArrayRef(value.shape).drop_back())
    return op.emitOpError("has keys and values of different extents");
  auto slots = slotsOf(op, type, cache.blocks, key.dim(0), rowBegin, past, table);
  if (failed(slots))
    return failure();
  Cache<S> result = cache;
  const int64_t heads = segment.heads;
  for (auto [source, target, part] :
       {std::tuple(&key, &result.keys, segment.keys), std::tuple(&value, &result.values, segment.values)}) {
    auto written = std::make_shared<std::vector<S>>(*(*target)[*number]);
    const int64_t channels = part.channels;
    for (auto [t, slot] : llvm::enumerate(*slots))
      for (int64_t h = 0; slot >= 0 && h < heads; ++h)
        store(part.element, ArrayRef(source->floats).slice((t * heads + h) * channels, channels),
              written->data() + at(type, heads, channels, slot / type.getBlock(), h, slot % type.getBlock()));
    (*target)[*number] = std::move(written);
  }
  return result;
}

template <typename S>
FailureOr<std::pair<Tensor<S>, Tensor<S>>> evaluate(attn::KVViewOp op, const Cache<S> &cache, int64_t layer,
                                                    const Tensor<S> &table) {
  auto type = cast<attn::KVCacheType>(op.getCache().getType());
  FailureOr<int64_t> number = layerOf(op, type, op.getSegment(), layer);
  if (failed(number))
    return failure();
  const attn::KVSegment &segment = type.getSegments()[op.getSegment()];
  const int64_t rows = table.dim(0), length = table.dim(1), block = type.getBlock(), heads = segment.heads;
  auto view = [&](const std::vector<S> &stored, int64_t channels) -> Result<S> {
    Result<S> result = makeTensor<S>(op, {rows, length * block, heads, channels});
    if (failed(result))
      return failure();
    // Positions without a block are unspecified: NaN shows whoever reads them.
    std::fill(result->floats.begin(), result->floats.end(), std::numeric_limits<S>::quiet_NaN());
    for (int64_t p = 0; p < rows * length * block; ++p)
      if (int64_t id = table.ints[p / block]; id >= 0 && id < cache.blocks)
        for (int64_t h = 0; h < heads; ++h)
          std::copy_n(stored.begin() + at(type, heads, channels, id, h, p % block), channels,
                      result->floats.begin() + (p * heads + h) * channels);
    return result;
  };
  Result<S> keys = view(*cache.keys[*number], segment.keys.channels);
  if (failed(keys))
    return failure();
  Result<S> values = view(*cache.values[*number], segment.values.channels);
  if (failed(values))
    return failure();
  return std::pair(std::move(*keys), std::move(*values));
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<Cache<S>> evaluate(attn::KVAppendOp, const Cache<S> &, int64_t, const Tensor<S> &,                \
                                        const Tensor<S> &, const Tensor<S> &, const Tensor<S> &, const Tensor<S> &);   \
  template FailureOr<std::pair<Tensor<S>, Tensor<S>>> evaluate(attn::KVViewOp, const Cache<S> &, int64_t,              \
                                                               const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
