//===- Run.h - Entries on named .npy tensors ---------------------------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Evaluator.h"
#include "lib/Support/Npy.h"
#include <map>

namespace rapt::reference {

using NamedTensors = std::map<std::string, NpyTensor, std::less<>>;

/// Runs function `entry` on tensors by name and gives the results of which `wanted` has the names. Arguments and
/// results are named by attn.name, else "argN" and "resultN". Caches start as zeros and have `cacheBlocks` blocks.
/// Errors are emitted to the module's context.
template <typename Scalar>
mlir::FailureOr<NamedTensors> runEntry(mlir::ModuleOp module, mlir::func::FuncOp entry, ParameterReader &parameters,
                                       const NamedTensors &inputs, llvm::ArrayRef<std::string> wanted,
                                       int64_t cacheBlocks);

/// Runs a decoder's step on whole sequences: `input_ids` (integers [batch, length]) and maybe `attention_mask` (as
/// large; ones, then zeros) give of `wanted` the `logits` [batch, length, vocabulary] and attention's weights, where
/// the step has them; what is behind a sequence's end is 0.
template <typename Scalar>
mlir::FailureOr<NamedTensors> runDecoder(mlir::ModuleOp module, mlir::func::FuncOp step, ParameterReader &parameters,
                                         const NamedTensors &inputs, llvm::ArrayRef<std::string> wanted);

/// Runs `encode` and `step` of an encoder-decoder on whole sequences: `input_ids` and `decoder_input_ids` (integers
/// [batch, length], [batch, decoder length]), maybe `attention_mask` and `decoder_attention_mask`, give of `wanted` the
/// `logits` [batch, decoder length, vocabulary] and `encoder_last_hidden_state` [batch, length, hidden]; 0 behind an
/// end. An encoder of sound takes `input_features` [batch, channels, frames] in place of `input_ids`, one of images
/// `pixel_values` [batch, channels, height, width].
template <typename Scalar>
mlir::FailureOr<NamedTensors> runEncoderDecoder(mlir::ModuleOp module, mlir::func::FuncOp encode,
                                                mlir::func::FuncOp step, ParameterReader &parameters,
                                                const NamedTensors &inputs, llvm::ArrayRef<std::string> wanted);

/// The request of rapt-reference's command line. Files are .npy.
struct Request {
  std::string entry; ///< empty: the module's first
  bool inF64 = false;
  std::vector<std::pair<std::string, std::string>> inputs, outputs; ///< name and file
  int64_t cacheBlocks = 64;
  std::vector<std::pair<std::string, std::string>> parameters; ///< for checkFiles alone, as the following
  std::string ir, weights;                                     ///< a file, and a model directory or nothing
};

/// Fails where an output is a file that the run reads, or another output.
Status checkFiles(const Request &request);

/// Reads the inputs, runs the entry (on whole padded batches [batch, length, ...] where it packs rows) and writes the
/// outputs, each whole or not at all. Errors are emitted to the module's context.
mlir::LogicalResult runFiles(mlir::ModuleOp module, ParameterReader &parameters, const Request &request);

} // namespace rapt::reference
