//===- SentenceModules.cpp --------------------------------------------------===//
#include "lib/Import/Formats/HuggingFace/SentenceModules.h"
#include "lib/Import/Formats/HuggingFace/ConfigReader.h"
#include "lib/Import/Formats/HuggingFace/Download.h"
#include "lib/Support/File.h"
#include <algorithm>

namespace rapt::huggingface {
namespace {

constexpr uint64_t mostBytes = uint64_t(1) << 20;

std::string textOf(const json::Value &entry, std::string_view key) {
  const json::Value *value = entry.find(key);
  return value && value->asString() ? *value->asString() : std::string();
}

/// The keys of sentence_transformers.models.Pooling. Several modes at once join their vectors.
Expected<SentenceModules::Pooling> readPooling(const std::string &path) {
  using Pooling = SentenceModules::Pooling;
  Expected<json::Value> value = readDownloadedJson(path, mostBytes);
  if (!value)
    return value.error();
  if (!value->isObject())
    return Error{shownPath(path) + ": not a JSON object"};
  ConfigReader config(std::move(*value), path, {});
  static constexpr struct {
    std::string_view name;
    const char *key;
    Pooling pooling;
  } modes[] = {{"mean", "pooling_mode_mean_tokens", Pooling::Mean},
               {"cls", "pooling_mode_cls_token", Pooling::First},
               {"lasttoken", "pooling_mode_lasttoken", Pooling::Last},
               {"max", "pooling_mode_max_tokens", Pooling::Max}};
  const std::string named =
      config.getRaw("pooling_mode") ? config.getEnum("pooling_mode", {"mean", "cls", "lasttoken", "max"}) : "";
  std::vector<Pooling> chosen;
  bool anyKey = false;
  for (const char *other : {"pooling_mode_mean_sqrt_len_tokens", "pooling_mode_weightedmean_tokens"}) {
    anyKey |= config.names(other);
    if (config.getBool(other, false))
      config.fail(std::string(other) + " is true, which is not supported");
  }
  for (const auto &mode : modes) {
    anyKey |= config.names(mode.key);
    if (config.getBool(mode.key, false) || named == mode.name)
      chosen.push_back(mode.pooling);
  }
  if (chosen.size() > 1)
    config.fail("asks for several poolings, of which one is supported");
  if (chosen.empty() && anyKey)
    config.fail("asks for none of the poolings that are supported: mean_tokens, cls_token, lasttoken and max_tokens");
  if (Status status = config.finish({"word_embedding_dimension", "embedding_dimension", "include_prompt"}); !status)
    return status.error();
  return chosen.empty() ? Pooling::Mean : chosen.front();
}

} // namespace

Expected<SentenceModules> readSentenceModules(const std::string &directory) {
  SentenceModules modules;
  const std::string file = directory + "/modules.json";
  if (!entryExists(file))
    return modules;
  Expected<json::Value> list = readDownloadedJson(file, mostBytes);
  if (!list)
    return list.error();
  if (!list->isArray())
    return Error{shownPath(file) + ": is not a list of modules"};
  bool pools = false;
  for (const json::Value &entry : *list->asArray()) {
    const std::string type = textOf(entry, "type"), folder = textOf(entry, "path");
    const std::string name = type.substr(type.rfind('.') + 1);
    auto fail = [&](const std::string &what) {
      return Error{shownPath(file) + ": the module " + json::printable(type, 80) + " " + what};
    };
    if (modules.normalizes)
      return fail("follows Normalize, which is supported at the end");
    if (type.ends_with(".Transformer")) {
      if (!folder.empty() && folder != ".")
        return fail("lies in " + json::printable(folder, 80) + ", not beside config.json");
    } else if (name == "Pooling" && !pools) {
      pools = true;
      if (folder.empty() || folder.find_first_of("/\\") != folder.npos || folder.starts_with("."))
        return fail("has the path \"" + json::printable(folder, 80) + "\", which is no folder of the model's");
      Expected<SentenceModules::Pooling> pooling = readPooling(directory + "/" + folder + "/config.json");
      if (!pooling)
        return pooling.error();
      modules.pooling = *pooling;
    } else if (name == "Normalize" && pools) {
      modules.normalizes = true;
    } else {
      return fail("is not supported there; supported are a Transformer, one Pooling and one Normalize, in this order");
    }
  }
  return modules;
}

} // namespace rapt::huggingface
