// The description of a compiled model, read from its manifest without loading its code.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Text.h"
#include "lib/Support/CacheCost.h"
#include "lib/Support/Example.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Support/Variant.h"
#include "rapt/artifact.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <sys/stat.h>

namespace rapt::run {
namespace {

constexpr uint64_t mostTextBytes = 256 << 20; // of a file beside the weights

std::string sizeOfFile(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) ? "missing" : inUnits(uint64_t(status.st_size));
}

/// The variants of a manifest that was checked when the module was opened.
std::vector<Variant> variantsOf(const json::Value &manifest) {
  auto read = [](const json::Value &from) {
    Variant variant{*from.find("cpu")->asString(), {}};
    for (const json::Value &feature : *from.find("features")->asArray())
      variant.features.push_back(json::printable(*feature.asString()));
    return variant;
  };
  const json::Value &target = *manifest.find("target");
  std::vector<Variant> variants;
  if (const json::Value *list = target.find("variants"))
    for (const json::Value &variant : *list->asArray())
      variants.push_back(read(variant));
  else
    variants.push_back(read(target));
  for (Variant &variant : variants)
    variant.name = json::printable(variant.name);
  return variants;
}

/// The GPUs that run the code, as a line; empty of code for CPUs.
std::string gpuLine(const rapt_module_info &i) {
  return *i.target_gpus ? "GPU: runs only on NVIDIA GPUs of " + std::string(i.target_gpus) + "\n" : "";
}

/// Types of the layers of a cache that has several.
std::vector<CacheTypes> cacheParts(const json::Value &manifest) {
  std::vector<CacheTypes> parts;
  const json::Value *cache = manifest.find("cache"), *segments = cache ? cache->find("segments") : nullptr;
  auto typeIn = [](const json::Value *part) {
    const json::Value *type = part ? part->find("dtype") : nullptr;
    return type && type->asString() ? *type->asString() : "";
  };
  for (const json::Value &segment : segments && segments->asArray() ? *segments->asArray() : json::Array())
    parts.push_back({typeIn(segment.find("keys")), typeIn(segment.find("values"))});
  return parts;
}

/// How weights are quantized, as a line; empty if they are not.
std::string quantizationLine(const json::Value &manifest) {
  const json::Value *found = manifest.find("quantization");
  const std::string *text = found ? found->asString() : nullptr;
  return text ? "quantized: " + json::printable(*text) + "\n" : "";
}

std::string modelLine(const rapt_module_info &i) {
  std::string line = std::string(i.name) + ": " + i.family + " " + i.task;
  if (i.layers)
    line += ", " + std::to_string(i.layers) + (i.layers == 1 ? " layer" : " layers") + " of width " +
            std::to_string(i.hidden);
  if (i.heads)
    line += ", " + std::to_string(i.heads) + (i.heads == 1 ? " head of " : " heads of ") + std::to_string(i.head_dim);
  if (i.vocabulary)
    line += ", vocabulary " + grouped(i.vocabulary);
  if (i.source_vocabulary)
    line += ", of sources " + grouped(i.source_vocabulary);
  return line + ", " + grouped(uint64_t(i.parameters)) + " parameters (" + i.source_dtype + ")";
}

/// The adapters among which --adapter chooses, as a line; empty where there are none.
std::string adaptersLine(const rapt_module_info &i) {
  std::string line;
  for (size_t at = 0; at < i.adapter_count; ++at)
    line += (at ? ", " : "adapters: ") + json::printable(i.adapters[at]);
  return line.empty() ? line : line + "\n";
}

/// The file of the weights; empty where there is none.
std::string weightsPath(const Options &options, const rapt_module_info &i) {
  if (!options.weights.empty())
    return options.weights;
  return i.weights_file ? weightsPathOf(options.library, i.weights_file) : "";
}

std::string filesLine(const Options &options, const rapt_module_info &i) {
  std::string line = "files: " + json::printable(options.library) + " (" + sizeOfFile(options.library) + ")";
  const std::string path = weightsPath(options, i);
  if (path.empty())
    return line + (i.weights_file_bytes ? ", weights inside" : "");
  return line + ", " + json::printable(path) + " (" + sizeOfFile(path) + ")";
}

/// The files of the model that lie beside the weights, in the weight file at `path` or inside the library there, by
/// their names. Those of texts have their content, the others none.
std::map<std::string, std::string> readSections(const std::string &path) {
  auto file = InputFile::open(path);
  rapt_weights_header header = {};
  auto isAt = [&](uint64_t at) {
    Expected<size_t> got = (*file)->readSome(at, std::as_writable_bytes(std::span(&header, 1)));
    return got && *got == sizeof header && header.magic == RAPT_WEIGHTS_MAGIC;
  };
  uint64_t at = 0;
  while (file && at < (*file)->size() && !isAt(at))
    at += RAPT_WEIGHTS_ALIGNMENT;
  std::map<std::string, std::string> sections;
  if (!file || header.magic != RAPT_WEIGHTS_MAGIC)
    return sections;
  for (uint32_t i = 0; i < std::min<uint32_t>(header.section_count, RAPT_WEIGHTS_MAX_SECTIONS); ++i) {
    const rapt_weights_section &section = header.sections[i];
    const std::string name(section.name, strnlen(section.name, 64));
    std::string &content = sections[name];
    if (name == "weights" || section.bytes > mostTextBytes || section.bytes > (*file)->size())
      continue;
    content.resize(section.bytes);
    const Expected<size_t> got = (*file)->readSome(at + section.offset, std::as_writable_bytes(std::span(content)));
    content.resize(got ? *got : 0);
  }
  return sections;
}

/// How the model of the weight file at `path`, or of the library there, takes texts.
ExampleTexts readTexts(const std::string &path, const rapt_module_info &i) {
  const std::map<std::string, std::string> files = readSections(path);
  ExampleTexts texts;
  texts.hasTokenizer = hasTokenizer([&](const char *name) { return files.contains(name); }, i.source_vocabulary != 0);
  const SideFiles content = [&](const char *name) {
    const auto found = files.find(name);
    return found == files.end() ? rapt_text_view{} : rapt_text_view{found->second.data(), found->second.size()};
  };
  texts.chatTokens = countChatTokens(content, i.source_vocabulary ? i.source_vocabulary : i.vocabulary, exampleMessage);
  Tokenizer tokenizer;
  if (std::string_view(i.task) != "fill-mask" || !openTokenizer(content, tokenizer) || !tokenizer)
    return texts;
  const int32_t mask = tokenizer.role(RAPT_TOKEN_MASK);
  if (mask >= 0 && !tokenizer.decode({mask}, texts.mask, RAPT_DECODE_KEEP_SPECIAL))
    texts.mask.clear();
  return texts;
}

/// A command that works as it is printed, or what running the model needs.
std::string tryLine(const Options &options, const rapt_module_info &i) {
  const std::string weights = weightsPath(options, i);
  struct stat status;
  if (!*i.target_cpu)
    return "run: on a CPU of the target, which this machine's is not";
  if (!weights.empty() && stat(weights.c_str(), &status) != 0)
    return "run: with --weights=FILE, since " + json::printable(weights) + " is missing";
  const ExampleTexts texts = readTexts(weights.empty() ? options.library : weights, i);
  const std::string arguments =
      exampleArguments({i.task, texts, i.max_positions, i.source_vocabulary ? i.source_vocabulary : i.vocabulary});
  if (arguments.empty() && texts.hasTokenizer)
    return "run: with -p TEXT of at most " + std::to_string(i.max_positions) + " tokens";
  if (arguments.empty())
    return "run: with --input NAME=FILE.npy and --output NAME=FILE.npy, since no text can be given";
  const bool isPlain = options.library.find('/') == std::string::npos;
  return "try: " + shellWord(options.program) + " " + shellWord((isPlain ? "./" : "") + options.library) + " " +
         (options.weights.empty() ? "" : "--weights " + shellWord(options.weights) + " ") + arguments;
}

} // namespace

