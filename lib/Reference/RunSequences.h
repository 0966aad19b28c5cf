//===- RunSequences.h - Entries one after another on kept values --------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Batch.h"
#include "lib/Reference/Run.h"

namespace rapt::reference {

/// Values that an entry takes under these names, as another one gave them: caches and states.
template <typename S> using Kept = std::map<std::string, Value<S>>;

/// An error without a location.
mlir::InFlightDiagnostic fail(mlir::Operation *op);

/// Each of `given` is one of `known`; `what` is "input" or "output".
llvm::LogicalResult checkNames(mlir::func::FuncOp entry, llvm::ArrayRef<std::string> given,
                               llvm::ArrayRef<std::string> known, llvm::StringRef what);

/// The batch of `idsName`, integers [batch, length], with `maskName`, where that is given; checked.
llvm::FailureOr<Batch> readIds(mlir::func::FuncOp entry, const NamedTensors &inputs, llvm::StringRef idsName,
                               llvm::StringRef maskName);

/// The number of adapters among which the rows of a batch choose.
int64_t adaptersOf(mlir::func::FuncOp entry);
/// Adds the order of an entry's tokens by adapter, whose rows begin at `rowBegin` [rows + 1]. Input `adapter` has that
/// of each row, 1 for the first one; 0, also without the input, is none.
llvm::LogicalResult addAdapters(mlir::func::FuncOp entry, const NamedTensors &inputs, llvm::ArrayRef<int64_t> rowBegin,
                                NamedTensors &arguments);

/// The results of an entry on named tensors and kept values; caches that are not kept start as zeros.
template <typename S>
mlir::FailureOr<llvm::SmallVector<Value<S>>> callEntry(mlir::ModuleOp module, mlir::func::FuncOp entry,
                                                       ParameterReader &parameters, const NamedTensors &inputs,
                                                       const Kept<S> &kept, int64_t cacheBlocks);

/// The results that have the names `wanted`.
template <typename S>
mlir::FailureOr<NamedTensors> outputsOf(mlir::func::FuncOp entry, llvm::ArrayRef<Value<S>> results,
                                        llvm::ArrayRef<std::string> wanted);

/// The results of an entry besides the state that it keeps: logits at the output positions, the encoder's output,
/// attention probabilities.
llvm::SmallVector<std::string> tokenResultsOf(mlir::func::FuncOp entry);

/// Blocks of a pool for each row: `count` a row, `stride` apart, from `first` on.
NpyTensor tableOf(int64_t rows, int64_t count, int64_t stride, int64_t first);

/// The step takes `state`: the model is recurrent.
bool keepsState(mlir::func::FuncOp step);

/// Runs a recurrent model on whole sequences, as runDecoder does where `encode` is null and as runEncoderDecoder does
/// otherwise; a step that takes one token of each row runs once for each column.
template <typename S>
mlir::FailureOr<NamedTensors> runRecurrent(mlir::ModuleOp module, mlir::func::FuncOp encode, mlir::func::FuncOp step,
                                           ParameterReader &parameters, const NamedTensors &inputs,
                                           llvm::ArrayRef<std::string> wanted);

} // namespace rapt::reference
