//===- Compile.cpp - The work of raptc -------------------------------------------------------------===//
#include "lib/Driver/Compile.h"
#include "dialect/Attn/AttnDialect.h"
#include "lib/Artifact/Link.h"
#include "lib/Artifact/Threads.h"
#include "lib/Driver/CheckTokenizer.h"
#include "lib/Driver/Describe.h"
#include "lib/Driver/FaultInjection.h"
#include "lib/Driver/Kernel.h"
#include "lib/Driver/Lowering.h"
#include "lib/Driver/OldWeights.h"
#include "lib/Driver/Phases.h"
#include "lib/Driver/Remarks.h"
#include "lib/Driver/Report.h"
#include "lib/Driver/StageCheck.h"
#include "lib/Driver/Weights.h"
#include "lib/Formats/HuggingFace/SafeTensorsWriter.h"
#include "lib/Import/Families/Import.h"
#include "lib/InitAll.h"
#include "lib/Support/Example.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Support/Spelling.h"
#include "lib/Target/Targets.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/FileSystem.h"
#include <atomic>

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

namespace {

/// One compilation, from options to files. Its functions return false when it is over; `status` then says how.
class Compilation {
public:
  Compilation(const Options &options, const std::string &tool, Phases &phases)
      : options(options), tool(tool), phases(phases),
        cache(options.objectCache, [](const std::string &what) { printDiagnostic("warning", what); }) {}

  ExitStatus run() {
    if (!prepare() || !read())
      return status;
    const bool isDone = options.printPipeline       ? printPipeline()
                        : emit <= Emit::LLVMDialect ? writeStage()
                                                    : lowerAndWrite();
    return isDone ? Success : status;
  }

private:
  bool fail(ExitStatus how, const std::string &message) {
    printDiagnostic("error", message);
    status = how;
    return false;
  }
  bool failOf(const Status &result, ExitStatus how = WrongInput) { return fail(how, result.error().message); }
  bool passed(const MaybeFailure &failure) {
    if (failure && failure->untold)
      failure->untold->release();
    return failure ? fail(failure->status, failure->message) : true;
  }
  bool failInternally(const std::string &what) { return passed(internalFailure(what)); }

  bool prepare();
  Status checkDeviceCode(const Target &target) const;
  bool loadPlugins();
  bool checkUserPasses();
  bool read();
  bool checkFiles();
  bool selectActivations();
  bool requestAttention();
  bool requestAttention(const Options::AttentionOutputs &outputs, bool logSumExp);
  bool storeCache();
  bool writeStage();
  bool describe();
  bool showSteps();
  bool printPipeline();
  bool atTheSameTime(size_t count, llvm::function_ref<MaybeFailure(size_t)> body);
  bool lowerAll();
  bool lowerAndWrite();
  bool writeCode();
  bool saveWeights();
  bool openWeights();
  bool packWeights();
  bool makeCode(const std::string &object, const std::vector<std::string> &exports, std::string &code);
  MaybeFailure emitVariant(size_t variant, host::Output output, std::string &code);
  bool emitObject(std::string &object);
  void removeOldWeights(const std::string &name);
  bool writeArtifact();
  bool writeKernel();

  /// Whether the variants are for several GPUs.
  bool isForGPUs() const { return options.gpuArchitectures.size() > 1; }
  std::string processors() const { return isForGPUs() ? "GPUs" : "CPUs"; }
  /// The end of a message where the code is for one processor.
  std::string giveOne() const {
    return std::string(isForGPUs() ? "GPU; give one --gpu-arch, not " : "CPU; give one --mcpu, not ") +
           std::to_string(variants.size());
  }

  /// The first one holds the best variant. It is also what text, dry runs and the manifest are made from.
  Lowering &first() { return *lowerings.front(); }
  ModuleOp module() { return *first().module; }

