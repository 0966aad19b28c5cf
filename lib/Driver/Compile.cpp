//===- Compile.cpp - What raptc does ---------------------------------------------------------------===//
#include "lib/Driver/Compile.h"
#include "lib/Artifact/Link.h"
#include "lib/Artifact/StagedFile.h"
#include "lib/Driver/CheckTokenizer.h"
#include "lib/Driver/Describe.h"
#include "lib/Driver/Diagnostics.h"
#include "lib/Driver/FaultInjection.h"
#include "lib/Driver/Kernel.h"
#include "lib/Driver/Report.h"
#include "lib/Driver/Reproducer.h"
#include "lib/Driver/Weights.h"
#include "lib/Import/Formats/HuggingFace/SafeTensorsWriter.h"
#include "lib/Import/Import.h"
#include "lib/InitAll.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Support/File.h"
#include "lib/Target/CPU/Emit.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Triple.h"
#include <chrono>

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

DialectRegistry makeRegistry() {
  DialectRegistry registry;
  registerAllDialects(registry);
  return registry;
}

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, OpPrintingFlags().assumeVerified());
  stream << "\n";
  return text;
}

/// One compilation, from options to files. Its functions return false when it is over; `status` then says how.
class Compilation {
public:
  Compilation(const Options &options, const std::string &tool)
      : options(options), tool(tool), context(makeRegistry(), MLIRContext::Threading::DISABLED),
        diagnostics(context, options.verbose) {}

  ExitStatus run() {
    if (prepare() && read() && (emit <= Emit::LLVMDialect ? writeStage() : lowerAndWrite()))
      return Success;
    return status;
  }

private:
  bool fail(ExitStatus how, const std::string &message) {
    tell("error", message);
    status = how;
    return false;
  }
  bool failOf(const Status &result, ExitStatus how = WrongInput) { return fail(how, result.error().message); }

  bool prepare();
  bool read();
  PipelineOptions pipelineOptions() const {
    return {target.info(), options.dtype, options.quantize, options.quantizeGroup ? options.quantizeGroup : 32,
            options.quantizeZeroPoint};
  }
  bool lowerTo(Stage to);
  bool runPasses(Stage to);
  bool failPasses(Stage to);
  bool failInternally(const std::string &what);
  std::string codeOptions() const;
  bool dump(StringRef suffix, const std::string &text);
  bool writeStage();
  bool describe();
  bool lowerAndWrite();
  bool writeCode();
  bool saveWeights();
  bool openWeights();
  bool packWeights();
  bool emitCode(cpu::Output output, std::string &code);
  bool writeArtifact();
  bool writeKernel();
  bool showSteps();

  const Options &options;
  std::string tool;
  MLIRContext context;
  Diagnostics diagnostics;
  ExitStatus status = Success;
  Emit emit = Emit::Library;
  cpu::Target target;
  Input input;
  std::string text; ///< of the module, for those who look at stages and for a reproducer
  OutputPaths paths;
  Weights weights;
  artifact::Manifest manifest;
  Costs costs;
  double began = now();
};

/// Everything that can be wrong about the command line alone.
bool Compilation::prepare() {
  emit = *emitNamed(options.emit);
  Expected<cpu::Target> made = cpu::Target::make(options.cpu, options.attributes);
  if (!made)
    return fail(WrongUsage, made.error().message);
  target = *made;
  if (!StringRef(options.prefix).empty() && artifact::prefixOf(options.prefix) != options.prefix)
    return fail(WrongUsage, "--prefix=" + options.prefix + " is no C identifier");
  return true;
}

