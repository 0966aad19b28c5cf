//===- Lowering.cpp - A module on its way through the stages ---------------------------------===//
#include "lib/Driver/Lowering.h"
#include "lib/Artifact/Elf.h"
#include "lib/Driver/FaultInjection.h"
#include "lib/InitAll.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Target/Targets.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

namespace {

DialectRegistry makeRegistry(const Plugins &plugins) {
  DialectRegistry registry;
  registerAllDialects(registry);
  plugins.registerDialects(registry);
  return registry;
}

std::string textOf(ModuleOp module, const OpPrintingFlags &flags) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, flags);
  stream << "\n";
  return text;
}

/// The options that load the plugins of this command, each with a blank behind.
std::string pluginOptions(const Options &options) {
  std::string text;
  for (const std::string &file : options.dialectPlugins)
    text += "--load-dialect-plugin=" + file + " ";
  for (const std::string &file : options.passPlugins)
    text += "--load-pass-plugin=" + file + " ";
  return text;
}

/// The options that follow the module's file on a command line that compiles the same code without weights.
std::string codeOptions(const Options &options, const CodeVariant &variant, Stage reached) {
  std::string text = " --no-weights";
  if (options.target != allTargets().front()->name())
    text += " --target=" + options.target;
  if (!options.triple.empty())
    text += " --mtriple=" + options.triple;
  text += " --mcpu=" + variant.machine.name;
  if (!options.attributes.empty())
    text += " --mattr=" + options.attributes;
  if (!options.gpuArchitectures.empty())
    text += " --gpu-arch=" + variant.architecture;
  if (!options.gpuCode.empty())
    text += " --gpu-code=" + options.gpuCode;
  if (!options.f32Matmul.empty())
    text += " --f32-matmul=" + options.f32Matmul;
  if (options.codegen == "quick")
    text += " --codegen=quick";
  if (options.dtype != "auto")
    text += " --dtype=" + options.dtype;
  if (options.quantize != "none")
    text += " --quantize=" + options.quantize;
  if (options.quantizeGroup)
    text += " --quantize-group=" + std::to_string(options.quantizeGroup);
  if (options.quantizeZeroPoint)
    text += " --quantize-zero-point";
  for (const auto &[stage, pipeline] : options.runPasses)
    if (*stageNamed(stage) > reached)
      text += " '--run-passes=" + stage + ":" + pipeline + "'";
  return text + " -o module.o";
}

} // namespace

Failure driver::internalFailure(const std::string &what) {
  return {Bug, "internal error: " + what + leaveReproducer()};
}

std::string driver::textWithLocations(ModuleOp module) {
  return textOf(module, OpPrintingFlags().assumeVerified().enableDebugInfo());
}

bool driver::hasUserPasses(Stage stage, const Options &options) {
  return llvm::any_of(options.runPasses, [&](const auto &passes) { return passes.stage == rapt::nameOf(stage); });
}

Status driver::addUserPasses(OpPassManager &passes, Stage stage, const Options &options) {
  for (const auto &[name, pipeline] : options.runPasses) {
    if (name != rapt::nameOf(stage))
      continue;
    StringRef text = StringRef(pipeline).trim();
    if (text.consume_front("builtin.module(")) // the pass manager's own op
      text.consume_back(")");
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (succeeded(parsePassPipeline(text, passes, stream)))
      continue;
    const StringRef reason = StringRef(message).split("error: ").second.split('\n').first;
    return Error{"--run-passes=" + json::printable(name + ":" + pipeline) + ": " + reason.str()};
  }
  return {};
}

Lowering::Lowering(const Options &options, const Plugins &plugins, Phases &phases, ObjectCache &cache)
    : context(makeRegistry(plugins), MLIRContext::Threading::DISABLED), diagnostics(context, options.verbose),
      options(options), phases(phases), cache(cache) {
  timing.setEnabled(options.timing);
  wholeTime = timing.getRootScope();
}

void Lowering::observe(PassManager &passes, TimingScope &scope) {
  const Options::IRPrinting &printing = options.printing;
  auto isBefore = [&printing](Pass *, Operation *) { return printing.beforeAll; };
  auto isAfter = [&printing](Pass *pass, Operation *) {
    return printing.afterAll || llvm::is_contained(printing.after, pass->getArgument());
  };
  if (printing.prints())
    passes.enableIRPrinting(isBefore, isAfter, /*printModuleScope=*/false, printing.onlyChanges);
  passes.enableTiming(scope);
}