  const Options &options;
  std::string tool;
  Phases &phases;
  ObjectCache cache;
  ExitStatus status = Success;
  Emit emit = Emit::Library;
  bool hasReadableTokenizer = true; ///< where it has one
  ExampleTexts texts;
  Plugins plugins;
  std::vector<CodeVariant> variants; ///< best first
  std::vector<std::unique_ptr<Lowering>> lowerings;
  Input input;
  Stage stageRead = Stage::Imported; ///< of the input
  std::string imported;              ///< text for the other lowerings
  Step reading;
  OutputPaths paths;
  CommandFiles files;
  Weights weights;
  artifact::Manifest manifest;
};

/// The architectures of the device that code is made for, best first; one that is empty for targets without a device.
Expected<std::vector<std::string>> chooseArchitectures(const Target &target, const Options &options) {
  llvm::ArrayRef<llvm::StringRef> known = target.architectures();
  if (options.gpuArchitectures.empty())
    return std::vector<std::string>{known.empty() ? std::string() : known.front().str()};
  if (known.empty())
    return Error{"--gpu-arch=" + llvm::join(options.gpuArchitectures, ",") + " is for GPUs, but the target is " +
                 options.target};
  const std::vector<std::string_view> names(known.begin(), known.end());
  for (const std::string &asked : options.gpuArchitectures)
    if (!llvm::is_contained(known, asked))
      return Error{invalidValue(asked, "--gpu-arch", listChoices(names)) + didYouMean(findNearest(asked, names))};
  std::vector<std::string> chosen;
  for (llvm::StringRef architecture : llvm::reverse(known))
    if (llvm::is_contained(options.gpuArchitectures, architecture))
      chosen.push_back(architecture.str());
  return chosen;
}

/// The forms of the code for a GPU, best first.
std::vector<artifact::Manifest::Device::Image> imagesFor(const std::string &architecture, const Options &options) {
  std::vector<artifact::Manifest::Device::Image> images;
  if (options.gpuCode == "cubin" || options.gpuCode == "both")
    images.push_back({architecture, "cubin"});
  if (options.gpuCode != "cubin")
    images.push_back({architecture, "ptx"});
  return images;
}

/// Refuses options of code for GPUs where the target has none.
Status Compilation::checkDeviceCode(const Target &target) const {
  const bool hasDevice = !target.device().empty();
  if (emit == Emit::PTX && !hasDevice)
    return Error{"--emit=ptx is for GPUs, but the target is " + options.target};
  if (!options.gpuCode.empty() && !hasDevice)
    return Error{"--gpu-code=" + options.gpuCode + " is for GPUs, but the target is " + options.target};
  if (!options.f32Matmul.empty() && !hasDevice)
    return Error{"--f32-matmul=" + options.f32Matmul + " is for GPUs, but the target is " + options.target};
  return {};
}

/// Everything that can be wrong about the command line alone.
bool Compilation::prepare() {
  phases.enter("setting up");
  emit = *emitNamed(options.emit);
  if (!loadPlugins())
    return false;
  Expected<std::string> triple = host::findTriple(options.triple);
  if (!triple)
    return fail(WrongUsage, triple.error().message);
  Expected<std::vector<host::Machine>> machines = host::Machine::makeAll(*triple, options.cpus, options.attributes);
  if (!machines)
    return fail(WrongUsage, machines.error().message);
  const Target &target = *targetNamed(options.target);
  if (llvm::ArrayRef<llvm::StringRef> units = target.emulatedUnits();
      !options.emulate.empty() && !llvm::is_contained(units, options.emulate))
    return fail(WrongUsage, units.empty()
                                ? "--emulate: the target " + options.target + " emulates no instructions"
                                : invalidValue(options.emulate, "--emulate",
                                               listChoices(std::vector<std::string_view>(units.begin(), units.end()))));
  Expected<std::vector<std::string>> architectures = chooseArchitectures(target, options);
  if (!architectures)
    return fail(WrongUsage, architectures.error().message);
  if (Status good = checkDeviceCode(target); !good)
    return failOf(good, WrongUsage);
  for (const std::string &architecture : *architectures)
    for (host::Machine &machine : *machines) {
      TargetInfo capabilities = target.capabilities(machine, options.emulate, architecture);
      capabilities.target = options.target; // as text of a target's stage has it
      if (options.f32Matmul == "tf32" || options.f32Matmul == "3xtf32")
        capabilities.tf32Terms = options.f32Matmul == "tf32" ? 1 : 2;
      const std::string &name = architectures->size() > 1 ? architecture : machine.name;
      variants.push_back({machine, architecture, name, std::move(capabilities)});
    }
  for (const CodeVariant &variant : variants) {
    auto found = llvm::find_if(
        lowerings, [&](const auto &other) { return other->variants.front()->capabilities == variant.capabilities; });
    if (found == lowerings.end())
      found = lowerings.insert(found, std::make_unique<Lowering>(options, plugins, phases, cache));
    (*found)->variants.push_back(&variant);
  }
  // The modules for other CPUs would say the same.
  if (const std::string category = options.remarks.empty() && options.verbose ? "mask" : options.remarks;
      !category.empty())
    if (Status shown = showRemarks(first().context, category); !shown)
      return fail(WrongUsage, shown.error().message);
  if (!StringRef(options.prefix).empty() && artifact::prefixOf(options.prefix) != options.prefix)
    return fail(WrongUsage, "--prefix=" + options.prefix + " is no C identifier");
  return true;
}

bool Compilation::loadPlugins() {
  for (const std::string &file : options.dialectPlugins)
    if (Status loaded = plugins.loadDialects(file); !loaded)
      return failOf(loaded);
  for (const std::string &file : options.passPlugins)
    if (Status loaded = plugins.loadPasses(file); !loaded)
      return failOf(loaded);
  if (options.runPasses.empty() && options.printing.after.empty())
    return true;
  registerAllPasses();
  for (const std::string &name : options.printing.after)
    if (!PassInfo::lookup(name))
      return fail(WrongUsage, "--mlir-print-ir-after: there is no pass " + json::printable(name));
  for (const auto &[name, pipeline] : options.runPasses) {
    OpPassManager passes(ModuleOp::getOperationName());
    if (Status parsed = addUserPasses(passes, *stageNamed(name), options); !parsed)
      return failOf(parsed);
  }
  return true;
}

/// Text of a stage behind that of --run-passes never comes to it.
bool Compilation::checkUserPasses() {
  const Stage stage = stageOf(*input.module);
  for (const auto &[name, pipeline] : options.runPasses)
    if (*stageNamed(name) < stage)
      return fail(WrongInput, shownPath(options.input) + ": is at the stage " + rapt::nameOf(stage).str() +
                                  ", after that of --run-passes=" + name + ":" + pipeline);
  return true;
}

bool Compilation::read() {
  phases.enter("reading");
  Expected<InputKind> kind = detectInput(options);
  if (!kind)
    return fail(WrongInput, kind.error().message);
  if (*kind == InputKind::MLIR && options.randomSeed)
    return fail(WrongUsage, "--random-weights needs a configuration; " + shownPath(options.input) + " is MLIR text");
  if (*kind != InputKind::MLIR && !options.weights.empty())
    return fail(WrongUsage, "--weights is for MLIR text; " + shownPath(options.input) + " brings its own weights");
  reading.doing = "reading " + shownPath(options.input);
  enterStep(reading);
  injectFault(options, "read");
  Expected<Input> found = readInput(first().context, first().diagnostics, options);
  if (!found)
    return fail(WrongInput, found.error().message);
  input = std::move(*found);
  const Stage stage = stageRead = stageOf(*input.module);
  if (variants.size() > 1 && stage > Stage::Canonical)
    return fail(WrongUsage, shownPath(options.input) + ": is at the stage " + rapt::nameOf(stage).str() +
                                ", which is for one " + giveOne());
  if (!checkUserPasses())
    return false;
  if (input.kind == InputKind::MLIR)
    if (Status fits = checkStage(*input.module, variants.front(), options); !fits)
      return failOf(fits);
  if (!selectActivations() || !requestAttention() || !storeCache())
    return false;
  paths = OutputPaths::choose(options, emit, input.name);
  if (!checkFiles())
    return false;
  manifest.name = options.prefix.empty() ? artifact::prefixOf(paths.base) : options.prefix;
  if (lowerings.size() > 1)
    imported = textWithLocations(*input.module);
  return passed(first().begin(std::move(input.module), input.kind, paths, variants.size() > 1 ? variants[0].name : ""));
}

/// No output replaces what is read or another output, and a folder exists for them.
bool Compilation::checkFiles() {
  if (options.dryRun || options.showCommands || options.printPipeline)
    return true;
  std::vector<std::string> labels = {""};
  for (const CodeVariant &variant : variants)
    labels.push_back(variant.name + ".");
  files = paths.list(options, emit, labels);
  Status checked = files.check();
  if (checked)
    checked = paths.check();
  return checked ? true : failOf(checked);
}

/// Attention's weights and log-sum-exp as outputs.
bool Compilation::requestAttention() {
  return requestAttention(options.attentionWeights, /*logSumExp=*/false) &&
         requestAttention(options.attentionLogSumExp, /*logSumExp=*/true);
}

bool Compilation::requestAttention(const Options::AttentionOutputs &outputs, bool logSumExp) {
  if (!outputs.given)
    return true;
  AttnRequestAttentionOutputsOptions request;
  request.layers.assign(outputs.layers.begin(), outputs.layers.end());
  request.heads.assign(outputs.heads.begin(), outputs.heads.end());
  request.weights = !logSumExp;
  request.logSumExp = logSumExp;
  PassManager passes(&first().context, ModuleOp::getOperationName());
  passes.addPass(createAttnRequestAttentionOutputs(request));
  TimingScope timed = first().timeOf("options");
  first().observe(passes, timed);
  std::string why;
  ScopedDiagnosticHandler handler(&first().context, [&](Diagnostic &diagnostic) {
    const bool isReason = diagnostic.getSeverity() == DiagnosticSeverity::Error && why.empty();
    if (isReason)
      why = diagnostic.str();
    return success(isReason);
  });
  return succeeded(passes.run(*input.module)) ||
         fail(WrongInput, (logSumExp ? "--attention-log-sum-exp: " : "--attention-weights: ") + why);
}

/// The type of activations at the stage imported, which the evaluator runs, too.
bool Compilation::selectActivations() {
  if (options.activations.empty())
    return true;
  AttnSelectActivationsOptions activations;
  activations.dtype = options.activations;
  PassManager passes(&first().context, ModuleOp::getOperationName());
  passes.addPass(createAttnSelectActivations(activations));
  TimingScope timed = first().timeOf("options");
  first().observe(passes, timed);
  return succeeded(passes.run(*input.module)) || failInternally("cannot set the type of activations");
}

/// The cache's type at the stage imported, which the evaluator runs, too. Text has its type unless one is asked for.
bool Compilation::storeCache() {
  ModuleOp read = *input.module;
  const bool isAsked = options.cacheDtype != "auto";
  if (!isAsked && input.kind == InputKind::MLIR)
    return true;
  if (stageOf(read) > Stage::Imported)
    return fail(WrongInput, shownPath(options.input) + ": is at the stage " + rapt::nameOf(stageOf(read)).str() +
                                ", where the cache has its storage already; --cache-dtype needs the stage imported");
  const bool hasCache = llvm::any_of(read.getOps<func::FuncOp>(), [](func::FuncOp function) {
    return llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<attn::KVCacheType>);
  });
  if (!hasCache)
    return isAsked
               ? fail(WrongInput, shownPath(options.input) + ": has no cache of keys and values, which --cache-dtype=" +
                                      options.cacheDtype + " is for")
               : true;
  AttnSelectStorageOptions storage;
  storage.cacheDtype = isAsked || options.dtype == "auto" ? options.cacheDtype : options.dtype;
  PassManager passes(&first().context, ModuleOp::getOperationName());
  passes.addPass(createAttnSelectStorage(storage));
  TimingScope timed = first().timeOf("options");
  first().observe(passes, timed);
  return succeeded(passes.run(read)) || failInternally("cannot set the type of the cache");
}

