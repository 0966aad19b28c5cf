//===- Emit.h - From the llvm dialect to machine code for CPUs ----------------------*- C++ -*-===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class raw_pwrite_stream;
class TargetMachine;
} // namespace llvm

namespace rapt::cpu {

/// A CPU by LLVM's names.
struct Target {
  std::string triple, cpu;
  std::vector<std::string> features; ///< what generated code may use, as LLVM names it, sorted

  /// `cpu` is "native", or a name LLVM knows; `attributes` is "+f,-g,...". The features of "native" are those the host
  /// reports, never those of its name, which virtual machines mask.
  static Expected<Target> make(llvm::StringRef cpu, llvm::StringRef attributes);
  /// What passes ask.
  TargetInfo info() const;
};

/// Names of the CPUs that --mcpu takes.
std::vector<std::string> listCpus();

enum class Output { LLVMIR, Assembly, Object };

/// What goes into the artifact's table beside the code.
struct ArtifactTable {
  std::string prefix;           ///< the exported symbol is PREFIX_module
  std::string manifest;         ///< JSON
  uint32_t abiMinor = 0;        ///< what the artifact needs of a runtime
  llvm::StringRef weights = {}; ///< bytes of a weight file to put inside; empty: none
  bool isKernel = false;        ///< only the manifest is added, and the entries themselves are exported
};

/// Optimises and emits a module at the stage llvm-dialect. With a table, the only exported symbol is its PREFIX_module
/// (lib/Runtime/include/rapt/artifact.h), with the manifest in section .rapt.manifest; without one, the entries
/// themselves.
Status emit(mlir::ModuleOp module, const Target &target, const ArtifactTable *table, Output output,
            llvm::raw_pwrite_stream &out);

} // namespace rapt::cpu
