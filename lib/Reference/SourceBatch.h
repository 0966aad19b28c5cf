//===- SourceBatch.h - The sources of an encoder's batch ----------------------*- C++ -*-===//
#pragma once
#include "lib/Reference/RunSequences.h"

namespace rapt::reference {

/// The sources of a batch: words that are packed, or features of sound or images, whose outputs are [rows, positions,
/// ...] already.
struct SourceBatch {
  int64_t rows = 0, length = 0;
  std::vector<int64_t> lengths; ///< positions of each row
  std::optional<Batch> words;
  NamedTensors arguments; ///< of `encode`, those that are read

  NpyTensor shown(const NpyTensor &output) const { return words ? padRows(*words, output) : output; }
};

/// The names of the inputs that are the source of `encode`; the first one is needed.
llvm::SmallVector<std::string> sourceNamesOf(mlir::func::FuncOp encode);

/// The source of `encode` among the inputs, checked.
mlir::FailureOr<SourceBatch> readSource(mlir::func::FuncOp encode, const NamedTensors &inputs);

} // namespace rapt::reference