bool Compilation::writeStage() {
  Stage wanted = *stageNamed(driver::nameOf(emit));
  if (stageOf(module()) > wanted)
    return fail(WrongInput, shownPath(options.input) + ": is at the stage " + rapt::nameOf(stageOf(module())).str() +
                                ", after " + driver::nameOf(emit));
  if (!passed(first().lowerTo(wanted)))
    return false;
  if (options.dryRun)
    return true;
  Status written = writeText(paths.main, first().getText());
  return written ? saveWeights() : failOf(written);
}

/// Fills in what is known once layouts are materialized.
bool Compilation::describe() {
  Expected<std::vector<artifact::Parameter>> parameters = describeParameters(module(), *targetNamed(options.target));
  if (!parameters)
    return fail(input.kind == InputKind::MLIR ? WrongInput : Bug, parameters.error().message);
  manifest.parameters = std::move(*parameters);
  manifest.version = RAPT_VERSION;
  manifest.arch = variants.front().machine.arch();
  for (const CodeVariant &variant : variants)
    manifest.variants.push_back({variant.machine.name, variant.machine.features});
  if (const Target &target = *targetNamed(options.target); !target.device().empty()) {
    manifest.device = {target.device().str(), {}};
    for (const CodeVariant &variant : variants)
      manifest.device->images.push_back(imagesFor(variant.architecture, options));
  }
  describeModel(module(), *targetNamed(options.target), manifest);
  if (!manifest.model && variants.size() > 1)
    return fail(WrongUsage, shownPath(options.input) + ": a kernel without a model is for one " + giveOne());
  return true;
}

