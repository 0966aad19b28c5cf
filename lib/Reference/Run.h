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

/// Whether the runtime runs the request, as it does all padded batches of a model. A caller who packs the rows himself,
/// or names a function that is no entry, has arrays for runFiles.
bool isOfRuntime(mlir::ModuleOp module, const Request &request);

/// Reads the inputs, runs the function on them as they are and writes the outputs, each whole or not at all. Errors are
/// emitted to the module's context.
mlir::LogicalResult runFiles(mlir::ModuleOp module, ParameterReader &parameters, const Request &request);

} // namespace rapt::reference
