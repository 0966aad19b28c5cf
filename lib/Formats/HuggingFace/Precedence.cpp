//===- Precedence.cpp -------------------------------------------------------------===//
//
// Facts of transformers 5: PreTrainedTokenizerBase._from_pretrained, AutoTokenizer,
// GenerationConfig.from_model_config, ImageProcessingMixin.get_image_processor_dict,
// AutoImageProcessor.
//
//===----------------------------------------------------------------------===//
#include "lib/Formats/HuggingFace/Precedence.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/HuggingFace/ModelFiles.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/File.h"
#include <algorithm>

namespace rapt::huggingface {

static constexpr uint64_t mostBytes = uint64_t(16) << 20;

std::optional<json::Object> objectOf(const SideFiles &files, std::string_view name) {
  auto file = files.find(name);
  Expected<json::Value> value = file == files.end() ? json::Value() : json::parse(file->second);
  return value && value->isObject() ? std::optional(*value->asObject()) : std::nullopt;
}

static const json::Value *find(const json::Object &members, std::string_view key) {
  auto found = std::find_if(members.begin(), members.end(), [&](const auto &member) { return member.first == key; });
  return found == members.end() || found->second.isNull() ? nullptr : &found->second;
}

static void put(SideFiles &files, std::string_view name, json::Object members) {
  files.insert_or_assign(std::string(name), json::write(json::Value(std::move(members))));
}

//===----------------------------------------------------------------------===//
// Keys that nothing reads
//===----------------------------------------------------------------------===//

/// null, false and empty values say nothing; of the keys that are only reported, the values that change nothing
/// neither.
static bool saysSomething(std::string_view key, const json::Value &value) {
  const std::string *text = value.asString();
  const json::Array *list = value.asArray();
  if (value.isNull() || value.asBool() == false || (text && text->empty()) || (list && list->empty()) ||
      (value.isObject() && value.asObject()->empty()))
    return false;
  if (key == "errors")
    return !text || *text != "replace";
  if (key == "offset")
    return value.asInteger() != 103;
  if (key == "fast_tokenizer_files")
    return !list || std::ranges::any_of(*list, [](const json::Value &name) {
      return !name.isString() || *name.asString() != "tokenizer.json";
    });
  return true;
}

static constexpr const char *processorFile = "preprocessor_config.json";

/// Where what is read of the file ends up.
static std::string_view changedBy(std::string_view file) {
  return file == processorSettings || file == processorFile ? "what the model reads" : "ids or text";
}

void reportKeys(const std::string &path, std::string_view file, const json::Value &content,
                std::vector<std::string> &notes) {
  for (const auto &[key, value] : content.isObject() ? *content.asObject() : json::Object()) {
    const DirectoryKey *known = findDirectoryKey(file, key);
    if ((known && known->use != DirectoryKey::Use::Reported) || !saysSomething(key, value))
      continue;
    notes.push_back(shownPath(path) + ": nothing reads " + json::printable(key, 80) + " (" +
                    json::printable(json::write(value), 60) + "), which " +
                    (known ? "changes " + std::string(changedBy(file)) + " in transformers"
                           : "may change " + std::string(changedBy(file))));
  }
}

void reportTokenizerKeys(const SideFiles &files, const std::string &directory, std::vector<std::string> &notes) {
  for (const char *file : {"tokenizer_config.json", "special_tokens_map.json"})
    if (std::optional<json::Object> members = objectOf(files, file))
      reportKeys(directory + "/" + file, file, json::Value(std::move(*members)), notes);
}

//===----------------------------------------------------------------------===//
// Tokenizers
//===----------------------------------------------------------------------===//

void settleTokenizer(DefaultClasses classes, ConfigReader &config, SideFiles &files) {
  if (files.contains("tokenizer_config.json") && !objectOf(files, "tokenizer_config.json"))
    return;
  json::Object settled = objectOf(files, "tokenizer_config.json").value_or(json::Object());
  const size_t before = settled.size();
  bool isChanged = false;
  if (std::optional<json::Object> map = objectOf(files, "special_tokens_map.json");
      map && !find(settled, "added_tokens_decoder"))
    for (const auto &[key, value] : *map)
      if (!value.isNull()) {
        json::setMember(settled, key, value);
        isChanged = true;
      }
  if (!find(settled, "tokenizer_class") && files.contains("tokenizer.json")) {
    const json::Value *named = config.peek("tokenizer_class");
    const std::string name = named && named->isString() ? *named->asString() : std::string(classes.tokenizer);
    if (!name.empty())
      json::setMember(settled, "tokenizer_class", json::Value(name));
  }
  if (isChanged || settled.size() != before)
    put(files, "tokenizer_config.json", std::move(settled));
}

static bool isOfType(const json::Value &stage, std::string_view type) {
  const json::Value *given = stage.find("type");
  return given && given->isString() && *given->asString() == type;
}

Expected<std::string> withLowerCase(const SideFiles &files) {
  std::optional<json::Object> tokenizer = objectOf(files, "tokenizer.json");
  if (!tokenizer)
    return Error{"do_lower_case is true, which needs a tokenizer.json; "
                 "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) writes one"};
  json::Array stages;
  if (const json::Value *normalizer = find(*tokenizer, "normalizer")) {
    const json::Value *list = isOfType(*normalizer, "Sequence") ? normalizer->find("normalizers") : nullptr;
    stages = list && list->isArray() ? *list->asArray() : json::Array{*normalizer};
  }
  if (std::ranges::any_of(stages, [](const json::Value &stage) { return isOfType(stage, "Lowercase"); }))
    return files.find("tokenizer.json")->second;
  stages.insert(stages.begin(), json::Value(json::Object{{"type", json::Value("Lowercase")}}));
  json::setMember(
      *tokenizer, "normalizer",
      json::Value(json::Object{{"type", json::Value("Sequence")}, {"normalizers", json::Value(std::move(stages))}}));
  return json::write(json::Value(std::move(*tokenizer)));
}

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

static constexpr const char *generationFile = "generation_config.json";

void settleGeneration(ConfigReader &config, SideFiles &files) {
  if (files.contains(generationFile))
    return;
  json::Object settled;
  const json::Value *decoder = config.peek("text_config");
  decoder = decoder ? decoder : config.peek("decoder");
  for (const DirectoryKey &key : directoryKeys()) {
    // The ids of tokens with a role are facts of the model.
    if (key.file != generationFile || key.use == DirectoryKey::Use::Harmless || key.name.ends_with("os_token_id"))
      continue;
    const json::Value *value = config.getRaw({key.name});
    value = value || !decoder ? value : decoder->find(key.name);
    // Older versions wrote all defaults, of which this one would be a limit.
    const bool isDefault = value && key.name == "max_length" && value->asInteger() == 20;
    if (value && !value->isNull() && !isDefault)
      settled.emplace_back(key.name, *value);
  }
  if (settled.empty())
    return;
  settled.emplace_back("_file", json::Value("config.json"));
  put(files, generationFile, std::move(settled));
}

json::Value withDecoderStart(const std::string &directory, json::Value config, std::vector<std::string> &notes) {
  constexpr const char *key = "decoder_start_token_id";
  const std::string path = directory + "/" + generationFile;
  if (!entryExists(path))
    return config;
  Expected<json::Value> generation = readDownloadedJson(path, mostBytes);
  const json::Value *start = generation ? generation->find(key) : nullptr;
  if (!start || !start->asInteger())
    return config;
  const json::Value *own = config.find(key);
  if (own && !own->isNull() && own->asInteger() != start->asInteger())
    notes.push_back(shownPath(path) + ": " + key + " is " + json::write(*start) + ", that of config.json " +
                    json::printable(json::write(*own), 40) + "; the former counts");
  json::Object members = *config.asObject();
  json::setMember(members, key, *start);
  return json::Value(std::move(members));
}

//===----------------------------------------------------------------------===//
// Processors
//===----------------------------------------------------------------------===//

Status settleProcessor(const std::string &directory, DefaultClasses classes, SideFiles &files,
                       std::vector<std::string> &notes) {
  const std::string path = directory + "/" + processorSettings;
  if (entryExists(path)) {
    RAPT_ASSIGN_OR_RETURN(json::Value all, readDownloadedJson(path, mostBytes));
    reportKeys(path, processorSettings, all, notes);
    const json::Value *own =
        all.find(classes.processor.ends_with("FeatureExtractor") ? "feature_extractor" : "image_processor");
    if (own && own->isObject()) {
      std::optional<json::Object> other = objectOf(files, processorFile);
      if (other && json::write(json::Value(*other)) != json::write(*own))
        notes.push_back(shownPath(path) + " and " + processorFile + " differ; the former counts, as in transformers 5");
      put(files, processorFile, *own->asObject());
    }
    if (const json::Value *sounds = all.find("feature_extractor");
        !classes.extractor.empty() && sounds && sounds->isObject()) {
      json::Object settled = *sounds->asObject();
      if (!find(settled, "feature_extractor_type"))
        json::setMember(settled, "feature_extractor_type", json::Value(std::string(classes.extractor)));
      reportKeys(path, processorFile, json::Value(settled), notes);
      put(files, extractorFile, std::move(settled));
    }
  }
  std::optional<json::Object> processor = objectOf(files, processorFile);
  if (processor)
    reportKeys(directory + "/" + processorFile, processorFile, json::Value(*processor), notes);
  if (!processor || find(*processor, "image_processor_type") || find(*processor, "feature_extractor_type"))
    return {};
  if (!classes.processor.ends_with("ImageProcessor"))
    return {};
  json::setMember(*processor, "image_processor_type", json::Value(std::string(classes.processor)));
  put(files, processorFile, std::move(*processor));
  return {};
}

} // namespace rapt::huggingface