bool Compilation::showSteps() {
  std::string text = first().pipelineTo(Stage::LLVMDialect) + "\n";
  if (emit == Emit::Library || (emit >= Emit::Object && variants.size() > 1)) {
    Expected<std::string> linker = artifact::findLinker(artifact::directoryOf(tool));
    if (!linker)
      return fail(WrongInput, linker.error().message);
    std::vector<std::string> objects;
    for (const CodeVariant &variant : variants)
      objects.push_back("OBJECT." + variant.name);
    if (variants.size() > 1)
      text += llvm::join(artifact::joinCommand(*linker, objects, "OBJECT"), " ") + "\n";
    if (emit == Emit::Library)
      text +=
          llvm::join(artifact::linkCommand(*linker, "OBJECT", "EXPORTS", variants[0].machine.pageBytes(), paths.main),
                     " ") +
          "\n";
  }
  writeToStderr(text);
  return true;
}

/// The passes from the stage that was read to the one that the code is made of, or that is asked for.
bool Compilation::printPipeline() {
  const Stage last = emit < Emit::LLVMDialect ? *stageNamed(driver::nameOf(emit)) : Stage::LLVMDialect;
  Status written = writeText("", first().pipelineTo(last) + "\n");
  return written ? true : failOf(written);
}

bool Compilation::openWeights() {
  Expected<Weights> opened = Weights::open(input, manifest.parameters, options);
  if (!opened)
    return fail(WrongInput, opened.error().message);
  weights = std::move(*opened);
  return true;
}