bool Compilation::read() {
  Expected<InputKind> kind = detectInput(options.input);
  if (!kind)
    return fail(WrongInput, kind.error().message);
  if (*kind == InputKind::MLIR && options.randomSeed)
    return fail(WrongUsage, "--random-weights needs a configuration; " + shownPath(options.input) + " is MLIR text");
  if (*kind == InputKind::HuggingFace && !options.weights.empty())
    return fail(WrongUsage, "--weights is for MLIR text; " + shownPath(options.input) + " brings its own weights");
  enterStep({"reading " + shownPath(options.input)});
  injectFault(options, "read");
  Expected<Input> found = readInput(context, options);
  if (!found)
    return fail(WrongInput, found.error().message);
  input = std::move(*found);
  if (options.quantize != "none" && stageOf(*input.module) >= Stage::Canonical)
    return fail(WrongInput, shownPath(options.input) + ": is at the stage " +
                                rapt::nameOf(stageOf(*input.module)).str() +
                                ", where weights have their storage already; " + "--quantize needs the stage imported");
  paths = OutputPaths::choose(options, emit, input.name);
  if (!options.dryRun && !options.showCommands)
    if (Status writable = paths.check(options); !writable)
      return failOf(writable);
  manifest.name = options.prefix.empty() ? artifact::prefixOf(paths.base) : options.prefix;
  text = textOf(*input.module);
  return dump(rapt::nameOf(stageOf(*input.module)).str() + ".mlir", text);
}

bool Compilation::dump(StringRef suffix, const std::string &text) {
  Status written = writeIntermediate(options, paths, suffix.str(), text);
  return written ? true : failOf(written);
}

/// What follows a module on the command line for the same code without weights.
std::string Compilation::codeOptions() const {
  return " --no-weights --mcpu=" + options.cpu + (options.attributes.empty() ? "" : " --mattr=" + options.attributes) +
         " -o module.o";
}

/// A bug of ours, with what is needed to see it again.
bool Compilation::failInternally(const std::string &what) {
  return fail(Bug, "internal error: " + what + leaveReproducer());
}

/// Tells that passes failed: of text it is the text's fault, of a checkpoint ours.
bool Compilation::failPasses(Stage to) {
  std::string stage = rapt::nameOf(to).str();
  // Whether a model's matrices can be quantised as asked is seen by the pass that does it, which says why not.
  const bool isRefused = to == Stage::Canonical && options.quantize != "none" && diagnostics.sawErrors();
  if (input.kind != InputKind::MLIR && !isRefused)
    return failInternally("cannot lower to the stage " + stage);
  return fail(WrongInput,
              diagnostics.sawErrors() ? "" : shownPath(options.input) + ": cannot be lowered to the stage " + stage);
}

bool Compilation::runPasses(Stage to) {
  const std::string name = rapt::nameOf(to).str();
  PassManager passes(&context, ModuleOp::getOperationName());
  buildPipeline(passes, stageOf(*input.module), to, pipelineOptions());
  std::string pipeline;
  llvm::raw_string_ostream stream(pipeline);
  passes.printAsTextualPipeline(stream);
  enterStep({"lowering to the stage " + name, reproducerText(text, pipeline), "rapt-opt --run-reproducer ", ""});
  if (std::unique_ptr<Pass> faulty = makeFaultyPass(options, name))
    passes.addPass(std::move(faulty));
  passes.enableVerifier(false); // the stage as a whole is verified below
  double start = now();
  if (failed(passes.run(*input.module)) || failed(verify(*input.module)))
    return failPasses(to);
  if (options.verbose)
    llvm::errs() << llvm::formatv("raptc: {0}: {1:f2} s\n", name, now() - start);
  text = textOf(*input.module);
  enterStep({"going on from the stage " + name, text, "raptc ", codeOptions()});
  return dump(name + ".mlir", text);
}

bool Compilation::lowerTo(Stage to) {
  for (int next = static_cast<int>(stageOf(*input.module)) + 1; next <= static_cast<int>(to); ++next)
    if (!runPasses(static_cast<Stage>(next)))
      return false;
  return true;
}

bool Compilation::writeStage() {
  Stage wanted = *stageNamed(driver::nameOf(emit));
  if (stageOf(*input.module) > wanted)
    return fail(WrongInput, shownPath(options.input) + ": is at the stage " +
                                rapt::nameOf(stageOf(*input.module)).str() + ", behind " + driver::nameOf(emit));
  if (!lowerTo(wanted))
    return false;
  if (options.dryRun)
    return true;
  Status written = writeText(paths.main, text);
  return written ? true : failOf(written);
}

