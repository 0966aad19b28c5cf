// The description of a compiled model, read from its manifest without loading its code.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Model.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include "lib/Support/Task.h"
#include "lib/Support/Variant.h"
#include <sys/stat.h>

namespace rapt::run {
namespace {

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
            std::to_string(i.hidden) + ", " + std::to_string(i.heads) + " heads of " + std::to_string(i.head_dim);
  if (i.vocabulary)
    line += ", vocabulary " + grouped(i.vocabulary);
  if (i.source_vocabulary)
    line += ", of sources " + grouped(i.source_vocabulary);
  return line + ", " + grouped(uint64_t(i.parameters)) + " parameters (" + i.source_dtype + ")";
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
  rapt_module_info info = module.info();
  if (!options.json && !*info.family)
    return fail(options.library + ": holds kernels and no model; rapt-bench measures them");
  if (!options.json) {
    card = modelLine(info) + "\n" + targetLine(info.target_arch, variantsOf(*manifest), info.target_cpu) + "\n" +
           quantizationLine(*manifest) + filesLine(options, info) + "\n";
    if (info.max_positions)
      card += "limits: " + grouped(info.max_positions) + " positions, " + grouped(info.max_tokens) + " tokens and " +
              grouped(info.max_rows) + " sequences per step" +
              (info.cache_bytes_per_token
                   ? "; cache: " + grouped(info.cache_bytes_per_token) + " bytes per token (" + info.cache_dtype + ")"
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