/// Packs what was opened; it then waits as a temporary file, or in memory to become part of the code. Nothing is
/// packed where the output is discarded.
bool Compilation::packWeights() {
  if (paths.isDiscarded) {
    Status described = weights.describe(manifest, paths.base);
    return described ? true : failOf(described, Bug);
  }
  if (Status packed = weights.pack(input, manifest.parameters, options, paths.directory, paths.base, phases); !packed)
    return failOf(packed);
  if (weights.packed)
    writeToStderr(quantizationReport(manifest.parameters, weights.packed->errors, options.verbose));
  injectFault(options, "pack");
  if (options.embedWeights)
    if (Status embedded = weights.embed(options.weights); !embedded)
      return failOf(embedded);
  if (Status described = weights.describe(manifest, paths.base); !described)
    return failOf(described, Bug);
  if (!weights.packed)
    return true;
  files.addOutput(paths.directory + "/" + weights.packed->fileName, "the weight file");
  Status checked = files.check();
  return checked ? true : failOf(checked);
}

/// Runs body(i) for each i below `count` on several threads. Tells the failure of the lowest i; true without one.
bool Compilation::atTheSameTime(size_t count, llvm::function_ref<MaybeFailure(size_t)> body) {
  std::vector<MaybeFailure> failures(count);
  std::atomic<size_t> next = 0;
  auto work = [&](unsigned thread) {
    if (thread > 0)
      reportCrashesOfThread();
    for (size_t i = next++; i < count; i = next++)
      failures[i] = body(i);
  };
  artifact::runOnThreads(std::min<unsigned>(artifact::threadCount(options.jobs), unsigned(count)), work);
  first().enter();
  return llvm::all_of(failures, [&](const MaybeFailure &failure) { return passed(failure); });
}

/// Takes the ops of dispatches out of entries: code of one machine may need more dispatches than that of another.
static json::Array takeDispatches(json::Array &entries) {
  json::Array lists;
  for (json::Value &entry : entries) {
    json::Object members = *entry.asObject();
    const auto found = llvm::find_if(members, [](const auto &member) { return member.first == "dispatches"; });
    lists.push_back(found == members.end() ? json::Value() : found->second);
    if (found != members.end())
      members.erase(found);
    entry = json::Value(std::move(members));
  }
  return lists;
}

static void giveDispatches(json::Array &entries, const json::Array &lists) {
  for (auto [entry, list] : llvm::zip_equal(entries, lists))
    if (!list.isNull()) {
      json::Object members = *entry.asObject();
      members.emplace_back("dispatches", list);
      entry = json::Value(std::move(members));
    }
}