/// Fills in what is known once layouts are materialised.
bool Compilation::describe() {
  Expected<std::vector<artifact::Parameter>> parameters = describeParameters(*input.module);
  if (!parameters)
    return fail(input.kind == InputKind::MLIR ? WrongInput : Bug, parameters.error().message);
  manifest.parameters = std::move(*parameters);
  manifest.version = RAPT_VERSION;
  manifest.arch = llvm::Triple(target.triple).getArchName().str();
  manifest.cpu = target.cpu;
  manifest.features = target.features;
  describeModel(*input.module, manifest);
  return true;
}

bool Compilation::showSteps() {
  PassManager passes(&context, ModuleOp::getOperationName());
  buildPipeline(passes, stageOf(*input.module), Stage::LLVMDialect, pipelineOptions());
  std::string text;
  llvm::raw_string_ostream stream(text);
  passes.printAsTextualPipeline(stream);
  stream << "\n";
  if (emit == Emit::Library) {
    Expected<std::string> linker = artifact::findLinker(artifact::directoryOf(tool));
    if (!linker)
      return fail(WrongInput, linker.error().message);
    for (const std::string &word : artifact::linkCommand(*linker, "OBJECT", "EXPORTS", paths.main))
      stream << word << " ";
    stream << "\n";
  }
  llvm::errs() << text;
  return true;
}

bool Compilation::openWeights() {
  Expected<Weights> opened = Weights::open(input, manifest.parameters, options);
  if (!opened)
    return fail(WrongInput, opened.error().message);
  weights = std::move(*opened);
  return true;
}

/// Packs what was opened; it then waits as a temporary file, or in memory to become part of the code.
bool Compilation::packWeights() {
  if (Status packed = weights.pack(input, manifest.parameters, options, paths.directory, paths.base); !packed)
    return failOf(packed);
  if (weights.packed)
    llvm::errs() << quantizationReport(manifest.parameters, weights.packed->errors, options.verbose);
  injectFault(options, "pack");
  if (options.embedWeights)
    if (Status embedded = weights.embed(options.weights); !embedded)
      return failOf(embedded);
  if (Status described = weights.describe(manifest, paths.base); !described)
    return failOf(described, Bug);
  return true;
}

bool Compilation::lowerAndWrite() {
  if (options.showCommands)
    return showSteps();
  if (stageOf(*input.module) < Stage::Canonical && !lowerTo(Stage::Canonical))
    return false;
  if (!describe())
    return false;
  if (options.dryRun) {
    Expected<uint64_t> bytes = artifact::predictFileBytes(manifest.parameters, input.sections);
    if (!bytes)
      return fail(WrongInput, bytes.error().message);
    manifest.weightsBytes = artifact::weightsBytes(manifest.parameters);
    Status written = writeText("", prediction(manifest, *bytes));
    return written ? true : failOf(written);
  }
  if (emit >= Emit::Object && !openWeights())
    return false;
  if (manifest.model)
    for (const std::string &warning : checkTokenizer(input.sections, *manifest.model))
      tell("warning", shownPath(options.input) + "/" + warning);
  if (!lowerTo(Stage::LLVMDialect))
    return false;
  if (Status described = describeEntries(*input.module, manifest); !described)
    return failOf(described, Bug);
  if (manifest.entries.empty())
    return fail(WrongInput, shownPath(options.input) + ": has no entry (a function with the attribute attn.entry)");
  return emit >= Emit::Object ? writeArtifact() : writeCode();
}

bool Compilation::emitCode(cpu::Output output, std::string &code) {
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  cpu::ArtifactTable table{manifest.name, artifact::writeManifest(manifest), artifact::abiMinorOf(manifest), {}};
  if (weights.inside && output == cpu::Output::Object) // text is for people: it leaves them out
    table.weights = weights.inside->getBuffer();
  table.isKernel = !manifest.model;
  const bool bare = table.isKernel && emit != Emit::Library; // nothing but code goes into other people's programs
  if (Status emitted = cpu::emit(*input.module, target, bare ? nullptr : &table, output, stream); !emitted)
    return failInternally(emitted.error().message);
  code = bytes.str().str();
  return true;
}

