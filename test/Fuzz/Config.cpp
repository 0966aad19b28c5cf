// config.json as far as it is read without a family: every kind of getter, nested objects, and keys that nobody asked
// for. Compile.cpp has the families.
#include "lib/Formats/HuggingFace/ModelDescription.h"
#include "test/Fuzz/Fuzz.h"

using namespace rapt;
using namespace rapt::fuzz;
using namespace rapt::huggingface;

namespace {

void readNumbers(ConfigReader &config) {
  for (const char *key : {"vocab_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"}) {
    int64_t value = config.getInt(key, 1, 1 << 20);
    require(value >= 1 && value <= 1 << 20, "an integer is in its range");
  }
  config.getInt({"n_embd", "hidden_size"}, 1, INT32_MAX, 64);
  if (auto value = config.getOptionalInt("head_dim", 1, 4096))
    require(*value >= 1 && *value <= 4096, "an optional integer is in its range");
  HeightWidth size = config.getHeightWidth("image_size", 1, 1 << 14, 224);
  require(size.height >= 1 && size.width >= 1 && size.height <= 1 << 14, "a size is in its range");
  for (const char *key : {"layer_norm_epsilon", "rms_norm_eps", "rope_theta"}) {
    double value = config.getPositive(key, 1e9, 1e-5);
    require(value > 0 && value <= 1e9, "a positive number is in its range");
  }
  double value = config.getFloat("initializer_range", -1, 1, 0);
  require(value >= -1 && value <= 1, "a number is in its range");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static MemoryFile file;
  std::string_view text(reinterpret_cast<const char *>(data), size);
  LoadOptions options;
  options.noWeights = true;
  options.ignoreKeys = {"rope_scaling.type", "x"};
  auto model = ModelDescription::load(file.write(text), options);
  if (!model) {
    requireMessage(model.error());
    return 0;
  }
  ConfigReader &config = model->config();
  readNumbers(config);
  config.getBool("tie_word_embeddings", true);
  config.getEnum({"activation_function", "hidden_act"}, {"gelu", "gelu_new", "relu", "silu"}, "gelu");
  config.getString("problem_type", "");
  if (auto nested = config.open({"rope_scaling", "rope_parameters"})) {
    nested->getFloat("factor", 1, 1e6);
    nested->getEnum({"rope_type", "type"}, {"linear", "llama3", "yarn", "default"});
    config.close(std::move(*nested));
  }
  if (Status status = config.finish({"use_cache"}); !status)
    requireMessage(status.error());
  for (const std::string &line : config.needlessIgnores())
    requireMessage(line);
  for (const std::string &line : model->warnings())
    requireMessage(line);
  return 0;
}