/// Every module to the stage llvm-dialect, and what the manifest says of all of them.
bool Compilation::lowerAll() {
  auto lower = [&](size_t i) -> MaybeFailure {
    Lowering &lowering = *lowerings[i];
    if (!lowering.module) {
      lowering.diagnostics.hold();
      lowering.diagnostics.setSource(input.source);
      auto module = parseSourceString<ModuleOp>(imported, ParserConfig(&lowering.context));
      if (!module)
        return internalFailure("the module of the stage imported cannot be read again");
      if (MaybeFailure failure = lowering.begin(std::move(module), input.kind, paths, lowering.variants.front()->name))
        return failure;
    }
    return lowering.lowerTo(Stage::LLVMDialect);
  };
  if (lowerings.size() > 1) {
    auto stagesFrom = [](Stage stage) { return size_t(Stage::LLVMDialect) - size_t(stage); };
    const size_t stages = stagesFrom(stageOf(module())) + (lowerings.size() - 1) * stagesFrom(stageRead);
    phases.enterParallel("lowering for several " + processors(), "stages", stages);
  }
  if (!atTheSameTime(lowerings.size(), lower))
    return false;
  phases.enter("describing entries");
  const artifact::Manifest common = manifest;
  if (Status described = describeEntries(module(), *targetNamed(options.target), manifest); !described)
    return failOf(described, Bug);
  if (lowerings.size() == 1)
    return true;
  const json::Array dispatches = takeDispatches(manifest.entries);
  std::vector<json::Array> ofVariants(variants.size(), dispatches);
  bool differ = false;
  for (const auto &lowering : llvm::drop_begin(lowerings)) {
    artifact::Manifest other = common;
    Expected<std::vector<artifact::Parameter>> parameters =
        describeParameters(*lowering->module, *targetNamed(options.target));
    if (!parameters)
      return failInternally(parameters.error().message);
    other.parameters = std::move(*parameters);
    describeModel(*lowering->module, *targetNamed(options.target), other);
    if (Status described = describeEntries(*lowering->module, *targetNamed(options.target), other); !described)
      return failOf(described, Bug);
    const json::Array own = takeDispatches(other.entries);
    if (artifact::writeManifest(other) != artifact::writeManifest(manifest))
      return failInternally("weights or entries for " + lowering->variants.front()->name + " are not those for " +
                            variants.front().name);
    differ |= json::write(json::Value(own)) != json::write(json::Value(dispatches));
    for (const CodeVariant *variant : lowering->variants)
      ofVariants[size_t(variant - variants.data())] = own;
  }
  if (differ)
    manifest.dispatches = std::move(ofVariants);
  else
    giveDispatches(manifest.entries, dispatches);
  return true;
}

bool Compilation::lowerAndWrite() {
  if (options.showCommands)
    return showSteps();
  if (!passed(first().lowerTo(Stage::LaidOut)) || !describe())
    return false;
  if (options.dryRun) {
    Expected<uint64_t> bytes = artifact::predictFileBytes(manifest.parameters, input.sections);
    if (!bytes)
      return fail(WrongInput, bytes.error().message);
    manifest.weightsBytes = artifact::weightsBytes(manifest.parameters);
    Status written = writeText("", prediction(manifest, *bytes, options.verbose));
    return written ? true : failOf(written);
  }
  if (!options.gpuCode.empty() && options.gpuCode != "ptx") // before the work that needs it
    if (Expected<std::string> assembler = targetNamed(options.target)->findAssembler(); !assembler)
      return fail(WrongInput, assembler.error().message);
  phases.enter("opening weights");
  if (emit >= Emit::Object && !openWeights())
    return false;
  if (manifest.model) {
    const TokenizerCheck tokenizer = checkTokenizer(input.sections, *manifest.model);
    for (const std::string &warning : tokenizer.warnings)
      printDiagnostic("warning", shownPath(options.input) + "/" + warning);
    if (tokenizer.chatProblem)
      printDiagnostic("warning", shownPath(options.input) + ": " + *tokenizer.chatProblem);
    hasReadableTokenizer = tokenizer.isReadable;
    texts = tokenizer.texts;
  }
  if (!lowerAll())
    return false;
  if (manifest.entries.empty())
    return fail(WrongInput, shownPath(options.input) + ": has no entry (a function with the attribute attn.entry)");
  return emit >= Emit::Object ? writeArtifact() : writeCode();
}