PipelineOptions Lowering::pipelineOptions() const {
  return {targetNamed(options.target),
          variants.front()->capabilities,
          options.dtype,
          options.quantize,
          options.quantizeGroup ? options.quantizeGroup : 32,
          options.quantizeZeroPoint};
}

std::string Lowering::pipelineTo(Stage stage) {
  PassManager passes(&context, ModuleOp::getOperationName());
  auto addAt = [&](Stage reached) {
    if (Status added = addUserPasses(passes, reached, options); added && hasUserPasses(reached, options))
      addContract(passes, reached, *targetNamed(options.target));
  };
  addAt(start);
  for (int next = static_cast<int>(start) + 1; next <= static_cast<int>(stage); ++next) {
    buildPipeline(passes, static_cast<Stage>(next - 1), static_cast<Stage>(next), pipelineOptions());
    addAt(static_cast<Stage>(next));
  }
  std::string pipeline;
  llvm::raw_string_ostream stream(pipeline);
  passes.printAsTextualPipeline(stream);
  return pipeline;
}

MaybeFailure Lowering::begin(OwningOpRef<ModuleOp> read, InputKind from, const OutputPaths &to,
                             const std::string &name) {
  module = std::move(read);
  kind = from;
  paths = to;
  label = name.empty() ? "" : name + ".";
  start = stageOf(*module);
  source = getText();
  return dump();
}

std::string Lowering::getText() { return textOf(*module, OpPrintingFlags().assumeVerified()); }

MaybeFailure Lowering::dump() {
  if (!options.saveTemps && options.dumpDirectory.empty())
    return std::nullopt;
  const std::string suffix = rapt::nameOf(stageOf(*module)).str() + ".mlir";
  if (Status written = writeIntermediate(options, paths, label + suffix, getText()); !written)
    return Failure{WrongInput, written.error().message};
  return std::nullopt;
}

/// Passes that failed: of text it is the text's fault, of a checkpoint ours.
Failure Lowering::failPasses(Stage to) {
  std::string stage = rapt::nameOf(to).str();
  Failure failure;
  // Whether a model's matrices can be quantized as asked is seen by the pass that does it, which says why not.
  // A pass of the user may have left what later passes refuse.
  const bool isOfUser = !options.runPasses.empty();
  const bool isRefused = to == Stage::Canonical && options.quantize != "none" && diagnostics.sawErrors();
  if (kind != InputKind::MLIR && !isRefused && !isOfUser)
    failure = internalFailure("cannot lower to the stage " + stage);
  else
    failure = {WrongInput,
               diagnostics.sawErrors() ? "" : shownPath(options.input) + ": cannot be lowered to the stage " + stage};
  failure.untold = &diagnostics;
  return failure;
}

/// The name of a phase, with the CPU where there are several.
std::string Lowering::phaseFor(const std::string &name, const CodeVariant &variant) const {
  return label.empty() ? name : name + " for " + variant.name;
}

MaybeFailure Lowering::runPasses(Stage to) {
  const std::string name = rapt::nameOf(to).str();
  const Phases::Step timed(phases, phaseFor("lowering to " + name, *variants.front()));
  PassManager passes(&context, ModuleOp::getOperationName());
  buildPipeline(passes, stageOf(*module), to, pipelineOptions());
  step = {"lowering to the stage " + name, reproducerText(source, pipelineTo(to)),
          "rapt-opt " + pluginOptions(options) + "--run-reproducer ", ""};
  enter();
  if (std::unique_ptr<Pass> faulty = makeFaultyPass(options, name))
    passes.addPass(std::move(faulty));
  TimingScope timedPasses = timeOf("lowering to " + name);
  observe(passes, timedPasses);
  passes.enableVerifier(false); // the stage as a whole is verified below; the reproducer's rapt-opt verifies each pass
  if (failed(passes.run(*module)) || failed(verify(*module)))
    return failPasses(to);
  if (MaybeFailure failure = runUserPasses())
    return failure;
  step = {"going on from the stage " + name, source, "raptc " + pluginOptions(options),
          codeOptions(options, *variants.front(), start)};
  return dump();
}

