//===- Batch.h - Padded batches and packed rows -------------------------------*- C++ -*-===//
#pragma once
#include "lib/Support/Npy.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/LogicalResult.h"

namespace rapt::reference {

/// The tokens of a batch [rows, length]: the first elements of each row, whose rest is padding.
struct Batch {
  int64_t rows = 0, length = 0;
  std::vector<int64_t> rowBegin{0}; ///< [rows + 1]: where each row begins when they are packed
  std::vector<int64_t> offsets;     ///< of each token: row * length + column

  int64_t tokens() const { return int64_t(offsets.size()); }
};

/// `mask` is attention_mask, integers [rows, length], ones and then zeros in each row; null: no padding. Errors are
/// emitted at `op`.
llvm::FailureOr<Batch> readBatch(mlir::Operation *op, int64_t rows, int64_t length, const NpyTensor *mask);

/// [rows, length, ...] to [tokens, ...].
NpyTensor packRows(const Batch &batch, const NpyTensor &padded);
/// [tokens, ...] to [rows, length, ...] with zeros as padding.
NpyTensor padRows(const Batch &batch, const NpyTensor &packed);

/// Integers as a tensor.
NpyTensor integerTensor(std::vector<int64_t> shape, const std::vector<int64_t> &values);

} // namespace rapt::reference