/// The code of one variant; that of the first has the table of all.
MaybeFailure Compilation::emitVariant(size_t variant, host::Output output, std::string &code) {
  const CodeVariant &chosen = variants[variant];
  Lowering &lowering =
      **llvm::find_if(lowerings, [&](const auto &other) { return llvm::is_contained(other->variants, &chosen); });
  lowering.enter();
  if (!manifest.model && emit != Emit::Library)
    return lowering.emit(chosen, {}, output, code); // nothing but code goes into other people's programs
  if (variant > 0)
    return lowering.emit(chosen, {nullptr, manifest.name + "." + chosen.name}, output, code);
  host::ArtifactTable table{manifest.name, artifact::writeManifest(manifest), artifact::abiMinorOf(manifest)};
  if (weights.inside && output == host::Output::Object) // text is for people: it leaves them out
    table.weights = weights.inside->getBuffer();
  table.isKernel = !manifest.model;
  for (const CodeVariant &other : llvm::drop_begin(variants))
    table.others.push_back(other.name);
  return lowering.emit(chosen, {&table}, output, code);
}

/// LLVM IR, assembly or PTX: the code of the artifact, with a manifest that fits any content.
bool Compilation::writeCode() {
  std::string code;
  if (Status described = manifest.model ? weights.describe(manifest, paths.base) : Status(); !described)
    return failOf(described, Bug);
  if (!passed(emit == Emit::PTX
                  ? first().emitDevice(code)
                  : emitVariant(0, emit == Emit::LLVMIR ? host::Output::LLVMIR : host::Output::Assembly, code)))
    return false;
  Status written = writeText(paths.main, code);
  return written ? saveWeights() : failOf(written);
}

/// The code of all variants in one object.
bool Compilation::emitObject(std::string &object) {
  std::vector<std::string> objects(variants.size());
  const bool isKept = options.saveTemps || !options.dumpDirectory.empty();
  auto emitOne = [&](size_t i) -> MaybeFailure {
    if (MaybeFailure failure = emitVariant(i, host::Output::Object, objects[i]))
      return failure;
    const std::string label = variants.size() > 1 ? variants[i].name + "." : "";
    for (auto [output, suffix] : {std::pair(host::Output::LLVMIR, "ll"), {host::Output::Assembly, "s"}}) {
      if (!isKept)
        break;
      std::string text;
      if (MaybeFailure failure = emitVariant(i, output, text))
        return failure;
      if (Status written = writeIntermediate(options, paths, label + suffix, text); !written)
        return Failure{WrongInput, written.error().message};
    }
    return std::nullopt;
  };
  if (variants.size() > 1)
    phases.enterParallel("code generation for several " + processors(), "steps",
                         variants.size() * 3 * (isKept ? 3 : 1));
  if (!atTheSameTime(variants.size(), emitOne))
    return false;
  if (objects.size() == 1) {
    object = std::move(objects.front());
    return true;
  }
  phases.enter("joining objects");
  Expected<std::string> joined = artifact::joinObjects(objects, artifact::directoryOf(tool));
  if (!joined)
    return fail(WrongInput, joined.error().message);
  object = std::move(*joined);
  return true;
}

/// What the user asked for of the object: itself, an archive, or a library, which the object cache may have.
bool Compilation::makeCode(const std::string &object, const std::vector<std::string> &exports, std::string &code) {
  if (Status clean = artifact::checkSymbols(object, exports); !clean)
    return failInternally(clean.error().message);
  if (emit != Emit::Library || paths.isDiscarded) {
    code = emit == Emit::Archive ? artifact::makeArchive(object, exports) : object;
    return true;
  }
  const artifact::LinkRequest request{object, paths.main, exports, artifact::directoryOf(tool),
                                      variants.front().machine.pageBytes()};
  auto link = [&](std::string &library) -> MaybeFailure {
    phases.enter("linking");
    Expected<std::string> linked = artifact::linkShared(request);
    if (!linked)
      return Failure{WrongInput, linked.error().message};
    library = std::move(*linked);
    return std::nullopt;
  };
  Expected<std::string> identity = cache.isOn() ? artifact::linkIdentity(request) : Error{""};
  return passed(identity ? first().findOrMake([&] { return host::keyOf({"library", *identity, object}); }, link,
                                              "object cache for the library", code)
                         : link(code));
}

