//===- Emit.h - From the llvm dialect to machine code of the host program --------*- C++ -*-===//
#pragma once
#include "lib/Host/Machine.h"
#include "lib/Support/Progress.h"
#include "mlir/IR/BuiltinOps.h"
#include <memory>

namespace llvm {
class LLVMContext;
class Module;
class raw_pwrite_stream;
} // namespace llvm

namespace rapt::host {

enum class Output { LLVMIR, Assembly, Object };

/// How much LLVM does for speed. The numbers that code computes have the same bits at both levels.
enum class Level {
  Shipped,
  Quick ///< for tests of numbers alone: what costs most compile time for the code's speed is left out
};

inline constexpr const char *kManifestSection = ".rapt.manifest";

/// Contents of the artifact's table beside the code.
struct ArtifactTable {
  std::string prefix;           ///< the exported symbol is PREFIX_module
  std::string manifest;         ///< JSON
  uint32_t abiMinor = 0;        ///< what the artifact needs of a runtime
  llvm::StringRef weights = {}; ///< bytes of a weight file to put inside; empty: none
  bool isKernel = false;        ///< only the manifest is added, and the entries themselves are exported
  /// Names of the variants behind the first, whose code is in other objects: their entries are hidden symbols
  /// PREFIX.NAME.ENTRY, their code for a device PREFIX.NAME.rapt.device_code.
  std::vector<std::string> others = {};
};

/// How code is reached from outside.
struct Exports {
  /// Set: the only exported symbol is its PREFIX_module (lib/Runtime/include/rapt/artifact.h), with the manifest in
  /// section .rapt.manifest.
  const ArtifactTable *table = nullptr;
  /// Set: the entries, and code for a device, are hidden symbols PREFIX.NAME.ENTRY with this PREFIX.NAME, for the table
  /// of another object.
  std::string variant = {};
  // Neither: the entries themselves are exported.
};

/// The attribute of a function in LLVM IR whose loops are over scalars.
inline constexpr const char *kScalarLoopsAttribute = "rapt-scalar-loops";

/// A module as LLVM has it. Values have no names, so that none can matter to the code.
struct Code {
  Code();
  Code(Code &&);
  ~Code();
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  /// Functions that have a body.
  uint64_t countFunctions() const;
};

/// LLVM IR of a module at the stage llvm-dialect. One at a time for modules of one context.
Expected<Code> translate(mlir::ModuleOp module, const Machine &machine, const Exports &exports);

/// Optimizes LLVM IR. Any number of threads may optimize or emit different code. Each call tells `onFunctions` of the
/// functions that it has done.
Status optimize(Code &code, const Machine &machine, Level level, const ProgressCallback &onFunctions = {});
/// A key of what optimize() and emit() will make of translated code, in 64 hexadecimal digits: the same only where that
/// is the same, in any process. It hashes the whole module.
std::string keyOf(const Code &code, const Machine &machine, Level level, Output output);
/// A key of what LLVM makes of these parts, which are all that it depends on.
std::string keyOf(llvm::ArrayRef<llvm::StringRef> parts);
/// Emits optimized code.
Status emit(Code &code, const Machine &machine, Level level, Output output, llvm::raw_pwrite_stream &out,
            const ProgressCallback &onFunctions = {});

} // namespace rapt::host
