//===- ConfigReader.cpp - Getters that remember -----------------------------===//
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/File.h"
#include "lib/Support/Spelling.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

using namespace rapt;
using namespace rapt::huggingface;

/// Keys of transformers' PretrainedConfig, and traces of tools, that do not change what a forward pass computes. Kept
/// sorted. Those that do (is_decoder, add_cross_attention, tie_word_embeddings, ...) are for a family to read.
static constexpr std::string_view harmlessForAll[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_attn_implementation_internal",
    "_commit_hash",
    "_flash_attn_2_enabled",
    "_name_or_path",
    "_num_labels",
    "_pre_quantization_dtype",
    "architectures",
    "attn_implementation",
    "auto_map",
    "bad_words_ids",
    "base_model_name_or_path",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "custom_pipelines",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "encoder_no_repeat_ngram_size",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "id2label",
    "initializer_range",
    "label2id",
    "length_penalty",
    "max_length",
    "min_length",
    "model_type",
    "no_repeat_ngram_size",
    "num_beam_groups",
    "num_beams",
    "num_labels",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_past",
    "output_scores",
    "pad_token_id",
    "prefix",
    "problem_type",
    "remove_invalid_values",
    "repetition_penalty",
    "return_dict",
    "return_dict_in_generate",
    "sbert_ce_default_activation_function", // of results, as the next
    "sentence_transformers",
    "sep_token_id",
    "suppress_tokens",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "use_bfloat16",
    "use_cache",
};
static_assert(std::is_sorted(std::begin(harmlessForAll), std::end(harmlessForAll)));

/// Whether no family's results depend on the key. Rates at which training leaves something out never matter.
static bool isHarmless(std::string_view key) {
  for (std::string_view rate : {"dropout", "layerdrop", "pdrop", "drop_path"})
    if (key.find(rate) != key.npos)
      return true;
  return std::find(std::begin(harmlessForAll), std::end(harmlessForAll), key) != std::end(harmlessForAll) ||
         findDirectoryKey("generation_config.json", key) || // whose keys config.json may have had first
         key.starts_with("unsloth_");                       // of a tool that trains
}

/// null, false and empty values say nothing.
static bool isAbsent(const json::Value &value) {
  if (value.isNull() || value.asBool() == false)
    return true;
  if (const std::string *text = value.asString())
    return text->empty();
  if (const json::Array *array = value.asArray())
    return array->empty();
  return value.isObject() && value.asObject()->empty();
}

/// Whether an unknown text may change the results: its key has a word of a model's parts. Names, licenses, languages
/// and strategies of training do not.
static bool mayConcernModel(std::string_view key) {
  static constexpr std::string_view words[] = {
      "act",    "attn",   "attention", "bias",   "cache", "cell",       "conv",  "direction", "dtype", "embed",
      "ffn",    "fn",     "func",      "gate",   "head",  "kernel",     "kind",  "layer",     "loss",  "mask",
      "method", "mlp",    "mode",      "norm",   "order", "pad_",       "pool",  "posit",     "prec",  "quant",
      "rope",   "rotary", "scal",      "scheme", "score", "similarity", "state", "type",      "window"};
  // "model" and "pad_token" describe.
  return std::ranges::any_of(words, [&](std::string_view word) {
    size_t at = key.find(word);
    if (word == "mode" && at != key.npos && key.substr(at).starts_with("model"))
      at = key.find(word, at + 1);
    return at != key.npos && !(word == "pad_" && key == "pad_token");
  });
}

/// A text, or texts with commas between them; nothing for other values.
static std::optional<std::string> textOf(const json::Value &value) {
  if (const std::string *text = value.asString())
    return *text;
  const json::Array *list = value.asArray();
  if (!list || !std::ranges::all_of(*list, [](const json::Value &one) { return one.isString(); }))
    return std::nullopt;
  std::string texts;
  for (const json::Value &one : *list)
    texts += (texts.empty() ? "" : ", ") + *one.asString();
  return texts;
}