/// LLVM IR or assembly: the code of the artifact, with a manifest that fits any content.
bool Compilation::writeCode() {
  std::string code;
  if (Status described = manifest.model ? weights.describe(manifest, paths.base) : Status(); !described)
    return failOf(described, Bug);
  if (!emitCode(emit == Emit::LLVMIR ? cpu::Output::LLVMIR : cpu::Output::Assembly, code))
    return false;
  Status written = writeText(paths.main, code);
  return written ? true : failOf(written);
}

bool Compilation::saveWeights() {
  if (options.saveWeights.empty())
    return true;
  if (!weights.reader)
    return fail(WrongUsage, "--save-weights needs tensors; " + shownPath(options.input) + " has none");
  Status written = huggingface::writeSafeTensors(options.saveWeights, *weights.reader, weights.names);
  return written ? true : failOf(written);
}

bool Compilation::writeKernel() {
  if (Status named = checkKernelNames(manifest); !named)
    return fail(WrongInput, shownPath(options.input) + ": " + named.error().message);
  std::string object;
  if (!emitCode(cpu::Output::Object, object))
    return false;
  std::vector<std::string> exports = kernelExports(manifest);
  if (Status clean = artifact::checkSymbols(object, exports); !clean)
    return failInternally(clean.error().message);
  KernelForm form = emit == Emit::Library   ? KernelForm::Library
                    : emit == Emit::Archive ? KernelForm::Archive
                                            : KernelForm::Object;
  Status written = writeKernelFiles(manifest, paths, object, form, artifact::directoryOf(tool));
  return written ? true : failOf(written);
}

/// Weights, header and library, renamed in this order: the library's rename is the commit.
bool Compilation::writeArtifact() {
  if (!manifest.model)
    return writeKernel();
  double start = now();
  costs.compileSeconds = start - began;
  if (!packWeights())
    return false;
  costs.packSeconds = now() - start;
  start = now();
  injectFault(options, "object");
  std::string object, extra;
  if (!emitCode(cpu::Output::Object, object))
    return false;
  if (options.saveTemps || !options.dumpDirectory.empty())
    if (!emitCode(cpu::Output::LLVMIR, extra) || !dump("ll", extra) || !emitCode(cpu::Output::Assembly, extra) ||
        !dump("s", extra))
      return false;
  std::vector<std::string> exports{manifest.name + "_module"};
  if (Status clean = artifact::checkSymbols(object, exports); !clean)
    return failInternally(clean.error().message);
  auto made = emit == Emit::Library
                  ? artifact::linkShared({object, paths.main, exports, artifact::directoryOf(tool)})
                  : artifact::StagedFile::createWith(
                        paths.main, emit == Emit::Archive ? artifact::makeArchive(object, exports) : object);
  if (!made)
    return fail(WrongInput, made.error().message);
  auto header = artifact::StagedFile::createWith(paths.header(), artifact::writeHeader(manifest));
  if (!header)
    return fail(WrongInput, header.error().message);
  if (!saveWeights())
    return false;
  std::string old = weightsNamedBy(paths.main, paths.base);
  if (weights.packed)
    if (Status done = weights.packed->commit(); !done)
      return failOf(done);
  for (auto *file : {&*header, &*made})
    if (Status done = (*file)->commit(); !done)
      return failOf(done);
  if (!old.empty() && old != manifest.weightsFile)
    llvm::sys::fs::remove(paths.directory + "/" + old);
  if (weights.existing && artifact::directoryOf(options.weights) != paths.directory)
    tell("warning", shownPath(paths.main) + " looks for " + shownPath(manifest.weightsFile) +
                        " beside itself; it lies in " + shownPath(artifact::directoryOf(options.weights)));
  costs.compileSeconds += now() - start;
  llvm::errs() << report(manifest, paths, emit, costs);
  return true;
}

} // namespace

ExitStatus driver::compile(const Options &options, const std::string &tool) {
  discardOnInterrupt();
  reportCrashes();
  return Compilation(options, tool).run();
}

std::string driver::familyNames() {
  std::string text;
  for (std::string_view name : listFamilies())
    text += std::string(name) + "\n";
  return text;
}

std::string driver::cpuNames() {
  std::string text = "native\n";
  for (const std::string &name : cpu::listCpus())
    text += name + "\n";
  return text;
}
