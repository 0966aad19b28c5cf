//===- Batch.cpp - Padded batches and packed rows -----------------------------===//
#include "lib/Reference/Batch.h"
#include "lib/Reference/Arguments.h"

using namespace mlir;
namespace rapt::reference {

/// How many leading elements of the mask's row are 1; the others must be 0.
static FailureOr<int64_t> lengthOf(Operation *op, ArrayRef<int64_t> mask, int64_t row) {
  auto used = std::find(mask.begin(), mask.end(), 0) - mask.begin();
  for (auto [i, value] : llvm::enumerate(mask))
    if ((std::abs(value) == 1) != (int64_t(i) < used) || std::abs(value) > 1)
      return emitError(op->getLoc()) << "attention_mask[" << row << ", " << i << "] is " << value
                                     << ", but a row must be ones and then zeros";
  return used;
}

FailureOr<Batch> readBatch(Operation *op, int64_t rows, int64_t length, const NpyTensor *mask) {
  Batch batch;
  batch.rows = rows, batch.length = length;
  std::vector<int64_t> bits(rows * length, 1);
  if (mask) {
    if (!isInteger(mask->type) || mask->shape != std::vector<int64_t>{rows, length})
      return emitError(op->getLoc()) << "attention_mask is " << nameOf(mask->type) << " " << shapeText(mask->shape)
                                     << ", but integers [" << rows << ", " << length << "] are needed";
    bits = integersOf(*mask);
  }
  for (int64_t r = 0; r < rows; ++r) {
    FailureOr<int64_t> used = lengthOf(op, ArrayRef(bits).slice(r * length, length), r);
    if (failed(used))
      return failure();
    for (int64_t i = 0; i < *used; ++i)
      batch.offsets.push_back(r * length + i);
    batch.rowBegin.push_back(batch.tokens());
  }
  return batch;
}

/// Bytes behind the first `leading` dims.
static size_t bytesBehind(const NpyTensor &tensor, size_t leading) {
  size_t bytes = sizeOf(tensor.type);
  for (size_t i = leading; i < tensor.shape.size(); ++i)
    bytes *= tensor.shape[i];
  return bytes;
}

NpyTensor packRows(const Batch &batch, const NpyTensor &padded) {
  size_t bytes = bytesBehind(padded, 2);
  NpyTensor packed{padded.type, {batch.tokens()}, {}};
  packed.shape.insert(packed.shape.end(), padded.shape.begin() + 2, padded.shape.end());
  packed.data.resize(batch.tokens() * bytes);
  for (auto [i, offset] : llvm::enumerate(batch.offsets))
    std::copy_n(padded.data.begin() + offset * bytes, bytes, packed.data.begin() + i * bytes);
  return packed;
}

NpyTensor padRows(const Batch &batch, const NpyTensor &packed) {
  size_t bytes = bytesBehind(packed, 1);
  NpyTensor padded{packed.type, {batch.rows, batch.length}, {}};
  padded.shape.insert(padded.shape.end(), packed.shape.begin() + 1, packed.shape.end());
  padded.data.resize(batch.rows * batch.length * bytes);
  for (auto [i, offset] : llvm::enumerate(batch.offsets))
    std::copy_n(packed.data.begin() + i * bytes, bytes, padded.data.begin() + offset * bytes);
  return padded;
}

NpyTensor integerTensor(std::vector<int64_t> shape, const std::vector<int64_t> &values) {
  auto bytes = std::as_bytes(std::span(values));
  return {NpyType::I64, std::move(shape), {bytes.begin(), bytes.end()}};
}

} // namespace rapt::reference
