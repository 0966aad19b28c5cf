//===- Pooling.cpp - How a file's vectors of texts are made -----------------===//
#include "lib/Import/Families/GGUF/Pooling.h"

using namespace rapt;
using namespace rapt::importing;

namespace {

json::Object moduleOf(const char *type, const std::string &folder) {
  return {{"type", json::Value(std::string("sentence_transformers.models.") + type)}, {"path", json::Value(folder)}};
}

std::string text(json::Value value) { return json::write(value); }

} // namespace

huggingface::SideFiles importing::readPooling(Translation &t) {
  constexpr const char *key = "pooling_type";
  enum : int64_t { None, Mean, First, Last, Ranks };
  const int64_t type = t.integer(key, None, Ranks).value_or(None);
  if (type == Ranks && !t.classifies())
    t.fail(key, "4, ranks of texts, which is supported of encoders alone, with the tensor cls.output.weight");
  if (type == None || type == Ranks)
    return {};
  constexpr const char *keys[] = {"", "pooling_mode_mean_tokens", "pooling_mode_cls_token", "pooling_mode_lasttoken"};
  const std::string pooling = "1_Pooling";
  json::Array modules = {json::Value(moduleOf("Transformer", "")), json::Value(moduleOf("Pooling", pooling))};
  huggingface::SideFiles files;
  files[pooling + "/config.json"] = text(json::Value(json::Object{{keys[type], json::Value(true)}}));
  for (const char *number : {"2", "3"}) {
    const std::string folder = std::string(number) + "_Dense", name = "dense_" + std::string(number);
    const gguf::Tensor *matrix = t.file().find(name + ".weight");
    if (!matrix || matrix->dims.size() != 2)
      continue;
    modules.emplace_back(moduleOf("Dense", folder));
    files[folder + "/config.json"] =
        text(json::Value(json::Object{{"in_features", json::Value(int64_t(matrix->dims[0]))},
                                      {"out_features", json::Value(int64_t(matrix->dims[1]))},
                                      {"bias", json::Value(t.has(name + ".bias"))},
                                      {"activation_function", json::Value("torch.nn.modules.linear.Identity")}}));
  }
  modules.emplace_back(moduleOf("Normalize", "4_Normalize"));
  files["modules.json"] = text(json::Value(std::move(modules)));
  return files;
}
