//===- Lowering.h - A module on its way through the stages -----------------------*- C++ -*-===//
//
// Variants that passes cannot tell apart share the module up to the stage llvm-dialect. Each
// module has a context of its own, so that several are lowered at the same time.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Driver/CodeVariant.h"
#include "lib/Driver/Compile.h"
#include "lib/Driver/Diagnostics.h"
#include "lib/Driver/Input.h"
#include "lib/Driver/ObjectCache.h"
#include "lib/Driver/Output.h"
#include "lib/Driver/Phases.h"
#include "lib/Driver/Plugins.h"
#include "lib/Driver/Reproducer.h"
#include "lib/Host/Emit.h"
#include "lib/Pipelines/Pipelines.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/Timing.h"
#include <mutex>

namespace mlir {
class PassManager;
}

namespace rapt::driver {

/// How a part of a compilation failed. An empty message: it has been told.
struct Failure {
  ExitStatus status;
  std::string message;
  Diagnostics *untold = nullptr; ///< whose lines come before the message
};
using MaybeFailure = std::optional<Failure>;

class Lowering {
public:
  Lowering(const Options &options, const Plugins &plugins, Phases &phases, ObjectCache &cache);

  /// Variants whose capabilities are the same.
  std::vector<const CodeVariant *> variants;
  mlir::MLIRContext context;
  Diagnostics diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// Takes a module made in the context, and where intermediate results go; with a `label` they are BASE.LABEL.stage.
  MaybeFailure begin(mlir::OwningOpRef<mlir::ModuleOp> read, InputKind from, const OutputPaths &to,
                     const std::string &label);
  MaybeFailure lowerTo(Stage stage);
  /// Has passes print the IR, and takes their time as `scope`'s, as the options say. They run while `scope` lives.
  void observe(mlir::PassManager &passes, mlir::TimingScope &scope);
  mlir::TimingScope timeOf(llvm::StringRef what) { return wholeTime.nest(what); }
  /// The module's text at its present stage.
  std::string getText();
  /// The passes from the stage that was read to another one, as rapt-opt takes them.
  std::string pipelineTo(Stage stage);

  /// Code for one of `variants`. Several threads may ask at the same time.
  MaybeFailure emit(const CodeVariant &variant, const host::Exports &exports, host::Output output, std::string &code);
  /// The text of the code for the device.
  MaybeFailure emitDevice(std::string &text);
  /// The code of a key in the object cache, or made and kept. `phase` is a name for the time in the cache.
  MaybeFailure findOrMake(llvm::function_ref<std::string()> makeKey,
                          llvm::function_ref<MaybeFailure(std::string &)> make, const std::string &phase,
                          std::string &code);
  /// Whatever goes wrong on this thread from now on is of this module.
  void enter() const { enterStep(step); }

private:
  /// Writes the module's text where the user wants every stage.
  MaybeFailure dump();
  MaybeFailure runPasses(Stage to);
  /// Runs the passes of --run-passes for the stage of the module, and checks what the stage promises.
  MaybeFailure runUserPasses();
  /// Replaces the module's device code by its text, which the object cache may have.
  MaybeFailure compileDeviceCode();
  /// Adds machine code to that text, or replaces the text by it, as --gpu-code says.
  MaybeFailure assembleDeviceCode();
  MaybeFailure runDevicePasses(void (Target::*add)(mlir::OpPassManager &) const);
  MaybeFailure embedDeviceCode();
  Failure failPasses(Stage to);
  host::Level level() const;
  /// LLVM's part of emit().
  MaybeFailure generate(host::Code &translated, const CodeVariant &variant, host::Output output, std::string &code);
  PipelineOptions pipelineOptions() const;
  std::string phaseFor(const std::string &name, const CodeVariant &variant) const;

  const Options &options;
  mlir::DefaultTimingManager timing; ///< of --mlir-timing
  mlir::TimingScope wholeTime;
  Phases &phases;
  ObjectCache &cache;
  OutputPaths paths;
  std::string label;
  /// The module as it was read, which with the passes from there shows each bug again: text of every stage would be a
  /// twentieth of the time of a compilation.
  std::string source;
  Stage start = Stage::Imported; ///< the stage that was read
  bool hasBegun = false;         ///< the passes of --run-passes for that stage have run
  InputKind kind = InputKind::HuggingFace;
  Step step;
  bool hasDeviceCode = false; ///< the host program has it
  std::mutex translating;     ///< the context is for one thread at a time
};

/// Appends the passes of --run-passes for a stage. Fails for a text that is no pipeline, with a line that says why.
Status addUserPasses(mlir::OpPassManager &passes, Stage stage, const Options &options);
bool hasUserPasses(Stage stage, const Options &options);

/// A bug of ours, with what is needed to see it again.
Failure internalFailure(const std::string &what);

/// With the locations, to parse it in another context.
std::string textWithLocations(mlir::ModuleOp module);

} // namespace rapt::driver
