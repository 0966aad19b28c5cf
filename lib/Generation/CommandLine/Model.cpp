#include "lib/Generation/CommandLine/Model.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Runtime/InfoFacts.h"
#include "lib/Support/CommandFiles.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sys/mman.h>

namespace rapt::run {

std::string weightsPathOf(const std::string &library, const std::string &name) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path given = fs::path(library).parent_path(), real = fs::canonical(library, error).parent_path(),
                 here = fs::canonical(given.empty() ? "." : given, error);
  return ((error || here == real ? given : real) / name).string(); // as the user wrote it where that is the folder
}

/// Files that the command reads.
static CommandFiles inputsOf(const Options &options, const Model &model) {
  CommandFiles files;
  files.addInput(options.library, "the model");
  if (!options.weights.empty())
    files.addInput(options.weights, "--weights");
  else if (model.info.weights_file)
    files.addInput(weightsPathOf(options.library, model.info.weights_file), "weights of the model");
  for (const auto &[name, file] : options.inputs)
    files.addInput(file, "--input " + name);
  for (const std::string &image : options.images)
    files.addInput(image, "--image");
  for (const std::string &sound : options.audio)
    files.addInput(sound, "--audio");
  for (const auto *text : {&options.promptFile, &options.perplexityFile})
    if (*text && **text == "-")
      files.addStandardInput();
    else if (*text)
      files.addInput(**text, text == &options.promptFile ? "--file" : "--perplexity");
  return files;
}

/// No output may replace the library, its weights, an input or another output.
static Status checkFiles(const Options &options, const Model &model) {
  CommandFiles files = inputsOf(options, model);
  for (const auto &[name, file] : options.outputs)
    files.addOutput(file, "--output " + name);
  if (options.profile && !options.profile->file.empty())
    files.addOutput(options.profile->file, "--profile");
  if (!options.attention.empty())
    files.addOutputs(options.attention, "attentions-", "--attention-weights");
  return files.check();
}

Status checkOutput(const Options &options, const Model &model, const std::string &path, const std::string &role) {
  CommandFiles files = inputsOf(options, model);
  files.addOutput(path, role);
  return files.check();
}

Status checkLibrary(const std::string &path) {
  std::error_code ignored;
  const std::filesystem::path given(path);
  if (!std::filesystem::is_directory(given, ignored))
    return {};
  const std::string shown = json::printable(path);
  if (!std::filesystem::exists(given / "config.json", ignored))
    return Error{shown + " is a directory and not a compiled model, a file such as model.so"};
  return Error{shown + " is a model's directory: compile it first, raptc " + shown +
               " -o model.so, and then run rapt-run ./model.so"};
}

Outcome openModule(const Options &options, Model &model) {
  guardMappedFiles();
  auto moduleOptions = sized<rapt_module_options>();
  moduleOptions.flags = (options.anyWeights ? RAPT_ANY_CONTENT : 0) | (options.verify ? RAPT_VERIFY : 0) |
                        (options.readWeights ? RAPT_READ_WEIGHTS : 0);
  moduleOptions.weights_path = options.weights.empty() ? nullptr : options.weights.c_str();
  moduleOptions.variant = options.variant.empty() ? nullptr : options.variant.c_str();
  RAPT_RETURN_IF_ERROR(Module::open(options.library.c_str(), model.module, &moduleOptions));
  model.info = model.module.info();
  model.facts = runtime::factsOf(model.info);
  Status checked = checkFiles(options, model);
  return checked ? Outcome{} : Outcome{RAPT_INVALID, checked.error().message};
}

Outcome makeContext(const Options &options, int64_t tokens, Model &model) {
  if (!model.isOnGpu()) // else no code runs on threads
    RAPT_RETURN_IF_ERROR(Pool::make(options.threads.empty() ? 0 : options.threads[0], model.pool));
  auto contextOptions = sized<rapt_context_options>();
  contextOptions.cache_tokens = tokens;
  contextOptions.max_step_tokens = model.stepTokens;
  contextOptions.pool = model.pool.get();
  contextOptions.adapter = options.adapter ? options.adapter->c_str() : nullptr;
  if (Outcome outcome = Context::make(model.module, contextOptions, model.context); !outcome || !options.profile)
    return outcome;
  options.profile->threads = model.pool.threads();
  options.profile->weights = double(model.info.weights_file_bytes);
  options.profile->isOnGpu = model.isOnGpu();
  options.profile->features = bench::featuresOf(model.module.manifest(), model.info.target_cpu);
  model.profiler = Profiler(model.context.get(), options.profile);
  return Outcome::of([&](char *text, size_t size) { return rapt_profile_start(model.context.get(), text, size); });
}

int64_t Model::inBlocks(int64_t tokens) const {
  int64_t block = std::max<int64_t>(info.cache_block, 1);
  return (tokens + block - 1) / block * block;
}

bool hasRoom(size_t bytes) {
  if (bytes == 0)
    return true;
  void *mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapped != MAP_FAILED && !munmap(mapped, bytes);
}

} // namespace rapt::run
