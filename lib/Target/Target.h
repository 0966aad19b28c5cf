//===- Target.h - Interface of a target ----------------------*- C++ -*-===//
//
// The stages imported and canonical are the same for all targets. A target owns what is
// below: layouts, schedules, tiles and code.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "lib/Artifact/Parameter.h"
#include "lib/Host/Machine.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/Stage.h"

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace rapt {

class Target {
public:
  virtual ~Target() = default;

  /// As `--target` and attn.target name it.
  virtual llvm::StringRef name() const = 0;

  /// The names of the matrix instructions that this target can emulate by other code, for tests.
  virtual llvm::ArrayRef<llvm::StringRef> emulatedUnits() const { return {}; }

  /// The kind of device that runs the dispatches, as the manifest names it; empty for the CPU of the host program.
  virtual llvm::StringRef device() const { return {}; }

  /// The architectures of the device, as --gpu-arch names them; the first is the default.
  virtual llvm::ArrayRef<llvm::StringRef> architectures() const { return {}; }

  /// The capabilities of a machine that the passes of this target may use, as if it had the instructions `emulated`:
  /// one of emulatedUnits(), or empty. `architecture` is one of architectures(), or empty where there are none.
  virtual TargetInfo capabilities(const host::Machine &machine, llvm::StringRef emulated,
                                  llvm::StringRef architecture) const = 0;

  /// The name of the layout of caches of an element type, in the manifest and in saved sequences, which fit no other;
  /// null for one whose element types differ.
  virtual llvm::StringRef cacheLayout(mlir::Type element) const = 0;

  /// How equal layers of a cache lie in memory, for the header of kernels.
  virtual attn::CacheLayoutInterface layoutOfCache(const attn::KVSegment &segment, int64_t block) const = 0;

  /// How the packer writes parameters in a layout of this target's own (another than `#attn.rows`); none for a layout
  /// that is not its own.
  virtual std::optional<artifact::Layout> layoutInFile(attn::ParameterLayoutInterface layout) const = 0;

  /// Appends the passes that take a module from the stage before `stage`, one behind canonical, to it.
  virtual void addPasses(mlir::OpPassManager &passes, Stage stage) const = 0;

  /// Appends the pass that checks what `stage`, one behind canonical, promises, if there is one.
  virtual void addContract(mlir::OpPassManager &passes, Stage stage) const = 0;

  /// All that decides about compiled device code of the stage llvm-dialect, but for LLVM, as text; empty where there is
  /// no such code.
  virtual std::string deviceSource(mlir::ModuleOp) const { return {}; }
  /// Puts the text that was compiled from the same source before in the place of device code.
  virtual void setDeviceText(mlir::ModuleOp, llvm::StringRef) const {}
  /// Appends the passes that compile device code of the stage llvm-dialect.
  virtual void addDeviceCode(mlir::OpPassManager &) const {}
  /// The text of compiled device code; empty where there is none.
  virtual std::string deviceText(mlir::ModuleOp) const { return {}; }
  /// The program that makes machine code of device code's text, a path; the error says where it was looked for.
  virtual Expected<std::string> findAssembler() const { return std::string(); }
  /// Machine code of such text for an architecture.
  virtual Expected<std::string> assembleText(const std::string & /*assembler*/, llvm::StringRef /*text*/,
                                             llvm::StringRef /*architecture*/) const {
    return std::string();
  }
  /// Machine code of a text and an architecture, by assembleText() or from an earlier call of it.
  using AssembleText = llvm::function_ref<Expected<std::string>(llvm::StringRef, llvm::StringRef)>;
  /// Puts machine code beside the text of compiled device code, or in place of it unless `keepsText`.
  virtual Status assemble(mlir::ModuleOp, AssembleText, bool /*keepsText*/) const { return {}; }
  /// Appends the passes that put compiled device code into the host program, which is all that is left then.
  virtual void addEmission(mlir::OpPassManager &) const {}

  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;
  virtual void registerPasses() const = 0;
};

} // namespace rapt
