// What a compiled model is, read from its manifest without loading its code.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Model.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Support/Task.h"
#include <algorithm>
#include <sys/stat.h>

namespace rapt::run {
namespace {

std::string sizeOfFile(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) ? "missing" : inUnits(uint64_t(status.st_size));
}

/// How weights are quantised, as a line; empty if they are not.
std::string quantizationLine(const json::Value &manifest) {
  const json::Value *found = manifest.find("quantization");
  const std::string *text = found ? found->asString() : nullptr;
  return text ? "quantised: " + json::printable(*text) + "\n" : "";
}

/// The processor features that x86-64's first version does not have, as a list.
std::string features(const json::Value &manifest) {
  static const std::string_view everyProcessor[] = {"64bit", "cmov", "cx8", "fxsr", "mmx",
                                                    "sse",   "sse2", "x87", "crc32"};
  const json::Value *target = manifest.find("target");
  const json::Value *list = target ? target->find("features") : nullptr;
  std::string result;
  if (!list || !list->asArray())
    return result;
  for (const json::Value &value : *list->asArray()) {
    const std::string *name = value.asString();
    if (name && std::find(std::begin(everyProcessor), std::end(everyProcessor), *name) == std::end(everyProcessor))
      result += (result.empty() ? "" : ", ") + json::printable(*name);
  }
  return result;
}

std::string modelLine(const rapt_module_info &i) {
  std::string line = std::string(i.name) + ": " + i.family + " " + i.task;
  if (i.layers)
    line += ", " + std::to_string(i.layers) + (i.layers == 1 ? " layer" : " layers") + " of width " +
            std::to_string(i.hidden) + ", " + std::to_string(i.heads) + " heads of " + std::to_string(i.head_dim);
  if (i.vocabulary)
    line += ", vocabulary " + grouped(i.vocabulary);
  if (i.source_vocabulary)
    line += ", of sources " + grouped(i.source_vocabulary);
  return line + ", " + grouped(uint64_t(i.parameters)) + " parameters (" + i.source_dtype + ")";
}

std::string targetLine(const rapt_module_info &i, const json::Value &manifest) {
  std::string needed = features(manifest);
  std::string line = std::string("target: ") + i.target_arch + ", " + i.target_cpu;
  if (needed.empty())
    return line;
  return line + ": runs only on CPUs with " + needed +
         (std::string_view(i.target_cpu) == "x86-64-v3" ? "" : "; --mcpu=x86-64-v3 for any");
}

std::string filesLine(const Options &options, const rapt_module_info &i) {
  std::string line = "files: " + json::printable(options.library) + " (" + sizeOfFile(options.library) + ")";
  if (!i.weights_file && options.weights.empty())
    return line + (i.weights_file_bytes ? ", weights inside" : "");
  size_t slash = options.library.rfind('/');
  std::string path = slash == std::string::npos ? "" : options.library.substr(0, slash + 1);
  path = options.weights.empty() ? path + i.weights_file : options.weights;
  return line + ", " + json::printable(path) + " (" + sizeOfFile(path) + ")";
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
  if (!options.json) {
    rapt_module_info info = module.info();
    card = modelLine(info) + "\n" + targetLine(info, *manifest) + "\n" + quantizationLine(*manifest) +
           filesLine(options, info) + "\n";
    if (info.max_positions)
      card += "bounds: " + grouped(info.max_positions) + " positions, " + grouped(info.max_tokens) + " tokens of " +
              grouped(info.max_rows) + " sequences a step" +
              (info.cache_bytes_per_token
                   ? "; cache: " + grouped(info.cache_bytes_per_token) + " bytes a token (" + info.cache_dtype + ")"
                   : std::string()) +
              "\n";
    bool plain = options.library.find('/') == std::string::npos;
    card += "try: rapt-run " + std::string(plain ? "./" : "") + json::printable(options.library) + " " +
            std::string(exampleArguments(info.task)) + "\n";
  }
  Status status = print(card);
  return status ? 0 : fail(status.error().message);
}

} // namespace rapt::run