static std::string shownKey(std::string_view key) { return json::printable(key, 100); }

static std::string shownValue(const json::Value &value) {
  std::string text = json::printable(json::write(value), 100);
  return value.isString() ? text + " (a string)" : text;
}

static bool sameValue(const json::Value &a, const json::Value &b) {
  std::optional<double> x = a.asNumber(), y = b.asNumber();
  return x && y ? *x == *y : json::write(a) == json::write(b);
}

ConfigReader::ConfigReader(json::Value object, std::string file, std::shared_ptr<UnknownKeys> unknown)
    : root(std::move(object)), path(std::move(file)),
      unknown(unknown ? std::move(unknown) : std::make_shared<UnknownKeys>()) {}

ConfigReader::Found ConfigReader::find(const Keys &keys) {
  Found found{keys.names.front(), nullptr};
  for (const std::string &name : keys.names) {
    read.insert(name);
    const json::Value *value = root.find(name);
    if (!value || value->isNull())
      continue;
    if (!found.value)
      found = {name, value};
    else if (!sameValue(*found.value, *value))
      fail(scope + shownKey(found.name) + " is " + shownValue(*found.value) + " and " + scope + shownKey(name) +
           ", which means the same, is " + shownValue(*value));
  }
  return found;
}

void ConfigReader::wrong(const Found &found, const std::string &needed) {
  if (found.value)
    fail(scope + shownKey(found.name) + " is " + shownValue(*found.value) + ", must be " + needed);
  else
    fail(scope + shownKey(found.name) + " is missing, must be " + needed);
}

std::vector<std::string_view> ConfigReader::keys() const {
  std::vector<std::string_view> names;
  if (const json::Object *members = root.asObject())
    for (const auto &[key, value] : *members)
      names.push_back(key);
  return names;
}

void ConfigReader::fail(std::string finding) { findings.push_back(std::move(finding)); }

void ConfigReader::requireMultiple(std::string_view key, int64_t number, std::string_view divisorKey, int64_t divisor) {
  if (findings.empty() && number % divisor != 0)
    fail(std::string(key) + " " + std::to_string(number) + " is not a multiple of " + std::string(divisorKey) + " " +
         std::to_string(divisor));
}

//===----------------------------------------------------------------------===//
// Getters
//===----------------------------------------------------------------------===//

std::optional<int64_t> ConfigReader::readInt(const Keys &keys, int64_t least, int64_t most, bool required) {
  Found found = find(keys);
  if (!found.value && !required)
    return std::nullopt;
  std::optional<int64_t> value = found.value ? found.value->asInteger() : std::nullopt;
  if (value && *value >= least && *value <= most)
    return value;
  wrong(found, least == most ? std::to_string(least)
                             : "an integer from " + std::to_string(least) + " to " + std::to_string(most));
  return std::nullopt;
}

int64_t ConfigReader::getInt(Keys keys, int64_t least, int64_t most) {
  return readInt(keys, least, most, /*required=*/true).value_or(least);
}
int64_t ConfigReader::getInt(Keys keys, int64_t least, int64_t most, int64_t fallback) {
  return readInt(keys, least, most, /*required=*/false).value_or(fallback);
}
std::optional<int64_t> ConfigReader::getOptionalInt(Keys keys, int64_t least, int64_t most) {
  return readInt(keys, least, most, /*required=*/false);
}

int64_t ConfigReader::getSize(Keys keys, int64_t least, int64_t most, int64_t fallback) {
  auto isGiven = [&](const std::string &name) { return peek(name) && !peek(name)->isNull(); };
  if (std::ranges::none_of(keys.names, isGiven))
    assumed.emplace_back(keys.names.front(), fallback);
  return getInt(std::move(keys), least, most, fallback);
}

