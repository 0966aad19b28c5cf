//===- Options.cpp - Options of raptc -------------------------------------------===//
#include "lib/Driver/Options.h"
#include "lib/Support/Json.h"
#include "lib/Support/NumberList.h"
#include "lib/Support/Spelling.h"
#include <algorithm>
#include <charconv>
#include <optional>

namespace rapt::driver {

namespace {

struct Flag {
  const char *name;
  bool Options::*field;
  const char *help;
  bool hidden;
};
constexpr Flag flags[] = {
    {"--quantize-zero-point", &Options::quantizeZeroPoint, "with --quantize=w4, groups have a zero of their own",
     false},
    {"--no-weights", &Options::noWeights, "do not pack weights", false},
    {"--embed-weights", &Options::embedWeights, "put the weights into the library, at most 1 GiB", false},
    {"--dry-run", &Options::dryRun, "predict memory and sizes, write nothing", false},
    {"--check-tensors", &Options::checkTensors, "refuse weights that hold NaN or infinity", false},
    {"--strict", &Options::strict, "tensors that the model does not use are an error", false},
    {"--version", &Options::version, "print the version", false},
    {"--list-families", &Options::listFamilies, "print the model families that can be compiled", false},
    {"--help", &Options::help, "print this, as -h does", false},
    {"-v", &Options::verbose, "print the time of every phase, and details", false},
    {"-###", &Options::showCommands, "print what would be run, run nothing", true},
    {"-save-temps", &Options::saveTemps, "keep the text of every stage", true},
    {"--help-hidden", &Options::helpHidden, "print every option", true},
};

using Choices = std::span<const std::string_view>;
constexpr std::string_view stages[] = {"imported", "canonical", "laid-out", "tiled", "backend", "llvm-dialect",
                                       "llvm-ir",  "asm",       "obj",      "a",     "so"};
constexpr std::span<const std::string_view> irStages = std::span(stages).first(6);
constexpr std::string_view targets[] = {
#define RAPT_TARGET(name) #name,
#include "lib/Target/Targets.def"
};
constexpr std::string_view weightTypes[] = {"auto", "f32", "bf16", "f16"};
constexpr std::string_view cacheTypes[] = {"auto", "f32", "bf16", "f16", "int8"};
constexpr std::string_view quantizations[] = {"none", "w8a8", "w8", "w4"};
constexpr std::string_view groupSizes[] = {"32", "64", "128"};
constexpr std::string_view progressModes[] = {"auto", "always", "never"};
constexpr std::string_view matrixUnits[] = {"amx", "bf16"};

struct Text {
  const char *name;
  std::string Options::*field;
  const char *help;
  Choices choices = {};      ///< empty: any text
  const char *expected = ""; ///< what an empty text should have been; without choices, nothing: it may be empty
  bool hidden = false;
};
constexpr Text texts[] = {
    {"-o", &Options::output, "OUT.so, OUT.a or OUT.o; text stages go to the standard output without it", {}, "a file"},
    {"--emit", &Options::emit,
     "stop at imported, canonical, laid-out, tiled, backend, llvm-dialect, llvm-ir, asm, obj, a or so (default)",
     stages},
    {"--target", &Options::target, "cpu", targets},
    {"--mtriple", &Options::triple, "x86_64-linux-gnu or aarch64-linux-gnu; default: this machine's"},
    {"--mattr", &Options::attributes, "+feature,-feature,..."},
    {"--dtype", &Options::dtype, "storage of the weights: auto (the checkpoint's), f32, bf16, f16", weightTypes},
    {"--cache-dtype", &Options::cacheDtype,
     "storage of the KV cache: auto (bf16 or f16 where the weights are, else f32), f32, bf16, f16, int8", cacheTypes},
    {"--quantize", &Options::quantize,
     "weights as integers: w8a8 (a scale for each column), w8 or w4 (a scale for each group), none", quantizations},
    {"--weights",
     &Options::weights,
     "model directory or weight file of a .mlir input",
     {},
     "a model directory or a weight file"},
    {"--save-weights", &Options::saveWeights, "write the random weights as safetensors", {}, "a file"},
    {"--prefix", &Options::prefix, "prefix of the exported symbol"},
    {"--dump-dir", &Options::dumpDirectory, "write the IR after every stage there", {}, "a directory"},
    {"--emulate", &Options::emulate,
     "products as for a CPU with amx, or with dot products of bf16, whose instructions vector code takes the place of",
     matrixUnits, "", true},
    {"--progress", &Options::progress,
     "a line on how far it is: auto (on a terminal, after a second), always (at once, wherever stderr goes), never",
     progressModes},
    {"--remarks", &Options::remarks, "CATEGORY or CATEGORY:REGEX: say what a kind of rules did and why not, as fusion"},
    {"--inject-fault",
     &Options::fault,
     "KIND@PLACE, for tests: fail or verify (a pass), abort, segv, overflow or wait, at a stage, read, pack or object",
     {},
     "",
     true},
};

/// Options that need more than storing their value.
constexpr std::string_view others[] = {
    "--max-seq-len",         "--max-batch",         "--random-weights", "-j",
    "--quantize-group",      "--ignore-config-key", "--mcpu",           "--load-pass-plugin",
    "--load-dialect-plugin", "--run-passes"};
/// Other names, as clang and its relatives have them.
constexpr std::pair<std::string_view, std::string_view> aliases[] = {{"-h", "--help"},     {"-march", "--mcpu"},
                                                                     {"--output", "-o"},   {"--verbose", "-v"},
                                                                     {"--assemble", "-S"}, {"--compile", "-c"}};

Error usage(const std::string &message) { return Error{message + " (--help lists the options)"}; }

Error wrongValue(std::string_view value, std::string_view option, std::string_view expected) {
  return Error{invalidValue(value, option, expected)};
}

Expected<uint64_t> number(const std::string &name, const std::string &text, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    return wrongValue(text, name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

/// LAYERS/HEADS of --attention-weights.
Status applyAttentionWeights(Options &options, const std::string &value) {
  const size_t slash = std::min(value.find('/'), value.size());
  std::optional<std::vector<int64_t>> layers = parseNumberList(value.substr(0, slash)),
                                      heads = parseNumberList(slash < value.size() ? value.substr(slash + 1) : "");
  if (!layers || !heads)
    return wrongValue(value, "--attention-weights", "LAYERS/HEADS, such as 0,2-5/all");
  options.attentionWeights = true;
  options.attentionLayers = *layers;
  options.attentionHeads = *heads;
  return {};
}

/// A,B,... of --mcpu.
Status applyCpus(Options &options, const std::string &name, const std::string &value) {
  options.cpus.clear();
  options.listCpus = value == "help";
  for (size_t at = 0; at <= value.size() && !options.listCpus;) {
    const size_t comma = std::min(value.find(',', at), value.size());
    const std::string cpu = value.substr(at, comma - at);
    if (cpu.empty())
      return wrongValue(value, name, "a CPU, or A,B,... for several, none of them empty");
    if (std::find(options.cpus.begin(), options.cpus.end(), cpu) != options.cpus.end())
      return usage(name + "=" + json::printable(value) + " names " + json::printable(cpu) + " twice");
    options.cpus.push_back(cpu);
    at = comma + 1;
  }
  return {};
}

/// STAGE:PASSES of --run-passes.
Status applyRunPasses(Options &options, const std::string &value) {
  const size_t colon = std::min(value.find(':'), value.size());
  const std::string stage = value.substr(0, colon);
  if (std::find(irStages.begin(), irStages.end(), stage) == irStages.end() || colon + 1 >= value.size())
    return wrongValue(value, "--run-passes", "STAGE:PASS,..., where STAGE is " + listChoices(irStages));
  options.runPasses.push_back({stage, value.substr(colon + 1)});
  return {};
}

/// A value of an option that may be given several times.
Status addFile(std::vector<std::string> &files, const std::string &name, const std::string &value) {
  if (value.empty())
    return wrongValue(value, name, "a shared library");
  files.push_back(value);
  return {};
}

bool takesValue(std::string_view name) {
  return std::any_of(std::begin(texts), std::end(texts), [&](const Text &t) { return name == t.name; }) ||
         std::find(std::begin(others), std::end(others), name) != std::end(others);
}

/// Every option that --help lists, with its dashes.
std::vector<std::string_view> optionNames() {
  std::vector<std::string_view> names = {"-S", "-c", "-march", "--attention-weights"};
  names.insert(names.end(), std::begin(others), std::end(others));
  for (const Text &text : texts)
    if (!text.hidden)
      names.push_back(text.name);
  for (const Flag &flag : flags)
    if (!flag.hidden)
      names.push_back(flag.name);
  return names;
}

Error unknownOption(const std::string &name) {
  const std::vector<std::string_view> names = optionNames();
  return usage(rapt::unknownOption(name, findNearest(name, names)));
}

/// The name under which the tables have an option: other compilers' names, and one dash for two or two for one.
std::string canonicalName(const std::string &name) {
  auto isKnown = [](std::string_view known) {
    return takesValue(known) || known == "--attention-weights" ||
           std::any_of(std::begin(flags), std::end(flags), [&](const Flag &flag) { return known == flag.name; });
  };
  if (isKnown(name) || name.size() < 2)
    return name;
  const bool isLong = name[1] == '-';
  std::string other = isLong ? name.substr(1) : "-" + name;
  for (const auto &[alias, known] : aliases)
    if (alias == name || (alias == other && name.size() > 3))
      return std::string(known);
  return name.size() > 3 && isKnown(other) ? other : name;
}

/// Options with values that need more than storing.
Status apply(Options &options, const std::string &name, const std::string &value) {
  auto store = [&](auto &field, uint64_t least, uint64_t most) -> Status {
    Expected<uint64_t> parsed = number(name, value, least, most);
    if (!parsed)
      return parsed.error();
    field = *parsed;
    return {};
  };
  for (const Text &text : texts)
    if (name == text.name) {
      if (value.empty() && text.expected[0])
        return wrongValue(value, name, text.expected);
      if (!text.choices.empty() && std::find(text.choices.begin(), text.choices.end(), value) == text.choices.end())
        return wrongValue(value, name, listChoices(text.choices));
      options.*text.field = value;
      return {};
    }
  if (name == "--mcpu")
    return applyCpus(options, name, value);
  if (name == "--max-seq-len")
    return store(options.maxSequenceLength, 1, uint64_t(1) << 30);
  if (name == "--attention-weights")
    return applyAttentionWeights(options, value);
  if (name == "--max-batch")
    return store(options.maxBatch, 1, 65536);
  if (name == "--random-weights")
    return store(options.randomSeed, 0, UINT64_MAX);
  if (name == "-j")
    return store(options.jobs, 1, 256);
  if (name == "--ignore-config-key") {
    options.ignoreKeys.push_back(value);
    return {};
  }
  if (name == "--load-pass-plugin")
    return addFile(options.passPlugins, name, value);
  if (name == "--load-dialect-plugin")
    return addFile(options.dialectPlugins, name, value);
  if (name == "--run-passes")
    return applyRunPasses(options, value);
  if (name == "--quantize-group") {
    if (std::find(std::begin(groupSizes), std::end(groupSizes), value) == std::end(groupSizes))
      return wrongValue(value, name, listChoices(groupSizes));
    return store(options.quantizeGroup, 32, 128);
  }
  return unknownOption(name);
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
  if (o.version || o.listFamilies || o.help || o.helpHidden || o.listCpus)
    return {};
  const std::string bySuffix = emitOfSuffix(o.output);
  const bool binary = o.emit == "so" || o.emit == "a" || o.emit == "obj";
  if (!o.emit.empty() && !bySuffix.empty() && bySuffix != o.emit)
    return usage("-o " + json::printable(o.output) + " asks for another kind of file than --emit=" + o.emit);
  if ((o.emit.empty() || binary) && !o.output.empty() && bySuffix.empty())
    return usage("-o " + json::printable(o.output) + " ends in none of .so, .a and .o");
  if (o.emit.empty())
    o.emit = bySuffix.empty() ? "so" : bySuffix;
  if (o.cpus.size() > 1 && o.emit != "so" && o.emit != "a" && o.emit != "obj")
    return usage("--emit=" + o.emit + " shows the code for one CPU; give one --mcpu, not " +
                 std::to_string(o.cpus.size()));
  if (o.quantizeGroup && o.quantize != "w8" && o.quantize != "w4")
    return usage("--quantize-group is for --quantize=w8 and w4; --quantize=" + o.quantize + " has no groups");
  if (o.quantizeZeroPoint && o.quantize != "w4")
    return usage("--quantize-zero-point is for --quantize=w4; 8 bits are symmetric");
  if (!o.fault.empty() && !isFault(o.fault))
    return wrongValue(o.fault, "--inject-fault", "KIND@PLACE");
  if (!o.remarks.empty() && o.remarks.substr(0, o.remarks.find(':')) != "fusion")
    return wrongValue(o.remarks, "--remarks", "fusion or fusion:REGEX");
  if (o.embedWeights && o.noWeights)
    return usage("--no-weights and --embed-weights exclude each other");
  if (o.embedWeights && o.emit != "so" && o.emit != "a" && o.emit != "obj")
    return usage("--embed-weights is for .so, .a and .o; --emit=" + o.emit + " has no weights");
  if (o.noWeights && o.randomSeed)
    return usage("--no-weights and --random-weights exclude each other");
  if (!o.saveWeights.empty() && !o.randomSeed)
    return usage("--save-weights needs --random-weights=SEED");
  if (Status reached = checkRunPasses(o); !reached)
    return reached;
  if (o.input.empty())
    return usage("no model given: a directory with config.json, a config.json, or a .mlir file");
  return {};
}

} // namespace

Expected<Options> parseOptions(const std::vector<std::string> &arguments) {
  Options options;
  bool onlyInputs = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    std::string name = arguments[i];
    if (onlyInputs || name.empty() || name[0] != '-') {
      if (!options.input.empty())
        return usage("two inputs: '" + json::printable(options.input) + "' and '" + json::printable(name) + "'");
      options.input = name;
      continue;
    }
    if (name == "--") {
      onlyInputs = true;
      continue;
    }
    std::optional<std::string> value;
    if (const size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    name = canonicalName(name);
    if (name == "-S" || name == "-c") {
      options.emit = name == "-S" ? "asm" : "obj";
      continue;
    }
    const Flag *flag = std::find_if(std::begin(flags), std::end(flags), [&](const Flag &f) { return name == f.name; });
    if (flag != std::end(flags) && value)
      return usage(name + " takes no value");
    if (flag != std::end(flags)) {
      options.*flag->field = true;
      continue;
    }
    if (!value && !takesValue(name) && name.size() > 2 && (name.starts_with("-o") || name.starts_with("-j"))) {
      value = name.substr(2);
      name.resize(2);
    } else if (!value && name == "--attention-weights") {
      value = "all";
    } else if (!value && takesValue(name) && i + 1 < arguments.size()) {
      value = arguments[++i];
    } else if (!value && takesValue(name)) {
      return usage(name + " needs a value");
    } else if (!value) {
      return unknownOption(name);
    }
    if (Status status = apply(options, name, *value); !status)
      return status.error();
  }
  if (Status status = check(options); !status)
    return status.error();
  return options;
}

std::string helpText(bool hidden) {
  std::string text = "raptc MODEL [-o OUT.so] [options]: compiles an attention model to a native library.\n"
                     "MODEL is a Hugging Face directory, a lone config.json, or .mlir text.\n\n";
  auto line = [&](std::string name, const char *help) {
    text += "  " + name + std::string(name.size() < 26 ? 26 - name.size() : 1, ' ') + help + "\n";
  };
  for (const Text &option : texts)
    if (hidden || !option.hidden)
      line(std::string(option.name) + (option.name[1] == 'o' ? " F" : "=VALUE"), option.help);
  line("--mcpu=A[,B,...]", "native, x86-64-v3 or another CPU; of several the best is taken at load; help lists them");
  line("-march=A[,B,...]", "the same as --mcpu");
  line("--max-seq-len=N", "positions of one sequence; default: as many as the model has");
  line("--max-batch=N", "sequences of one step; default 64");
  line("--attention-weights[=LAYERS/HEADS]", "attention's weights become outputs, to look at; all, or 0,2-5/3");
  line("--random-weights=SEED", "weights from a seed instead of the directory's");
  line("--ignore-config-key=K", "go on in spite of a config key that is not understood");
  line("--quantize-group=N", "rows of a group of w8 and w4: 32 (default), 64 or 128");
  line("--load-dialect-plugin=F", "a shared library with dialects that .mlir text may use; may be repeated");
  line("--load-pass-plugin=F", "a shared library with passes for --run-passes; may be repeated");
  line("--run-passes=STAGE:PASS,...", "run these passes at the stage imported, canonical, ...; may be repeated");
  line("-j N", "threads for packing; default: all processors");
  line("-S, -c", "the same as --emit=asm, --emit=obj");
  for (const Flag &flag : flags)
    if (hidden || !flag.hidden)
      line(flag.name, flag.help);
  return text;
}

} // namespace rapt::driver