int printCard(const Options &options) {
  Module module;
  auto inspect = sized<rapt_module_options>();
  inspect.flags = RAPT_INSPECT;
  if (Outcome outcome = Module::open(options.library.c_str(), module, &inspect); !outcome)
    return fail(Failure(outcome).message, Failure(outcome).code);
  size_t bytes = 0;
  const char *text = rapt_module_manifest(module.get(), &bytes);
  auto manifest = json::parse(std::string_view(text, bytes));
  if (!manifest)
    return fail(options.library + ": its manifest " + manifest.error().message);
  std::string card = json::write(*manifest, 2) + "\n";
  rapt_module_info info = module.info();
  if (!options.json && !*info.family)
    return fail(options.library + ": holds kernels and no model; rapt-bench measures them");
  if (!options.json) {
    card = modelLine(info) + "\n" +
           targetLine(info.target_arch, variantsOf(*manifest), info.target_cpu, options.verbose) + "\n" +
           gpuLine(info) + quantizationLine(*manifest) + adaptersLine(info) + filesLine(options, info) + "\n";
    if (info.max_positions)
      card +=
          "limits: " + grouped(info.max_positions) + " positions, " + grouped(info.max_tokens) + " tokens and " +
          grouped(info.max_rows) + " sequences per step" +
          (info.cache_block
               ? "; cache: " + cacheCost({info.cache_bytes_per_token, info.window_bytes_per_token, info.cache_window}) +
                     " (" + cacheTypes(info.cache_dtype, cacheParts(*manifest)) + ")"
               : std::string()) +
          stateCost(info.state_bytes) + "\n";
    card += tryLine(options, info) + "\n";
  }
  Status status = print(card);
  return status ? 0 : fail(status.error().message);
}

} // namespace rapt::run