std::string ConfigReader::assumedSizes() const {
  std::string names, values;
  for (size_t i = 0; i < assumed.size(); ++i) {
    const char *separator = i == 0 ? "" : i + 1 == assumed.size() ? " and " : ", ";
    names += separator + assumed[i].first;
    values += separator + std::to_string(assumed[i].second);
  }
  return assumed.empty() ? ""
                         : "has no " + names + ": taken " + (assumed.size() > 1 ? "are " : "is ") + values +
                               ", the family's default" + (assumed.size() > 1 ? "s" : "");
}

HeightWidth ConfigReader::getHeightWidth(Keys keys, int64_t least, int64_t most, int64_t fallback) {
  Found found = find(keys);
  const json::Array *list = found.value ? found.value->asArray() : nullptr;
  auto fits = [&](const json::Value &value) {
    return value.asInteger() && *value.asInteger() >= least && *value.asInteger() <= most;
  };
  if (list && list->size() == 2 && fits((*list)[0]) && fits((*list)[1]))
    return {*(*list)[0].asInteger(), *(*list)[1].asInteger()};
  if (!found.value) {
    assumed.emplace_back(keys.names.front(), fallback);
    return {fallback, fallback};
  }
  if (fits(*found.value))
    return {*found.value->asInteger(), *found.value->asInteger()};
  wrong(found,
        "an integer from " + std::to_string(least) + " to " + std::to_string(most) + ", or two, [height, width]");
  return {fallback, fallback};
}

std::optional<double> ConfigReader::readFloat(const Keys &keys, double least, double most, bool required,
                                              bool positive) {
  Found found = find(keys);
  if (!found.value && !required)
    return std::nullopt;
  std::optional<double> value = found.value ? found.value->asNumber() : std::nullopt;
  if (value && std::isfinite(*value) && *value <= most && (positive ? *value > least : *value >= least))
    return value;
  wrong(found, positive        ? "a number above 0, at most " + json::shownNumber(most)
               : least == most ? json::shownNumber(most)
                               : "a number from " + json::shownNumber(least) + " to " + json::shownNumber(most));
  return std::nullopt;
}

double ConfigReader::getFloat(Keys keys, double least, double most) {
  return readFloat(keys, least, most, /*required=*/true, /*positive=*/false).value_or(least);
}
double ConfigReader::getFloat(Keys keys, double least, double most, double fallback) {
  return readFloat(keys, least, most, /*required=*/false, /*positive=*/false).value_or(fallback);
}
double ConfigReader::getPositive(Keys keys, double most) {
  return readFloat(keys, 0, most, /*required=*/true, /*positive=*/true).value_or(most);
}
double ConfigReader::getPositive(Keys keys, double most, double fallback) {
  return readFloat(keys, 0, most, /*required=*/false, /*positive=*/true).value_or(fallback);
}

bool ConfigReader::getBool(Keys keys, bool fallback) {
  Found found = find(keys);
  if (!found.value)
    return fallback;
  if (std::optional<bool> value = found.value->asBool())
    return *value;
  wrong(found, "true or false");
  return fallback;
}

std::string ConfigReader::getString(Keys keys, std::string fallback) {
  Found found = find(keys);
  if (!found.value)
    return fallback;
  if (const std::string *value = found.value->asString())
    return *value;
  wrong(found, "a string");
  return fallback;
}

std::optional<std::string> ConfigReader::readEnum(const Keys &keys, std::span<const std::string_view> allowed,
                                                  bool required) {
  Found found = find(keys);
  if (!found.value && !required)
    return std::nullopt;
  const std::string *value = found.value ? found.value->asString() : nullptr;
  if (value && std::find(allowed.begin(), allowed.end(), *value) != allowed.end())
    return *value;
  std::string list;
  for (size_t i = 0; i < allowed.size(); ++i)
    list += (i == 0 ? "" : i + 1 == allowed.size() ? " or " : ", ") + std::string(allowed[i]);
  wrong(found, list);
  return std::nullopt;
}