MaybeFailure Lowering::runUserPasses() {
  const Stage stage = stageOf(*module);
  if (!hasUserPasses(stage, options))
    return std::nullopt;
  const std::string name = rapt::nameOf(stage).str();
  const Phases::Step timed(phases, phaseFor("passes of --run-passes at " + name, *variants.front()));
  PassManager passes(&context, ModuleOp::getOperationName());
  if (Status added = addUserPasses(passes, stage, options); !added)
    return Failure{WrongInput, added.error().message, &diagnostics};
  addContract(passes, stage, *targetNamed(options.target));
  step = {"running the passes of --run-passes at the stage " + name, reproducerText(source, pipelineTo(stage)),
          "rapt-opt " + pluginOptions(options) + "--run-reproducer ", ""};
  enter();
  TimingScope timedPasses = timeOf("--run-passes at " + name);
  observe(passes, timedPasses);
  if (succeeded(passes.run(*module)))
    return std::nullopt;
  const std::string message = "the passes of --run-passes at the stage " + name + " failed";
  return Failure{WrongInput, diagnostics.sawErrors() ? "" : message, &diagnostics};
}

MaybeFailure Lowering::lowerTo(Stage stage) {
  if (!std::exchange(hasBegun, true) && hasUserPasses(start, options)) {
    if (MaybeFailure failure = runUserPasses())
      return failure;
    if (MaybeFailure failure = dump())
      return failure;
  }
  for (int next = static_cast<int>(stageOf(*module)) + 1; next <= static_cast<int>(stage); ++next)
    if (MaybeFailure failure = runPasses(static_cast<Stage>(next)))
      return failure;
  return std::nullopt;
}

MaybeFailure Lowering::runDevicePasses(void (Target::*add)(OpPassManager &) const) {
  PassManager passes(&context, ModuleOp::getOperationName());
  (targetNamed(options.target)->*add)(passes);
  if (passes.empty())
    return std::nullopt;
  const Phases::Step timed(phases, phaseFor("code generation for the device", *variants.front()));
  TimingScope timedPasses = timeOf("code for the device");
  observe(passes, timedPasses);
  return succeeded(passes.run(*module)) ? std::nullopt
                                        : MaybeFailure(internalFailure("cannot generate code for the device"));
}

constexpr const char *kCachePhase = "object cache";

MaybeFailure Lowering::compileDeviceCode() {
  const Target &target = *targetNamed(options.target);
  const std::string source = cache.isOn() ? target.deviceSource(*module) : "";
  if (source.empty())
    return runDevicePasses(&Target::addDeviceCode);
  bool isInPlace = false; // the compiled code stands where its source stood
  auto compile = [&](std::string &text) {
    MaybeFailure failure = runDevicePasses(&Target::addDeviceCode);
    isInPlace = true;
    text = target.deviceText(*module);
    return failure;
  };
  std::string text;
  if (MaybeFailure failure = findOrMake([&] { return host::keyOf({"device", source}); }, compile,
                                        phaseFor(kCachePhase, *variants.front()), text))
    return failure;
  if (!isInPlace)
    target.setDeviceText(*module, text);
  return std::nullopt;
}

MaybeFailure Lowering::assembleDeviceCode() {
  if (options.gpuCode.empty() || options.gpuCode == "ptx")
    return std::nullopt;
  const Target &target = *targetNamed(options.target);
  Expected<std::string> assembler = target.findAssembler();
  if (!assembler)
    return Failure{WrongInput, assembler.error().message};
  // Assemblers of the same bytes make the same code.
  std::unique_ptr<llvm::MemoryBuffer> program;
  if (cache.isOn())
    if (auto read = llvm::MemoryBuffer::getFile(*assembler))
      program = std::move(*read);
  MaybeFailure failure;
  auto assemble = [&](StringRef text, StringRef architecture) -> Expected<std::string> {
    auto make = [&](std::string &code) -> MaybeFailure {
      const Phases::Step timed(phases, phaseFor("machine code for the device", *variants.front()));
      Expected<std::string> made = target.assembleText(*assembler, text, architecture);
      if (!made)
        return Failure{WrongInput, made.error().message};
      code = std::move(*made);
      return std::nullopt;
    };
    auto makeKey = [&] { return host::keyOf({"machine code", program->getBuffer(), architecture, text}); };
    std::string code;
    failure = program ? findOrMake(makeKey, make, phaseFor(kCachePhase, *variants.front()), code) : make(code);
    if (failure)
      return Error{failure->message};
    return code;
  };
  Status done = target.assemble(*module, assemble, options.gpuCode == "both");
  return done || failure ? failure : MaybeFailure(Failure{WrongInput, done.error().message});
}

/// Puts device code into the host program, once.
MaybeFailure Lowering::embedDeviceCode() {
  std::lock_guard<std::mutex> hold(translating);
  if (std::exchange(hasDeviceCode, true))
    return std::nullopt;
  if (MaybeFailure failure = compileDeviceCode())
    return failure;
  if (MaybeFailure failure = assembleDeviceCode())
    return failure;
  return runDevicePasses(&Target::addEmission);
}

