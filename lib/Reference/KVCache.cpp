//===- KVCache.cpp - Keys and values of past positions ---------------------------===//
#include "lib/Reference/GroupScale.h"
#include "lib/Reference/Ops.h"

using namespace mlir;
namespace rapt::reference {

namespace {

LogicalResult checkLayer(Operation *op, int64_t layer, attn::KVCacheType type) {
  if (layer >= 0 && layer < type.getLayers())
    return success();
  return op->emitOpError() << "names layer " << layer << " of a cache of " << type.getLayers() << " layers";
}

/// Index of channel 0 of `head` at place `place` of block `block`.
int64_t at(attn::KVCacheType type, int64_t block, int64_t head, int64_t place) {
  return ((block * type.getHeads() + head) * type.getBlock() + place) * type.getHeadDim();
}

/// For each token of a row the place in the pool that it is written to; -1 for tokens of no row.
template <typename S>
FailureOr<std::vector<int64_t>> placesOf(attn::KVAppendOp op, attn::KVCacheType type, int64_t blocks, int64_t tokens,
                                         const Tensor<S> &rowBegin, const Tensor<S> &past, const Tensor<S> &table) {
  if (failed(checkOffsets(op, "row_begin", rowBegin, tokens)))
    return failure();
  int64_t rows = rowBegin.dim(0) - 1, length = table.dim(1), block = type.getBlock();
  if (past.dim(0) != rows || table.dim(0) != rows)
    return op.emitOpError() << "has " << past.dim(0) << " past lengths and a table of " << table.dim(0) << " rows for "
                            << rows << " rows";
  std::vector<int64_t> places(tokens, -1);
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
      places[t] = number * block + position % block;
      const int64_t entry = r * length + position / block;
      if (writer[number] >= 0 && writer[number] != entry)
        return op.emitOpError() << "row " << r << " writes block " << number << ", which is written for table["
                                << writer[number] / length << ", " << writer[number] % length << "], too";
      writer[number] = entry;
    }
  return places;
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
  if (failed(checkLayer(op, layer, type)))
    return failure();
  if (key.shape != value.shape)
    return op.emitOpError("has keys and values of different extents");
  auto places = placesOf(op, type, cache.blocks, key.dim(0), rowBegin, past, table);
  if (failed(places))
    return failure();
  Cache<S> result = cache;
  int64_t heads = type.getHeads(), channels = type.getHeadDim();
  for (auto [source, target] : {std::pair(&key, &result.keys), std::pair(&value, &result.values)}) {
    auto written = std::make_shared<std::vector<S>>(*(*target)[layer]);
    for (auto [t, place] : llvm::enumerate(*places))
      for (int64_t h = 0; place >= 0 && h < heads; ++h)
        store(type.getElementType(), ArrayRef(source->floats).slice((t * heads + h) * channels, channels),
              written->data() + at(type, place / type.getBlock(), h, place % type.getBlock()));
    (*target)[layer] = std::move(written);
  }
  return result;
}

template <typename S>
FailureOr<std::pair<Tensor<S>, Tensor<S>>> evaluate(attn::KVViewOp op, const Cache<S> &cache, int64_t layer,
                                                    const Tensor<S> &table) {
  auto type = cast<attn::KVCacheType>(op.getCache().getType());
  if (failed(checkLayer(op, layer, type)))
    return failure();
  int64_t rows = table.dim(0), length = table.dim(1), block = type.getBlock(), heads = type.getHeads(),
          channels = type.getHeadDim();
  Result<S> keys = makeTensor<S>(op, {rows, length * block, heads, channels});
  if (failed(keys))
    return failure();
  // Positions without a block are unspecified: NaN shows whoever reads them.
  std::fill(keys->floats.begin(), keys->floats.end(), std::numeric_limits<S>::quiet_NaN());
  Tensor<S> values = *keys;
  for (int64_t p = 0; p < rows * length * block; ++p) {
    int64_t number = table.ints[p / block];
    if (number < 0 || number >= cache.blocks)
      continue;
    for (int64_t h = 0; h < heads; ++h) {
      int64_t from = at(type, number, h, p % block), to = (p * heads + h) * channels;
      std::copy_n(cache.keys[layer]->begin() + from, channels, keys->floats.begin() + to);
      std::copy_n(cache.values[layer]->begin() + from, channels, values.floats.begin() + to);
    }
  }
  return std::pair(std::move(*keys), std::move(values));
}

#define INSTANTIATE(S)                                                                                                 \
  template FailureOr<Cache<S>> evaluate(attn::KVAppendOp, const Cache<S> &, int64_t, const Tensor<S> &,                \
                                        const Tensor<S> &, const Tensor<S> &, const Tensor<S> &, const Tensor<S> &);   \
  template FailureOr<std::pair<Tensor<S>, Tensor<S>>> evaluate(attn::KVViewOp, const Cache<S> &, int64_t,              \
                                                               const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