bool Compilation::saveWeights() {
  if (options.saveWeights.empty())
    return true;
  if (!weights.reader && input.model) { // where nothing is packed
    weights.reader = input.model->openTensors();
    weights.names = input.model->tensorNames();
  }
  if (!weights.reader)
    return fail(WrongUsage, "--save-weights needs tensors; " + shownPath(options.input) + " has none");
  phases.enter("saving weights", "bytes", weights.tensorBytes());
  Status written = huggingface::writeSafeTensors(options.saveWeights, *weights.reader, weights.names, phases.counter());
  return written ? true : failOf(written);
}

bool Compilation::writeKernel() {
  if (Status named = checkKernelNames(manifest); !named)
    return fail(WrongInput, shownPath(options.input) + ": " + named.error().message);
  std::string object, code;
  if (!emitObject(object) || !makeCode(object, kernelExports(manifest), code))
    return false;
  if (paths.isDiscarded)
    return true;
  if (Status written = writeKernelFiles(manifest, paths, emit, code); !written)
    return failOf(written);
  phases.endProgress();
  writeToStderr(kernelReport(manifest, paths, emit, {phases.elapsed(), 0}, options));
  return true;
}

/// Removes the weight file that only the replaced library named.
void Compilation::removeOldWeights(const std::string &name) {
  const std::string path = paths.directory + "/" + name;
  if (files.isInput(path))
    return;
  const std::string user = findUserOf(paths.directory, name);
  if (user.empty())
    llvm::sys::fs::remove(path);
  else
    printDiagnostic("note", shownPath(path) + " stays: " + shownPath(user) + " may need it");
}

/// Weights, header and library, renamed in this order: the library's rename is the commit.
bool Compilation::writeArtifact() {
  if (!manifest.model)
    return writeKernel();
  if (!packWeights())
    return false;
  injectFault(options, "object");
  std::string object, code;
  if (!emitObject(object) || !makeCode(object, {manifest.name + "_module"}, code))
    return false;
  if (paths.isDiscarded)
    return saveWeights();
  auto made = stageCode(paths, emit, code);
  if (!made)
    return fail(WrongInput, made.error().message);
  auto header = artifact::StagedFile::createWith(paths.header(), artifact::writeHeader(manifest));
  if (!header)
    return fail(WrongInput, header.error().message);
  if (!saveWeights())
    return false;
  phases.enter("syncing and renaming");
  std::string old = weightsNamedBy(paths.main, paths.base);
  if (weights.packed)
    if (Status done = weights.packed->commit(); !done)
      return failOf(done);
  for (auto *file : {&*header, &*made})
    if (Status done = (*file)->commit(); !done)
      return failOf(done);
  if (!old.empty() && old != manifest.weightsFile)
    removeOldWeights(old);
  if (weights.existing && artifact::directoryOf(options.weights) != paths.directory)
    printDiagnostic("warning", shownPath(paths.main) + " looks for " + shownPath(manifest.weightsFile) +
                                   " beside itself; it lies in " + shownPath(artifact::directoryOf(options.weights)));
  auto has = [&](const char *name) {
    return llvm::any_of(input.sections, [&](const artifact::Section &section) { return section.name == name; });
  };
  texts.hasTokenizer = hasReadableTokenizer && hasTokenizer(has, manifest.model->sourceVocabulary != 0);
  phases.endProgress();
  const double packing = phases.secondsIn(packingPhase);
  const Costs costs{phases.elapsed() - packing, packing};
  writeToStderr(report(manifest, paths, emit, costs, options, texts));
  return true;
}

} // namespace

ExitStatus driver::compile(const Options &options, const std::string &tool, bool endsProcess) {
  discardOnInterrupt();
  reportCrashes();
  Phases phases(options.verbose, progressModeOf(options.progress));
  auto compilation = std::make_unique<Compilation>(options, tool, phases);
  const ExitStatus status = compilation->run();
  static Compilation *kept = nullptr; // memory that the end of the process frees at once
  if (endsProcess && status == Success && !options.needsDestructors())
    return kept = compilation.release(), status;
  phases.enter("freeing memory");
  compilation.reset();
  return status;
}

std::string driver::familyNames() {
  std::string text;
  for (std::string_view name : listFamilies())
    text += std::string(name) + "\n";
  return text;
}

Expected<std::string> driver::cpuNames(const Options &options) {
  RAPT_ASSIGN_OR_RETURN(std::string triple, host::findTriple(options.triple));
  std::string text = "native\n";
  for (const std::string &name : host::listCpus(triple))
    text += name + "\n";
  return text;
}
