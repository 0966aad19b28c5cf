//===- Options.cpp - Options of raptc -------------------------------------------===//
#include "lib/Driver/Options.h"
#include "lib/Formats/HuggingFace/AdapterTensors.h"
#include "lib/Support/CommandLine.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Support/NumberList.h"
#include "lib/Support/Spelling.h"
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace rapt::driver {

namespace {

using Choices = std::span<const std::string_view>;
constexpr std::string_view stages[] = {"imported", "canonical", "laid-out", "tiled", "backend", "llvm-dialect",
                                       "llvm-ir",  "asm",       "ptx",      "obj",   "a",       "so"};
constexpr Choices irStages = Choices(stages).first(6);
constexpr std::string_view weightTypes[] = {"auto", "f32", "bf16", "f16"};
constexpr std::string_view activationTypes[] = {"f32", "bf16", "f16"};
constexpr std::string_view cacheTypes[] = {"auto", "f32", "bf16", "f16", "int8"};
constexpr std::string_view quantizations[] = {"none", "w8a8", "w8", "w4"};
constexpr std::string_view gpuCodes[] = {"ptx", "cubin", "both"};
constexpr std::string_view f32Matmuls[] = {"fma", "tf32", "3xtf32"};
constexpr std::string_view groupSizes[] = {"32", "64", "128"};
constexpr std::string_view codegenLevels[] = {"shipped", "quick"};
constexpr std::string_view progressModes[] = {"auto", "always", "never"};

template <std::string Options::*field, const auto &choices>
std::string setChoice(Options &options, const std::string &text) {
  options.*field = text;
  return parseChoice(text, choices) ? "" : listChoices(choices);
}

/// A type of the cache, or one of its keys and one of its values.
std::string setCacheType(Options &options, const std::string &text) {
  options.cacheDtype = text;
  const size_t comma = text.find(',');
  const std::span<const std::string_view> stored = std::span(cacheTypes).subspan(1); // without auto
  if (comma == std::string::npos
          ? parseChoice(text, cacheTypes).has_value()
          : parseChoice(text.substr(0, comma), stored) && parseChoice(text.substr(comma + 1), stored))
    return {};
  return listChoices(cacheTypes) + ", or two types for keys and values, such as int8,bf16";
}

std::string setWeights(Options &options, const std::string &text) {
  options.weights = text;
  return text.empty() ? "a model directory or a weight file" : "";
}

std::string setDumpDirectory(Options &options, const std::string &text) {
  options.dumpDirectory = text;
  return text.empty() ? "a directory" : "";
}

std::string setQuantizeGroup(Options &options, const std::string &text) {
  options.quantizeGroup = parseWholeNumber(text, 32, 128).value_or(0);
  return parseChoice(text, groupSizes) ? "" : listChoices(groupSizes);
}

/// N:SEED; empty: all.
std::string setCacheCheck(Options &options, const std::string &text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const std::optional<int64_t> oneIn = parseWholeNumber(text.substr(0, colon), 1, int64_t(1) << 30),
                               seed = parseWholeNumber(text.substr(std::min(colon + 1, text.size())), 0, INT64_MAX);
  options.cacheCheck = {uint64_t(oneIn.value_or(1)), uint64_t(seed.value_or(0))};
  return text.empty() || (oneIn && seed) ? "" : "N:SEED: one in N of the objects, drawn by a seed, such as 20:1";
}

template <std::vector<std::string> Options::*field> std::string addText(Options &options, const std::string &text) {
  (options.*field).push_back(text);
  return {};
}

/// DIR, or DIR,WEIGHT; a directory's name may have commas. False where there is no directory, or the weight is none.
bool readAdapter(const std::string &text, std::string &directory, double &weight) {
  directory = text;
  weight = 1;
  if (const size_t comma = text.rfind(','); comma != text.npos) {
    const char *begin = text.data() + comma + 1, *last = text.data() + text.size();
    const auto [end, error] = std::from_chars(begin, last, weight);
    if (begin != last && error == std::errc() && end == last)
      directory = text.substr(0, comma);
    else
      weight = 1;
  }
  constexpr double most = 1e6;
  return !directory.empty() && std::abs(weight) <= most;
}

std::string addAdapter(Options &options, const std::string &text) {
  auto &[directory, weight] = options.adapters.emplace_back();
  return readAdapter(text, directory, weight)
             ? ""
             : "the directory of an adapter, and a number from -1e6 to 1e6 after a comma";
}

/// NAME=DIR, or NAME=DIR,WEIGHT.
std::string addNamedAdapter(Options &options, const std::string &text) {
  const size_t equals = std::min(text.find('='), text.size());
  Options::NamedAdapter adapter{text.substr(0, equals), "", 1};
  if (!huggingface::isAdapterName(adapter.name) ||
      !readAdapter(text.substr(std::min(equals + 1, text.size())), adapter.directory, adapter.weight))
    return "NAME=DIR or NAME=DIR,W: a name of at most " + std::to_string(huggingface::mostAdapterNameBytes) +
           " letters, digits, '.', '_' and '-', the directory of an adapter, and a number from -1e6 to 1e6";
  if (std::any_of(options.namedAdapters.begin(), options.namedAdapters.end(),
                  [&](const Options::NamedAdapter &other) { return other.name == adapter.name; }))
    return "a name that no other adapter has";
  if (options.namedAdapters.size() == huggingface::mostNamedAdapters)
    return "at most " + std::to_string(huggingface::mostNamedAdapters) + " adapters";
  options.namedAdapters.push_back(std::move(adapter));
  return {};
}

template <std::vector<std::string> Options::*field> std::string addLibrary(Options &options, const std::string &text) {
  (options.*field).push_back(text);
  return text.empty() ? "a shared library" : "";
}

template <const char *emit> std::string setEmit(Options &options, const std::string &) {
  options.emit = emit;
  return {};
}
constexpr char assembly[] = "asm", object[] = "obj";

/// LAYERS/HEADS; empty: all.
template <Options::AttentionOutputs Options::*field>
std::string setAttentionOutputs(Options &options, const std::string &value) {
  const size_t slash = std::min(value.find('/'), value.size());
  std::optional<std::vector<int64_t>> layers = parseNumberList(value.substr(0, slash)),
                                      heads = parseNumberList(slash < value.size() ? value.substr(slash + 1) : "");
  if (!layers || !heads)
    return "LAYERS/HEADS, such as 0,2-5/all";
  options.*field = {true, *layers, *heads};
  return {};
}

/// K=V; V is JSON, or a text.
std::string addConfigKey(Options &options, const std::string &value) {
  const size_t equals = value.find('=');
  if (equals == 0 || equals >= value.size() - 1)
    return "KEY=VALUE, such as sliding_window=4096";
  const std::string text = value.substr(equals + 1);
  Expected<json::Value> parsed = json::parse(text);
  options.configKeys.emplace_back(value.substr(0, equals), parsed ? *parsed : json::Value(text));
  return {};
}

/// A,B,...; false where one of them is empty.
bool setList(std::vector<std::string> &list, const std::string &value) {
  list.clear();
  for (size_t at = 0; at <= value.size();) {
    const size_t comma = std::min(value.find(',', at), value.size());
    list.push_back(value.substr(at, comma - at));
    if (list.back().empty())
      return false;
    at = comma + 1;
  }
  return true;
}

std::string setGpuArchitectures(Options &options, const std::string &value) {
  return setList(options.gpuArchitectures, value)
             ? ""
             : "an architecture of GPUs, such as sm_80, or A,B,... for several, none of them empty";
}

std::string setCpus(Options &options, const std::string &value) {
  options.listCpus = value == "help";
  return setList(options.cpus, options.listCpus ? "native" : value)
             ? ""
             : "a CPU, or A,B,... for several, none of them empty";
}

std::string setNothing(Options &, const std::string &) { return {}; }

/// Takes the levels of clang that optimize: there is one.
std::string setLevel(Options &, const std::string &value) {
  return parseWholeNumber(value, 1, 3) ? "" : "1, 2 or 3, which are one: code is always optimized";
}

std::string refuseTuning(Options &, const std::string &) { return "none: code is tuned for the CPU of --mcpu"; }

/// STAGE:PASSES.
std::string addRunPasses(Options &options, const std::string &value) {
  const size_t colon = std::min(value.find(':'), value.size());
  const std::string stage = value.substr(0, colon);
  if (!parseChoice(stage, irStages) || colon + 1 >= value.size())
    return "STAGE:PASS,..., where STAGE is " + listChoices(irStages);
  options.runPasses.push_back({stage, value.substr(colon + 1)});
  return {};
}

template <bool Options::IRPrinting::*field> std::string setPrinting(Options &options, const std::string &) {
  options.printing.*field = true;
  return {};
}

std::string addPrintedPasses(Options &options, const std::string &value) {
  for (size_t at = 0; at <= value.size();) {
    const size_t end = std::min(value.find(',', at), value.size());
    if (end == at)
      return "names of passes, such as attn-fuse-epilogues,attn-inline-calls";
    options.printing.after.push_back(value.substr(at, end - at));
    at = end + 1;
  }
  return {};
}

// The aliases are those of clang and its relatives.
constexpr ToolOption<Options> table[] = {
    {{"o", "output", "F", "OUT.so, OUT.a or OUT.o; text stages go to the standard output without it", false, true},
     setFile<&Options::output>},
    {{"emit", "", "STAGE",
      "stop at imported, canonical, laid-out, tiled, backend, llvm-dialect, llvm-ir, asm, ptx, obj, a or so (default)"},
     setChoice<&Options::emit, stages>},
    {{"S", "assemble", nullptr, "the same as --emit=asm"}, setEmit<assembly>},
    {{"c", "compile", nullptr, "the same as --emit=obj"}, setEmit<object>},
    {{"target", "", "T", "back end; the default is the first of"
#define RAPT_TARGET(name) " " #name
#include "lib/Target/Targets.def"
     },
     setChoice<&Options::target, kTargets>},
    {{"mtriple", "", "TRIPLE", "x86_64-linux-gnu or aarch64-linux-gnu; default: this machine's"},
     setText<&Options::triple>},
    {{"mcpu", "march", "A[,B,...]",
      "native, x86-64-v3 or another CPU; the best of several is chosen at load time; help lists them"},
     setCpus},
    {{"gpu-arch", "", "A[,B,...]",
      "with --target=cuda: sm_80 (default), sm_86, sm_89, sm_90 or sm_90a; the best of several is chosen at load time"},
     setGpuArchitectures},
    {{"gpu-code", "", "FORM",
      "with --target=cuda: ptx, which the driver compiles (default), cubin by the CUDA toolkit's ptxas, or both"},
     setChoice<&Options::gpuCode, gpuCodes>},
    {{"f32-matmul", "", "KIND",
      "with --target=cuda: how f32 is multiplied: fma (default), or on tensor cores as tf32 or 3xtf32, which is nearly "
      "as exact"},
     setChoice<&Options::f32Matmul, f32Matmuls>},
    {{"mtune", "", "A", "refused, as --mcpu says it", true}, refuseTuning},
    {{"O", "", "LEVEL", "as clang's: code is always optimized", true, true}, setLevel},
    {{"fPIC", "fpic", nullptr, "as clang's: code always is position-independent", true}, setNothing},
    {{"g", "", nullptr, "code of models has no source lines to debug; --save-temps keeps the text of every stage", true,
      false, true},
     nullptr},
    {{"mattr", "", "LIST", "+feature,-feature,..."}, setText<&Options::attributes>},
    {{"dtype", "", "TYPE", "storage of the weights: auto (the checkpoint's), f32, bf16, f16"},
     setChoice<&Options::dtype, weightTypes>},
    {{"activations", "", "TYPE", "element type of activations: f32 (default), bf16, f16"},
     setChoice<&Options::activations, activationTypes>},
    {{"cache-dtype", "", "TYPE",
      "storage of the KV cache: auto (bf16 or f16 where the weights are, else f32), f32, bf16, f16, int8; of keys and "
      "values: TYPE,TYPE"},
     setCacheType},
    {{"quantize", "", "MODE",
      "quantized weights: w8a8 (a scale for each column), w8 or w4 (a scale for each group), none"},
     setChoice<&Options::quantize, quantizations>},
    {{"quantize-group", "", "N", "rows of a group of w8 and w4: 32 (default), 64 or 128"}, setQuantizeGroup},
    {{"quantize-zero-point", "", nullptr, "with --quantize=w4, each group has a zero point"},
     setFlag<&Options::quantizeZeroPoint>},
    {{"max-seq-len", "", "N", "positions of one sequence; default: as many as the model has"},
     setNumber<&Options::maxSequenceLength, 1, int64_t(1) << 30>},
    {{"max-batch", "", "N", "sequences of one step; default 64"}, setNumber<&Options::maxBatch, 1, 65536>},
    {{"attention-weights", "", "[=LAYERS/HEADS]", "attention probabilities become outputs; all, or 0,2-5/3"},
     setAttentionOutputs<&Options::attentionWeights>},
    {{"attention-log-sum-exp", "", "[=LAYERS/HEADS]", "attention's log-sum-exp becomes an output; all, or 0,2-5/3"},
     setAttentionOutputs<&Options::attentionLogSumExp>},
    {{"weights", "", "F", "model directory, GGUF file or weight file of a .mlir input"}, setWeights},
    {{"random-weights", "", "SEED", "weights from a seed instead of the directory's"}, setSeed<&Options::randomSeed>},
    {{"save-weights", "", "F", "write the random weights as safetensors"}, setFile<&Options::saveWeights>},
    {{"no-weights", "", nullptr, "do not pack weights"}, setFlag<&Options::noWeights>},
    {{"embed-weights", "", nullptr, "put the weights into the library, at most 1 GiB"},
     setFlag<&Options::embedWeights>},
    {{"check-tensors", "", nullptr, "refuse weights that hold NaN or infinity"}, setFlag<&Options::checkTensors>},
    {{"strict", "", nullptr, "tensors that the model does not use are an error"}, setFlag<&Options::strict>},
    {{"adapter", "", "DIR[,W]", "merge a LoRA adapter into the weights, scaled by W (1); may be repeated"}, addAdapter},
    {{"named-adapter", "", "NAME=DIR[,W]",
      "keep a LoRA adapter beside the weights, for sequences that choose it by name; may be repeated"},
     addNamedAdapter},
    {{"ignore-config-key", "", "K", "ignore an unknown config key"}, addText<&Options::ignoreKeys>},
    {{"config-key", "", "K=V", "take V for key K of config.json, whatever the model says; may be repeated"},
     addConfigKey},
    {{"tokenizer", "", "DIR", "take the tokenizer of that directory, in place of the model's"},
     setText<&Options::tokenizer>},
    {{"mmproj", "", "FILE", "the GGUF file of the images that the model of a GGUF file reads (LLaVA 1.5)"},
     setText<&Options::mmproj>},
    {{"prefix", "", "NAME", "prefix of the exported symbol"}, setText<&Options::prefix>},
    {{"load-dialect-plugin", "", "F", "a shared library with dialects that .mlir text may use; may be repeated"},
     addLibrary<&Options::dialectPlugins>},
    {{"load-pass-plugin", "", "F", "a shared library with passes for --run-passes; may be repeated"},
     addLibrary<&Options::passPlugins>},
    {{"run-passes", "", "STAGE:PASS,...", "run these passes at the stage imported, canonical, ...; may be repeated"},
     addRunPasses},
    {{"remarks", "", "CATEGORY",
      "CATEGORY or CATEGORY:REGEX: fusion: what rules did and why not; mask: the blocks that attention visits"},
     setText<&Options::remarks>},
    {{"print-pipeline", "", nullptr, "print the passes to the stage of --emit as rapt-opt takes them, compile nothing"},
     setFlag<&Options::printPipeline>},
    {{"mlir-print-ir-before-all", "", nullptr, "print the IR before each pass"},
     setPrinting<&Options::IRPrinting::beforeAll>},
    {{"mlir-print-ir-after-all", "", nullptr, "print the IR after each pass"},
     setPrinting<&Options::IRPrinting::afterAll>},
    {{"mlir-print-ir-after", "", "PASS,...", "print the IR after these passes; may be repeated"}, addPrintedPasses},
    {{"mlir-print-ir-after-change", "", nullptr, "with the previous two, only if the pass changed it"},
     setPrinting<&Options::IRPrinting::onlyChanges>},
    {{"mlir-timing", "", nullptr, "print the time of each pass"}, setFlag<&Options::timing>},
    {{"dump-dir", "", "DIR", "write the IR after every stage there"}, setDumpDirectory},
    {{"check-object-cache", "", "[=N:SEED]",
      "generate hits of the object cache again, all or one in N, and compare the bytes"},
     setCacheCheck},
    {{"codegen", "", "LEVEL",
      "for tests: shipped (default), or quick: slower code that computes the same and compiles faster", true},
     setChoice<&Options::codegen, codegenLevels>},
    {{"save-temps", "", nullptr, "keep the text of every stage", true}, setFlag<&Options::saveTemps>},
    {{"emulate", "", "UNIT", "matmuls as for a machine with these matrix instructions, which vector code emulates",
      true},
     setText<&Options::emulate>},
    {{"inject-fault", "", "KIND@PLACE",
      "for tests: fail or verify (a pass), abort, segv, overflow or wait, at a stage, read, pack or object", true},
     setText<&Options::fault>},
    {{"dry-run", "", nullptr, "predict memory and sizes, write nothing"}, setFlag<&Options::dryRun>},
    {{"j", "", "N", "threads for packing; default: all processors", false, true}, setNumber<&Options::jobs, 1, 256>},
    {{"progress", "", "WHEN",
      "show the progress: auto (on a terminal, after a second), always (at once, wherever stderr goes), never"},
     setChoice<&Options::progress, progressModes>},
    {{"verbose", "v", nullptr, "print the time of every phase, and details"}, setFlag<&Options::verbose>},
    {{"###", "", nullptr, "print what would be run, run nothing", true}, setFlag<&Options::showCommands>},
    {{"batch", "", nullptr, "run the command lines of the standard input; a line of JSON answers each"},
     setFlag<&Options::batch>},
    {{"batch-in-process", "", nullptr, "for tests: the same without a child for each, so that a crash ends the batch",
      true},
     setFlag<&Options::batchInProcess>},
    {{"list-families", "", nullptr, "print the model families that can be compiled"}, setFlag<&Options::listFamilies>},
    {{"version", "", nullptr, "print the version"}, setFlag<&Options::version>},
    {{"help", "h", nullptr, "print this"}, setFlag<&Options::help>},
    {{"help-hidden", "", nullptr, "print every option", true}, setFlag<&Options::helpHidden>}};

Error usage(const std::string &message) { return Error{message + " (--help lists the options)"}; }

/// Refuses a processor that is named twice.
Status checkList(const char *option, const std::vector<std::string> &names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (std::find(names.begin(), names.begin() + i, names[i]) != names.begin() + i) {
      std::string list;
      for (const std::string &name : names)
        list += (list.empty() ? "" : ",") + name;
      return usage(std::string(option) + "=" + json::printable(list) + " names " + json::printable(names[i]) +
                   " twice");
    }
  return {};
}

/// Refuses several processors where the code is for one.
Status checkProcessors(const Options &o) {
  for (auto [option, names] : {std::pair("--mcpu", &o.cpus), {"--gpu-arch", &o.gpuArchitectures}})
    RAPT_RETURN_IF_ERROR(checkList(option, *names));
  const bool binary = o.emit == "so" || o.emit == "a" || o.emit == "obj";
  if (o.cpus.size() > 1 && !binary)
    return usage("--emit=" + o.emit + " shows the code for one CPU; give one --mcpu, not " +
                 std::to_string(o.cpus.size()));
  if (o.gpuArchitectures.size() > 1 && !binary)
    return usage("--emit=" + o.emit + " shows the code for one GPU; give one --gpu-arch, not " +
                 std::to_string(o.gpuArchitectures.size()));
  const size_t processors = std::max(o.cpus.size(), o.gpuArchitectures.size());
  if (processors > 1 && (o.printing.prints() || o.printPipeline || o.timing))
    return usage(std::string(o.printPipeline ? "--print-pipeline"
                             : o.timing      ? "--mlir-timing"
                                             : "--mlir-print-ir") +
                 " shows the passes for one processor, not for " + std::to_string(processors));
  if (o.printing.onlyChanges && !o.printing.afterAll && o.printing.after.empty())
    return usage("--mlir-print-ir-after-change belongs to --mlir-print-ir-after-all or --mlir-print-ir-after");
  if (o.emit == "ptx" && !o.gpuCode.empty() && o.gpuCode != "ptx")
    return usage("--emit=ptx shows PTX; --gpu-code=" + o.gpuCode + " is for libraries and objects");
  if (o.gpuArchitectures.size() > 1 && o.cpus.size() > 1)
    return usage("code for " + std::to_string(o.gpuArchitectures.size()) +
                 " GPUs is for one CPU; give one --mcpu, not " + std::to_string(o.cpus.size()));
  return {};
}

std::string emitOfSuffix(const std::string &output) {
  for (const auto &[suffix, emit] : {std::pair<std::string, std::string>{".so", "so"}, {".a", "a"}, {".o", "obj"}})
    if (output.size() > suffix.size() && output.ends_with(suffix))
      return emit;
  return {};
}

bool isFault(const std::string &text) {
  const size_t at = std::min(text.find('@'), text.size());
  const std::string kind = text.substr(0, at), place = at < text.size() ? text.substr(at + 1) : "";
  auto isOneOf = [](const std::string &name, std::initializer_list<const char *> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool stage = isOneOf(place, {"canonical", "laid-out", "tiled", "backend", "llvm-dialect"});
  return (isOneOf(kind, {"fail", "verify"}) && stage) || (isOneOf(kind, {"abort", "segv", "overflow", "wait"}) &&
                                                          (stage || isOneOf(place, {"read", "pack", "object"})));
}

/// Refuses passes at a stage that the compilation does not reach.
Status checkRunPasses(const Options &options) {
  const auto last = std::find(irStages.begin(), irStages.end(), options.emit);
  for (const auto &[stage, pipeline] : options.runPasses)
    if (last < std::find(irStages.begin(), irStages.end(), stage))
      return usage("--run-passes=" + json::printable(stage + ":" + pipeline) +
                   " is never reached: --emit=" + options.emit + " ends before the stage " + stage);
  return {};
}

/// Refuses options that exclude each other, and chooses what they leave open.
Status check(Options &o) {
  if (o.batch || o.batchInProcess || o.version || o.listFamilies || o.help || o.helpHidden || o.listCpus)
    return {};
  const std::string bySuffix = emitOfSuffix(o.output);
  const bool binary = o.emit == "so" || o.emit == "a" || o.emit == "obj";
  if (!o.emit.empty() && !bySuffix.empty() && bySuffix != o.emit)
    return usage("-o " + json::printable(o.output) + " asks for another kind of file than --emit=" + o.emit);
  if ((o.emit.empty() || binary) && !o.output.empty() && bySuffix.empty() && !isNullDevice(o.output))
    return usage("-o " + json::printable(o.output) + " ends in none of .so, .a and .o");
  if (o.emit.empty())
    o.emit = bySuffix.empty() ? "so" : bySuffix;
  RAPT_RETURN_IF_ERROR(checkProcessors(o));
  if (o.quantizeGroup && o.quantize != "w8" && o.quantize != "w4")
    return usage("--quantize-group is for --quantize=w8 and w4; --quantize=" + o.quantize + " has no groups");
  if (o.quantizeZeroPoint && o.quantize != "w4")
    return usage("--quantize-zero-point is for --quantize=w4; 8 bits are symmetric");
  if (!o.fault.empty() && !isFault(o.fault))
    return Error{invalidValue(o.fault, "--inject-fault", "KIND@PLACE")};
  const std::string category = o.remarks.substr(0, o.remarks.find(':'));
  if (!category.empty() && category != "fusion" && category != "mask")
    return Error{invalidValue(o.remarks, "--remarks", "fusion or mask, optionally followed by :REGEX")};
  if (o.embedWeights && o.noWeights)
    return usage("--no-weights and --embed-weights exclude each other");
  if (o.embedWeights && o.emit != "so" && o.emit != "a" && o.emit != "obj")
    return usage("--embed-weights is for .so, .a and .o; --emit=" + o.emit + " has no weights");
  if (o.noWeights && o.randomSeed)
    return usage("--no-weights and --random-weights exclude each other");
  if (!o.saveWeights.empty() && !o.randomSeed)
    return usage("--save-weights needs --random-weights=SEED");
  RAPT_RETURN_IF_ERROR(checkRunPasses(o));
  if (o.input.empty())
    return usage("no model given: a directory with config.json, a config.json, or a .mlir file");
  return {};
}

/// Options that hundreds of commands of a build or a test have in common.
Status readEnvironment(Options &options) {
  auto valueOf = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  options.objectCache = valueOf("RAPT_OBJECT_CACHE");
  for (auto [name, set] : {std::pair("RAPT_CHECK_OBJECT_CACHE", &setCacheCheck),
                           {"RAPT_CODEGEN", &setChoice<&Options::codegen, codegenLevels>}})
    if (const std::string text = valueOf(name); !text.empty())
      if (const std::string expected = set(options, text); !expected.empty())
        return Error{invalidValue(text, name, expected)};
  return {};
}

} // namespace

Expected<Options> parseOptions(const std::vector<std::string> &arguments) {
  std::vector<const char *> argv = {"raptc"};
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  const std::vector<OptionName> names = optionNames(table);
  Expected<std::vector<Argument>> read = readArguments(int(argv.size()), argv.data(), names);
  if (!read)
    return usage(read.error().message);
  Options options;
  RAPT_RETURN_IF_ERROR(readEnvironment(options));
  for (const auto &[name, text, hasValue] : *read) {
    if (!name && !options.input.empty())
      return usage("two inputs: '" + json::printable(options.input) + "' and '" + json::printable(text) + "'");
    if (name && name->name == "check-object-cache" && options.objectCache.empty())
      return usage(
          "--check-object-cache: there is no object cache; RAPT_OBJECT_CACHE=DIR in the environment names its folder");
    if (!name)
      options.input = text;
    else if (std::string expected = table[name - names.data()].set(options, text); !expected.empty())
      return Error{invalidValue(text, name->shown(), expected)};
  }
  if ((options.batch || options.batchInProcess) && arguments.size() > 1)
    return usage(std::string(options.batch ? "--batch" : "--batch-in-process") +
                 " takes no other arguments: each line of the standard input has its own");
  RAPT_RETURN_IF_ERROR(check(options));
  return options;
}

std::string helpText(bool hidden) {
  return "raptc MODEL [-o OUT.so] [options]: compiles an attention model to a native library.\n"
         "MODEL is a Hugging Face directory, a lone config.json, a GGUF file, or .mlir text (-: standard input).\n\n" +
         listOptions(optionNames(table), 34, hidden);
}

} // namespace rapt::driver