std::string ConfigReader::getEnum(Keys keys, std::span<const std::string_view> allowed) {
  return readEnum(keys, allowed, /*required=*/true).value_or(std::string(allowed.front()));
}
std::string ConfigReader::getEnum(Keys keys, std::span<const std::string_view> allowed, std::string_view fallback) {
  return readEnum(keys, allowed, /*required=*/false).value_or(std::string(fallback));
}

const json::Value *ConfigReader::getRaw(Keys keys) { return find(keys).value; }

std::optional<ConfigReader> ConfigReader::open(Keys keys) {
  Found found = find(keys);
  if (!found.value)
    return std::nullopt;
  if (!found.value->isObject()) {
    wrong(found, "an object");
    return std::nullopt;
  }
  ConfigReader nested(*found.value, path, unknown);
  nested.scope = scope + found.name + ".";
  return nested;
}

void ConfigReader::close(ConfigReader nested, const std::vector<std::string_view> &harmless) {
  nested.checkUnknown(harmless);
  findings.insert(findings.end(), nested.findings.begin(), nested.findings.end());
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

Status ConfigReader::errors() const {
  if (findings.empty())
    return {};
  std::string message = shownPath(path) + ": ";
  for (size_t i = 0; i < findings.size(); ++i)
    message += (i ? "; " : "") + findings[i];
  return Error{message};
}

void ConfigReader::checkUnknown(const std::vector<std::string_view> &harmless) {
  constexpr size_t mostNamed = 50;
  std::vector<std::string> refused;
  auto contains = [](const auto &list, std::string_view key) {
    return std::find(std::begin(list), std::end(list), key) != std::end(list);
  };
  if (const json::Object *members = root.asObject())
    for (const auto &[key, value] : *members) {
      if (isAbsent(value) || read.contains(key) || isHarmless(key) || contains(harmless, key))
        continue;
      if (contains(unknown->ignored, nameOf(key)))
        unknown->needed.insert(nameOf(key));
      else if (std::optional<std::string> text = textOf(value); text && !mayConcernModel(key))
        unknown->texts.emplace_back(path, nameOf(shownKey(key)) + " (" + json::printable(*text, 60) + ")");
      else
        refused.push_back("unknown key " + scope + shownKey(key) + " with value " + shownValue(value) +
                          " may change the results; if it does not: --ignore-config-key=" + scope + shownKey(key));
    }
  for (size_t i = 0; i < refused.size() && i < mostNamed; ++i)
    fail(std::move(refused[i]));
  if (refused.size() > mostNamed)
    fail("and " + std::to_string(refused.size() - mostNamed) + " more unknown keys");
}

Status ConfigReader::finish(const std::vector<std::string_view> &harmless) {
  checkUnknown(harmless);
  return errors();
}

std::vector<std::string> ConfigReader::unreadTexts() const {
  constexpr size_t mostNamed = 10;
  std::map<std::string_view, std::vector<std::string_view>> files;
  for (const auto &[file, text] : unknown->texts)
    files[file].push_back(text);
  std::vector<std::string> lines;
  for (const auto &[file, texts] : files) {
    std::string line = shownPath(std::string(file)) + ": nothing reads ";
    for (size_t i = 0; i < texts.size() && i < mostNamed; ++i)
      line += std::string(i ? ", " : "") + std::string(texts[i]);
    lines.push_back(line + (texts.size() > mostNamed ? ", ..." : ""));
  }
  return lines;
}

std::vector<std::string> ConfigReader::needlessIgnores() const {
  std::vector<std::string> lines;
  for (const std::string &key : unknown->ignored) {
    if (unknown->needed.contains(key))
      continue;
    const std::string why = !root.find(key)      ? "there is no such key" + didYouMean(findNearest(key, keys()))
                            : read.contains(key) ? "it is understood and was used"
                                                 : "it does not change the results";
    lines.push_back(shownPath(path) + ": --ignore-config-key=" + shownKey(key) + " was not needed: " + why);
  }
  return lines;
}