MaybeFailure Lowering::emitDevice(std::string &text) {
  if (MaybeFailure failure = compileDeviceCode())
    return failure;
  text = targetNamed(options.target)->deviceText(*module);
  return text.empty() ? MaybeFailure(Failure{WrongInput, shownPath(options.input) + ": has no code for a GPU"})
                      : std::nullopt;
}

host::Level Lowering::level() const { return options.codegen == "quick" ? host::Level::Quick : host::Level::Shipped; }

MaybeFailure Lowering::generate(host::Code &translated, const CodeVariant &variant, host::Output output,
                                std::string &code) {
  const uint64_t functions = translated.countFunctions();
  {
    Phases::Step timed(phases, phaseFor("optimization", variant), "functions", functions);
    if (Status optimized = host::optimize(translated, variant.machine, level(), timed.counter()); !optimized)
      return internalFailure(optimized.error().message);
  }
  Phases::Step timed(phases, phaseFor("code generation", variant), "functions", functions);
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (Status emitted = host::emit(translated, variant.machine, level(), output, stream, timed.counter()); !emitted)
    return internalFailure(emitted.error().message);
  code = bytes.str().str();
  return std::nullopt;
}

MaybeFailure Lowering::findOrMake(llvm::function_ref<std::string()> makeKey,
                                  llvm::function_ref<MaybeFailure(std::string &)> make, const std::string &phase,
                                  std::string &code) {
  std::string key;
  std::optional<std::string> found;
  bool isChecked = false;
  {
    Phases::Step timed(phases, phase);
    key = makeKey();
    found = cache.find(key);
    isChecked = found && isDrawn(key, options.cacheCheck.oneIn, options.cacheCheck.seed);
    // In a parallel phase a hit stands for the two steps that it saves.
    timed.conclude(!found ? "miss" : isChecked ? "hit, to be checked" : "hit", found && !isChecked ? 2 : 0);
  }
  if (found && !isChecked) {
    code = std::move(*found);
    return std::nullopt;
  }
  if (MaybeFailure failure = make(code))
    return failure;
  if (found)
    return *found == code ? std::nullopt
                          : MaybeFailure(internalFailure("the object cache entry " + cache.pathOf(key) +
                                                         " has other bytes than what was made again"));
  Phases::Step timed(phases, phase);
  cache.store(key, code);
  timed.conclude("store", 0);
  return std::nullopt;
}

/// Sets the manifest of an object that was made with another one of the same size.
static MaybeFailure setManifest(std::string &object, StringRef manifest) {
  Expected<std::string_view> section = artifact::readElfSection(object, host::kManifestSection);
  if (!section || section->size() != manifest.size())
    return internalFailure("the object has no place for the manifest");
  llvm::copy(manifest, object.begin() + (section->data() - object.data()));
  return std::nullopt;
}

MaybeFailure Lowering::emit(const CodeVariant &variant, const host::Exports &exports, host::Output output,
                            std::string &code) {
  if (MaybeFailure failure = embedDeviceCode())
    return failure;
  const host::ArtifactTable *table = exports.table;
  const bool isCached = cache.isOn() && output != host::Output::LLVMIR &&
                        (!table || table->weights.size() <= ObjectCache::kMostObjectBytes);
  // The manifest names the weight file by a hash: code would be the same for no two of them.
  const bool isManifestLast = isCached && table && output == host::Output::Object;
  host::ArtifactTable blank;
  host::Exports exported = exports;
  if (isManifestLast) {
    blank = *table;
    blank.manifest.assign(table->manifest.size(), ' ');
    exported.table = &blank;
  }
  auto translate = [&] {
    const Phases::Step timed(phases, phaseFor("translation to LLVM IR", variant));
    std::lock_guard<std::mutex> hold(translating);
    return host::translate(*module, variant.machine, exported);
  };
  Expected<host::Code> translated = translate();
  if (!translated)
    return internalFailure(translated.error().message);
  auto makeKey = [&] { return host::keyOf(*translated, variant.machine, level(), output); };
  auto make = [&](std::string &object) { return generate(*translated, variant, output, object); };
  MaybeFailure failure = isCached ? findOrMake(makeKey, make, phaseFor(kCachePhase, variant), code) : make(code);
  return failure || !isManifestLast ? failure : setManifest(code, table->manifest);
}
