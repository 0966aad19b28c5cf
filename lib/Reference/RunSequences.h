//===- RunSequences.h - Entries one after another on kept values --------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Batch.h"
#include "lib/Reference/Run.h"
#include "lib/Support/EntryRoles.h"

namespace rapt::reference {

using Role = EntryRole;

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

/// The names of an entry's results.
llvm::SmallVector<std::string> resultNamesOf(mlir::func::FuncOp entry);

/// Runs the step of a model on whole sequences, after its `encode`, which is null where it has no encoder. Without one
/// `input_ids` (integers [batch, length]) and maybe `attention_mask` (as large; ones, then zeros) give of `wanted` the
/// `logits` [batch, length, vocabulary] and attention's weights, where the step has them; what is behind a sequence's
/// end is 0. A model that reads images takes `image_embeddings`, one with adapters `adapter`. With an encoder
/// `input_ids` and `attention_mask` are the sources, `decoder_input_ids` and `decoder_attention_mask` the sequences,
/// and `encoder_last_hidden_state` [batch, length, hidden] is an output, too. An encoder of sound takes
/// `input_features` [batch, channels, frames] in place of ids, one of images `pixel_values` [batch, channels, height,
/// width].
template <typename S>
mlir::FailureOr<NamedTensors> runSequences(mlir::ModuleOp module, mlir::func::FuncOp encode, mlir::func::FuncOp step,
                                           ParameterReader &parameters, const NamedTensors &inputs,
                                           llvm::ArrayRef<std::string> wanted);

} // namespace rapt::reference
