//===- main.cpp - describe-model: read a directory and every weight in it ---===//
//
// describe-model DIR [--strict] [--random-weights=SEED] [--save-weights=FILE]
// describe-model FILE
//
// The reader alone, without a compiler: asks for two layers' worth of the fixture's
// tensors, reads and checks every value, and prints a line a tensor. A file is GGUF, whose
// header is read and printed.
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/GGUF/Describe.h"
#include "lib/Formats/HuggingFace/CheckTensors.h"
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "lib/Formats/HuggingFace/SafeTensorsWriter.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace rapt;
using namespace rapt::huggingface;

static Status describe(const std::string &path, LoadOptions options, const std::string &saved) {
  RAPT_ASSIGN_OR_RETURN(ModelDescription model, ModelDescription::load(path, std::move(options)));
  ConfigReader &config = model.config();
  int64_t width = config.getInt({"n_embd", "hidden_size"}, 1, 1 << 16);
  int64_t vocabulary = config.getInt("vocab_size", 1, 1 << 24);
  int64_t positions = config.getInt("n_positions", 1, 1 << 24);
  int64_t layers = config.getInt("n_layer", 1, 1 << 17);
  int64_t heads = config.getInt("n_head", 1, 1 << 12);
  config.getOptionalInt("n_inner", 1, 1 << 20);
  config.getPositive("layer_norm_epsilon", 1, 1e-5);
  if (config.errors() && width % heads != 0)
    config.fail("n_embd " + std::to_string(width) + " is not a multiple of n_head " + std::to_string(heads));
  RAPT_RETURN_IF_ERROR(config.finish({"activation_function"}));
  std::string prefix = model.choosePrefix({"", "transformer."}, "wte.weight");
  std::vector<TensorRequest> requests = {{prefix + "wte.weight", {vocabulary, width}, Init::embedding()},
                                         {prefix + "wpe.weight", {positions, width}, Init::embedding()},
                                         {prefix + "ln_f.weight", {width}, Init::normWeight()},
                                         {prefix + "ln_f.bias", {width}, Init::bias()}};
  for (int64_t layer = 0; layer < layers; ++layer)
    for (auto [name, inputs, outputs] : {std::tuple{".attn.c_attn.weight", width, 3 * width},
                                         {".attn.c_proj.weight", width, width},
                                         {".mlp.c_fc.weight", width, 4 * width},
                                         {".mlp.c_proj.weight", 4 * width, width}})
      requests.push_back({prefix + "h." + std::to_string(layer) + name, {inputs, outputs}, Init::weight(inputs)});
  RAPT_ASSIGN_OR_RETURN(auto tensors, model.resolve(requests, {"*.attn.bias", "*.ln_1.*", "*.ln_2.*", "*.bias"}));
  auto reader = model.openTensors();
  RAPT_RETURN_IF_ERROR(checkTensors(*reader, model.tensorNames()));
  if (!saved.empty())
    RAPT_RETURN_IF_ERROR(writeSafeTensors(saved, *reader, model.tensorNames()));
  for (const std::string &warning : model.warnings())
    fprintf(stderr, "warning: %s\n", warning.c_str());
  for (const ResolvedTensor &tensor : tensors)
    printf("%s %s %s\n", tensor.name.c_str(), safeTensorsName(tensor.dtype), shownShape(tensor.shape).c_str());
  return {};
}

static Status describeFile(const std::string &path) {
  RAPT_ASSIGN_OR_RETURN(gguf::File file, gguf::File::open(path));
  fputs(gguf::describe(file).c_str(), stdout);
  return {};
}

int main(int argc, char **argv) {
  LoadOptions options;
  std::string path, saved;
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--strict")
      options.strict = true;
    else if (argument.starts_with("--random-weights="))
      options.randomSeed = strtoull(argv[i] + strlen("--random-weights="), nullptr, 10);
    else if (argument.starts_with("--save-weights="))
      saved = argument.substr(strlen("--save-weights="));
    else
      path = argument;
  }
  const bool isFile = std::filesystem::is_regular_file(path);
  Status status = isFile ? describeFile(path) : describe(path, std::move(options), saved);
  if (!status)
    fprintf(stderr, "error: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
