//===- Slices.cpp - Tiles of tensors ------------------------------------------===//
#include "lib/Reference/Ops.h"

using namespace mlir;
namespace rapt::reference {

namespace {

LogicalResult checkSlice(Operation *op, ArrayRef<int64_t> shape, const Slice &slice) {
  for (auto [i, extent] : llvm::enumerate(shape)) {
    int64_t offset = slice.offsets[i], size = slice.sizes[i], stride = slice.strides[i], last;
    // An empty slice may lie anywhere: the last parts of a split that does not divide have nothing.
    bool inside = size >= 0 && offset >= 0;
    if (inside && size > 0)
      inside = !__builtin_mul_overflow(size - 1, stride, &last) && !__builtin_add_overflow(last, offset, &last) &&
               last >= 0 && last < extent && offset < extent;
    if (!inside)
      return op->emitOpError() << "takes " << size << " elements from " << offset << " on, with stride " << stride
                               << ", of dim " << i << ", whose extent is " << extent;
  }
  return success();
}

/// Calls `visit` with the offset in `shape` of each element of the slice, the last dim running fastest.
void forEachOffset(ArrayRef<int64_t> shape, const Slice &slice, function_ref<void(int64_t)> visit) {
  if (llvm::is_contained(slice.sizes, 0))
    return;
  SmallVector<int64_t> at(shape.size(), 0);
  for (bool more = true; more;) {
    int64_t offset = 0;
    for (auto [i, extent] : llvm::enumerate(shape))
      offset = offset * extent + slice.offsets[i] + at[i] * slice.strides[i];
    visit(offset);
    more = false;
    for (unsigned i = shape.size(); i-- > 0 && !more;) {
      more = ++at[i] < slice.sizes[i];
      if (!more)
        at[i] = 0;
    }
  }
}

} // namespace

template <typename S>
Result<S> extractSlice(Operation *op, const Tensor<S> &source, const Slice &slice,
                       const llvm::SmallBitVector &dropped) {
  if (failed(checkSlice(op, source.shape, slice)))
    return failure();
  Tensor<S> tile;
  for (auto [i, size] : llvm::enumerate(slice.sizes))
    if (!dropped.test(i))
      tile.shape.push_back(size);
  forEachOffset(source.shape, slice, [&](int64_t offset) {
    if (source.floats.empty())
      tile.ints.push_back(source.ints[offset]);
    else
      tile.floats.push_back(source.floats[offset]);
  });
  return tile;
}

template <typename S> Result<S> insertSlice(Operation *op, const Tensor<S> &tile, Tensor<S> dest, const Slice &slice) {
  if (failed(checkSlice(op, dest.shape, slice)))
    return failure();
  int64_t elements = 1, next = 0;
  for (int64_t size : slice.sizes)
    elements *= size;
  if (elements != tile.size())
    return op->emitOpError() << "puts a tile of " << tile.size() << " elements into a slice of " << elements;
  forEachOffset(dest.shape, slice, [&](int64_t offset) {
    if (dest.floats.empty())
      dest.ints[offset] = tile.ints[next++];
    else
      dest.floats[offset] = tile.floats[next++];
  });
  return dest;
}

#define INSTANTIATE(S)                                                                                                 \
  template Result<S> extractSlice(Operation *, const Tensor<S> &, const Slice &, const llvm::SmallBitVector &);        \
  template Result<S> insertSlice(Operation *, const Tensor<S> &, Tensor<S>, const Slice &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
