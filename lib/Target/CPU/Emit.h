//===- Emit.h - From the llvm dialect to machine code for CPUs ----------------------*- C++ -*-===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Progress.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class raw_pwrite_stream;
} // namespace llvm

namespace rapt::cpu {

/// A CPU by LLVM's names.
struct Target {
  std::string triple, name;          ///< the name is as the user wrote it: "native", "x86-64-v3"
  std::vector<std::string> features; ///< what generated code may use, as LLVM names it, sorted
  std::string emulated = {};         ///< "amx" or "bf16": matrix instructions that other code takes the place of

  /// `cpu` is "native", or a name LLVM knows; `attributes` is "+f,-g,...". The features of "native" are those the host
  /// reports, never those of its name, which virtual machines mask. `triple` is one of findTriple.
  static Expected<Target> make(llvm::StringRef triple, llvm::StringRef cpu, llvm::StringRef attributes);
  /// One for each name, without names the triple's default, best first: wider vectors come before narrower, then more
  /// features before fewer, then names in order. So a CPU that has all that another has comes before it. No two have
  /// the same features.
  static Expected<std::vector<Target>> makeAll(llvm::StringRef triple, const std::vector<std::string> &cpus,
                                               llvm::StringRef attributes);
  /// The capabilities that passes ask for.
  TargetInfo info() const;
  /// "x86_64", "aarch64".
  std::string arch() const;
  /// The CPU without any feature that some lack, and the one whose timings code is scheduled for.
  std::string baseline() const, tuning() const;
  /// The largest page of memory that systems of this kind have, in bytes.
  uint64_t pageBytes() const;
};

/// The full form of a triple like "aarch64-linux-gnu"; empty stands for this machine's. Linux on x86-64 and AArch64.
Expected<std::string> findTriple(llvm::StringRef triple);

/// Names of the CPUs that --mcpu takes for a triple of findTriple.
std::vector<std::string> listCpus(llvm::StringRef triple);

enum class Output { LLVMIR, Assembly, Object };

/// The contents of the artifact's table beside the code.
struct ArtifactTable {
  std::string prefix;           ///< the exported symbol is PREFIX_module
  std::string manifest;         ///< JSON
  uint32_t abiMinor = 0;        ///< what the artifact needs of a runtime
  llvm::StringRef weights = {}; ///< bytes of a weight file to put inside; empty: none
  bool isKernel = false;        ///< only the manifest is added, and the entries themselves are exported
  /// Names of the variants behind the first, whose code is in other objects: their entries are hidden symbols
  /// PREFIX.NAME.ENTRY.
  std::vector<std::string> others = {};
};

/// How code is reached from outside.
struct Exports {
  /// Set: the only exported symbol is its PREFIX_module (lib/Runtime/include/rapt/artifact.h), with the manifest in
  /// section .rapt.manifest.
  const ArtifactTable *table = nullptr;
  /// Set: the entries are hidden symbols PREFIX.NAME.ENTRY with this PREFIX.NAME, for the table of another object.
  std::string variant = {};
  // Neither: the entries themselves are exported.
};

/// A module as LLVM has it.
struct Code {
  Code();
  Code(Code &&);
  ~Code();
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  /// Those that have a body.
  uint64_t countFunctions() const;
};

/// LLVM IR of a module at the stage llvm-dialect. One at a time for modules of one context.
Expected<Code> translate(mlir::ModuleOp module, const Target &target, const Exports &exports);

/// Cleans the IR up. Threads may do so at the same time, each with code of its own. `onFunctions` is told the functions
/// that are done.
Status optimize(Code &code, const Target &target, const ProgressCallback &onFunctions = {});
/// Emits code that has been optimized; threads and `onFunctions` as above.
Status emit(Code &code, const Target &target, Output output, llvm::raw_pwrite_stream &out,
            const ProgressCallback &onFunctions = {});

} // namespace rapt::cpu
