//===- SentenceModules.cpp --------------------------------------------------===//
#include "lib/Formats/HuggingFace/SentenceModules.h"
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/ModelFiles.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/File.h"
#include <algorithm>

namespace rapt::huggingface {
namespace {

constexpr uint64_t mostBytes = uint64_t(1) << 20;
constexpr const char *modulesFile = "modules.json";

std::string memberText(const json::Value &entry, std::string_view key) {
  const json::Value *value = entry.find(key);
  return value && value->asString() ? *value->asString() : std::string();
}

/// A reader of a file beside config.json, whose reader is `model`.
Expected<ConfigReader> readConfig(const ConfigReader &model, const ModuleFiles &files, std::string_view name) {
  RAPT_ASSIGN_OR_RETURN(json::Value value, files.read(name));
  if (!value.isObject())
    return Error{shownPath(files.pathOf(name)) + ": not a JSON object"};
  return model.beside(std::move(value), files.pathOf(name));
}

/// The keys of sentence_transformers.models.Pooling. Several modes at once join their vectors.
Status readPooling(const ConfigReader &model, const ModuleFiles &files, const std::string &name, int64_t width,
                   SentenceModules &modules) {
  using Pooling = SentenceModules::Pooling;
  RAPT_ASSIGN_OR_RETURN(ConfigReader config, readConfig(model, files, name));
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
  modules.pooling = chosen.empty() ? Pooling::Mean : chosen.front();
  for (const char *key : {"word_embedding_dimension", "embedding_dimension"})
    if (const auto columns = config.getOptionalInt(key, INT64_MIN, INT64_MAX); columns && *columns != width)
      modules.notes.push_back(shownPath(files.pathOf(name)) + ": " + key + " is " + std::to_string(*columns) +
                              ", but the vectors of config.json's model have " + std::to_string(width) + " columns");
  // The first and the last token are those of the whole text in any case.
  const bool counts = modules.pooling == Pooling::Mean || modules.pooling == Pooling::Max;
  modules.includesPrompt = config.getBool("include_prompt", true) || !counts;
  return config.finish(harmlessKeys("1_Pooling/config.json"));
}

/// The keys of config_sentence_transformers.json. No output depends on the similarity; rapt-run and applications find
/// it in the section.
Status readPrompts(const ConfigReader &model, const ModuleFiles &files, SentenceModules &modules) {
  constexpr const char *name = "config_sentence_transformers.json";
  if (!files.has(name))
    return {};
  RAPT_ASSIGN_OR_RETURN(ConfigReader config, readConfig(model, files, name));
  const json::Value *value = config.getRaw("prompts");
  const json::Object *prompts = value ? value->asObject() : nullptr;
  if (value && !prompts)
    config.fail("prompts must be an object with a text for each name");
  std::string names;
  for (const auto &[name, text] : prompts ? *prompts : json::Object()) {
    if (!text.asString())
      config.fail("prompts." + json::printable(name, 80) + " must be a text");
    names += (names.empty() ? "" : ", ") + json::printable(name, 80);
  }
  const std::string defaultPrompt = config.getString("default_prompt_name", ""),
                    similarity = config.getString("similarity_fn_name", "");
  if (!defaultPrompt.empty() && (!prompts || !value->find(defaultPrompt)))
    config.fail("default_prompt_name is \"" + json::printable(defaultPrompt, 80) + "\", which is not among prompts" +
                (names.empty() ? "" : ": " + names));
  RAPT_RETURN_IF_ERROR(config.finish(harmlessKeys(name)));
  const bool hasPrompts = prompts && !prompts->empty();
  modules.includesPrompt |= !hasPrompts;
  if (!hasPrompts && (similarity.empty() || similarity == "cosine"))
    return {};
  json::Object section;
  if (hasPrompts)
    section = {{"prompts", *value}, {"include_prompt", json::Value(modules.includesPrompt)}};
  if (!defaultPrompt.empty())
    section.emplace_back("default_prompt_name", json::Value(defaultPrompt));
  if (!similarity.empty())
    section.emplace_back("similarity_fn_name", json::Value(similarity));
  modules.prompts = json::write(json::Value(std::move(section)));
  return {};
}

/// The keys of sentence_transformers.models.Dense, which reads a vector of `width` columns.
Expected<SentenceModules::Dense> readDense(const ConfigReader &model, const ModuleFiles &files, const std::string &file,
                                           int64_t width) {
  RAPT_ASSIGN_OR_RETURN(ConfigReader config, readConfig(model, files, file));
  SentenceModules::Dense dense;
  dense.in = config.getInt("in_features", 1, 1 << 16);
  dense.out = config.getInt("out_features", 1, 1 << 16);
  dense.hasBias = config.getBool("bias", true);
  if (config.errors() && dense.in != width)
    config.fail("in_features is " + std::to_string(dense.in) + ", but the vector has " + std::to_string(width) +
                " columns");
  static constexpr std::pair<std::string_view, const char *> activations[] = {
      {"Identity", ""}, {"Tanh", "tanh"}, {"ReLU", "relu"}, {"GELU", "gelu"}, {"SiLU", "silu"}, {"Sigmoid", "sigmoid"}};
  const std::string type = config.getString("activation_function", "torch.nn.modules.activation.Tanh"),
                    name = type.substr(type.rfind('.') + 1);
  auto found = std::ranges::find(activations, name, &std::pair<std::string_view, const char *>::first);
  if (found == std::end(activations))
    config.fail("activation_function is " + json::printable(type, 80) +
                "; supported are Identity, Tanh, ReLU, GELU, SiLU and Sigmoid of torch.nn");
  else
    dense.activation = found->second;
  for (const char *key : {"module_input_name", "module_output_name"})
    if (config.getString(key, "sentence_embedding") != "sentence_embedding")
      config.fail(std::string(key) + " is not sentence_embedding: only vectors of whole texts are supported");
  RAPT_RETURN_IF_ERROR(config.finish({}));
  return dense;
}

/// The configuration of the Transformer, which has had other names.
Status readTexts(const ConfigReader &model, const ModuleFiles &files, SentenceModules &modules) {
  static constexpr const char *names[] = {"sentence_bert_config.json",       "sentence_roberta_config.json",
                                          "sentence_distilbert_config.json", "sentence_camembert_config.json",
                                          "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
                                          "sentence_xlnet_config.json"};
  const auto name = std::ranges::find_if(names, [&](const char *one) { return files.has(one); });
  if (name == std::end(names))
    return {};
  RAPT_ASSIGN_OR_RETURN(ConfigReader config, readConfig(model, files, *name));
  modules.mostTokens = config.getOptionalInt("max_seq_length", 1, INT64_MAX);
  modules.lowersCase = config.getBool("do_lower_case", false);
  config.getEnum("transformer_task", {"feature-extraction"}, "feature-extraction");
  config.getEnum("module_output_name", {"token_embeddings"}, "token_embeddings");
  if (std::optional<ConfigReader> modalities = config.open("modality_config")) {
    if (std::optional<ConfigReader> text = modalities->open("text")) {
      text->getEnum("method", {"forward"}, "forward");
      text->getEnum("method_output_name", {"last_hidden_state"}, "last_hidden_state");
      modalities->close(std::move(*text));
    }
    config.close(std::move(*modalities));
  }
  return config.finish(harmlessKeys("sentence_bert_config.json"));
}

/// The entries of modules.json; none where there is no such file.
Expected<json::Array> listModules(const ModuleFiles &files) {
  if (!files.has(modulesFile))
    return json::Array();
  RAPT_ASSIGN_OR_RETURN(json::Value list, files.read(modulesFile));
  if (!list.isArray())
    return Error{shownPath(files.pathOf(modulesFile)) + ": is not a list of modules"};
  return *list.asArray();
}

bool isFolder(const std::string &path) { return isSafeName(path) && !path.starts_with("."); }

/// modules.json, of a transformer whose states have `width` columns.
Expected<SentenceModules> readModules(const ConfigReader &model, const ModuleFiles &files, int64_t width) {
  SentenceModules modules;
  RAPT_ASSIGN_OR_RETURN(json::Array list, listModules(files));
  bool pools = false;
  for (const json::Value &entry : list) {
    const std::string type = memberText(entry, "type"), folder = memberText(entry, "path");
    const std::string name = type.substr(type.rfind('.') + 1);
    if (entry.isObject()) {
      ConfigReader keys = model.beside(entry, files.pathOf(modulesFile));
      for (const char *key : {"type", "path"})
        keys.getRaw(key);
      RAPT_RETURN_IF_ERROR(keys.finish(harmlessKeys(modulesFile)));
    }
    auto fail = [&](const std::string &what) {
      return Error{shownPath(files.pathOf(modulesFile)) + ": the module " + json::printable(type, 80) + " " + what};
    };
    if (modules.normalizes)
      return fail("follows Normalize, which is supported at the end");
    const bool isBehind = name == "Dense" && pools;
    if (((name == "Pooling" && !pools) || isBehind) && !isFolder(folder))
      return fail("has the path \"" + json::printable(folder, 80) + "\", which is no folder of the model's");
    if (type.ends_with(".Transformer")) {
      if (!folder.empty() && folder != ".")
        return fail("lies in " + json::printable(folder, 80) + ", not beside config.json");
      RAPT_RETURN_IF_ERROR(readTexts(model, files, modules));
    } else if (name == "Pooling" && !pools) {
      pools = true;
      RAPT_RETURN_IF_ERROR(readPooling(model, files, folder + "/config.json", width, modules));
    } else if (isBehind) {
      if (std::ranges::count(modules.dense, folder, &SentenceModules::Dense::folder))
        return fail("has the path \"" + json::printable(folder, 80) + "\" of another module");
      RAPT_ASSIGN_OR_RETURN(SentenceModules::Dense dense, readDense(model, files, folder + "/config.json", width));
      width = dense.out;
      dense.folder = folder;
      modules.dense.push_back(std::move(dense));
    } else if (name == "Normalize" && pools) {
      modules.normalizes = true;
    } else if (name == "Dense") {
      return fail("makes a vector of each token (ColBERT), which is not supported; without modules.json the program "
                  "gives the tokens' states, last_hidden_state");
    } else {
      return fail(
          "is not supported there; supported are a Transformer, one Pooling, Dense and one Normalize, in this order");
    }
  }
  modules.isGiven = pools;
  return modules;
}

} // namespace

bool ModuleFiles::has(std::string_view name) const {
  return content ? content->contains(name) : entryExists(pathOf(name));
}

Expected<json::Value> ModuleFiles::read(std::string_view name) const {
  if (!content)
    return readDownloadedJson(pathOf(name), mostBytes);
  auto found = content->find(name);
  if (found == content->end())
    return Error{shownPath(pathOf(name)) + ": does not exist"};
  return withContext(shownPath(pathOf(name)), json::parse(found->second));
}

Expected<SentenceModules> readSentenceModules(const ConfigReader &model, const ModuleFiles &files, int64_t width) {
  Expected<SentenceModules> modules = readModules(model, files, width);
  if (modules)
    RAPT_RETURN_IF_ERROR(readPrompts(model, files, *modules));
  return modules;
}

Expected<bool> poolsTexts(const ModuleFiles &files) {
  RAPT_ASSIGN_OR_RETURN(json::Array list, listModules(files));
  return std::ranges::any_of(list,
                             [](const json::Value &entry) { return memberText(entry, "type").ends_with(".Pooling"); });
}

Expected<std::vector<std::string>> listDenseFolders(const ModuleFiles &files) {
  std::vector<std::string> folders;
  RAPT_ASSIGN_OR_RETURN(json::Array list, listModules(files));
  for (const json::Value &entry : list)
    if (std::string folder = memberText(entry, "path");
        memberText(entry, "type").ends_with(".Dense") && isFolder(folder))
      folders.push_back(std::move(folder));
  return folders;
}

} // namespace rapt::huggingface
