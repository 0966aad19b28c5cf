//===- GenerationConfig.cpp ------------------------------------------------===//
#include "lib/Generation/GenerationConfig.h"
#include "lib/Support/DirectoryKeys.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

namespace rapt {

static const std::string kFile = "generation_config.json";

/// Members that change the output, with the value at which they do not.
static const std::map<std::string_view, double> neutralValues = {{"num_beam_groups", 1},
                                                                 {"diversity_penalty", 0},
                                                                 {"penalty_alpha", 0},
                                                                 {"typical_p", 1},
                                                                 {"epsilon_cutoff", 0},
                                                                 {"eta_cutoff", 0},
                                                                 {"encoder_no_repeat_ngram_size", 0},
                                                                 {"encoder_repetition_penalty", 1},
                                                                 {"guidance_scale", 1},
                                                                 {"top_h", 1}};

static bool isAbsent(const json::Value &value) {
  return value.isNull() || value.asBool() == false || (value.isString() && value.asString()->empty()) ||
         (value.isArray() && value.asArray()->empty()) || (value.isObject() && value.asObject()->empty());
}

static Expected<json::Value> parseObject(std::string_view content, const std::string &file) {
  RAPT_ASSIGN_OR_RETURN(json::Value root, withContext(file, json::parse(content)));
  if (!root.isObject())
    return Error{file + ": is not a JSON object"};
  return root;
}

static Expected<std::vector<int32_t>> readIds(const json::Value &value, const std::string &where) {
  std::vector<int32_t> ids;
  json::Array single = {value};
  for (const json::Value &entry : value.isArray() ? *value.asArray() : single) {
    std::optional<int64_t> id = entry.asInteger();
    if (!id || *id < 0 || *id > INT32_MAX)
      return Error{where + ": is neither a token id nor a list of them"};
    ids.push_back(int32_t(*id));
  }
  return ids;
}

Expected<std::vector<int32_t>> readEndIds(std::string_view content, const std::string &file) {
  RAPT_ASSIGN_OR_RETURN(json::Value root, parseObject(content, file));
  const json::Value *value = root.find("eos_token_id");
  return value && !value->isNull() ? readIds(*value, file + ": eos_token_id") : std::vector<int32_t>();
}

std::vector<int32_t> uniteIds(std::initializer_list<std::vector<int32_t>> lists) {
  std::set<int32_t> all;
  for (const auto &list : lists)
    all.insert(list.begin(), list.end());
  return {all.begin(), all.end()};
}

namespace {
/// Fills one member of the configuration from the file's value.
using Setter = std::function<Status(GenerationConfig &, const json::Value &, const std::string &where)>;
} // namespace

static Setter number(std::optional<double> GenerationConfig::*member) {
  return [member](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
    config.*member = value.asNumber();
    return config.*member ? Status() : Status(Error{where + ": is not a number"});
  };
}

static Setter count(std::optional<int64_t> GenerationConfig::*member) {
  return [member](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
    config.*member = value.asInteger();
    if (!(config.*member) || *(config.*member) < 0)
      return Error{where + ": is not a count"};
    return {};
  };
}

static Setter positive(int64_t GenerationConfig::*member) {
  return [member](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
    config.*member = value.asInteger().value_or(0);
    return config.*member > 0 ? Status() : Status(Error{where + ": is not a number from 1 on"});
  };
}

static Setter rule(int64_t TokenRules::*member) {
  return [member](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
    config.rules.*member = value.asInteger().value_or(-1);
    return config.rules.*member >= 0 ? Status() : Status(Error{where + ": is not a count"});
  };
}

static Setter ruleIds(std::vector<int32_t> TokenRules::*member) {
  return [member](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
    RAPT_ASSIGN_OR_RETURN(std::vector<int32_t> ids, readIds(value, where));
    config.rules.*member = uniteIds({config.rules.*member, ids});
    return {};
  };
}

/// The ids of one sequence: a list of at least one.
static Expected<std::vector<int32_t>> readSequence(const json::Value &value, const std::string &where) {
  if (!value.isArray() || value.asArray()->empty())
    return Error{where + " has " + json::printable(json::write(value), 60) + ", expected a list of token ids"};
  return readIds(value, where);
}

static Status checkSequences(const GenerationConfig &config, const std::string &where) {
  const size_t number = config.rules.sequences.size();
  return number <= mostSequences
             ? Status()
             : Status(Error{where + ": there are " + std::to_string(number) + " sequences of tokens; at most " +
                            std::to_string(mostSequences) + " are supported"});
}

/// Lists of one id are those that never come, but for the ends; of longer ones the last id never comes behind the
/// others.
static Status readBadWords(GenerationConfig &config, const json::Value &value, const std::string &where) {
  for (const json::Value &word : value.isArray() ? *value.asArray() : json::Array{value}) {
    RAPT_ASSIGN_OR_RETURN(std::vector<int32_t> ids, readSequence(word, where));
    if (ids.size() == 1)
      config.badWords.push_back(ids.front());
    else
      config.rules.sequences.push_back({std::move(ids), -std::numeric_limits<double>::infinity()});
  }
  return checkSequences(config, where);
}

/// [[ids, bias], ..]; the last one of equal ids counts.
static Status readSequenceBias(GenerationConfig &config, const json::Value &value, const std::string &where) {
  std::map<std::vector<int32_t>, double> biases;
  for (const json::Value &entry : value.isArray() ? *value.asArray() : json::Array{value}) {
    const json::Array *pair = entry.asArray();
    const std::optional<double> bias = pair && pair->size() == 2 ? (*pair)[1].asNumber() : std::nullopt;
    if (!bias || !std::isfinite(float(*bias)))
      return Error{where + " has " + json::printable(json::write(entry), 60) +
                   ", expected a list of token ids and a number"};
    RAPT_ASSIGN_OR_RETURN(std::vector<int32_t> ids, readSequence((*pair)[0], where));
    biases[std::move(ids)] = *bias;
  }
  for (const auto &[ids, bias] : biases)
    config.rules.sequences.push_back({ids, bias});
  return checkSequences(config, where);
}

static Status readEarlyStopping(GenerationConfig &config, const json::Value &value, const std::string &where) {
  bool never = value.isString() && *value.asString() == "never";
  config.earlyStopping = never ? EarlyStopping::Never : EarlyStopping::Yes; // false counts as absent
  return never || value.asBool() ? Status() : Status(Error{where + ": is neither true, false nor \"never\""});
}

static Status readLengthPenalty(GenerationConfig &config, const json::Value &value, const std::string &where) {
  config.lengthPenalty = value.asNumber().value_or(NAN);
  return std::isfinite(config.lengthPenalty) ? Status() : Status(Error{where + ": is not a finite number"});
}

/// Refuses members of a file that contradict each other.
static Status checkTogether(const GenerationConfig &config, const std::string &file) {
  auto refused = [&](const char *key, int64_t value, const std::string &why) {
    return Error{file + ": " + key + " is " + std::to_string(value) + why};
  };
  if (!config.speech.forced.empty() && !config.speech.isGiven() && config.rules.bannedFirst.empty())
    return Error{file + ": forced_decoder_ids would change the output and is supported for speech only"};
  if (const char *member = config.speech.memberOfSpeech(); member && !config.speech.isGiven())
    return Error{file + ": " + member + " would change the output and is supported for speech only"};
  if (config.beams > mostBeams)
    return refused("num_beams", config.beams, ", but at most " + std::to_string(mostBeams) + " are supported");
  if (config.beams > 1 && config.sample)
    return refused("num_beams", config.beams, " with do_sample: sampled beams are not supported");
  if (config.beams > 1 && !config.stopStrings.empty())
    return refused("num_beams", config.beams, " with stop_strings: beams do not end at a text");
  if (config.returned > config.beams)
    return refused("num_return_sequences", config.returned,
                   config.beams > 1 ? ", which is more than num_beams" : ", which is supported with beams only");
  return {};
}

static Status readStopStrings(GenerationConfig &config, const json::Value &value, const std::string &where) {
  json::Array single = {value};
  for (const json::Value &entry : value.isArray() ? *value.asArray() : single) {
    if (!entry.isString() || entry.asString()->empty())
      return Error{where + ": is neither a string nor a list of strings"};
    config.stopStrings.push_back(*entry.asString());
  }
  if (config.stopStrings.size() > mostStopStrings)
    return Error{where + ": has " + std::to_string(config.stopStrings.size()) + " strings; at most " +
                 std::to_string(mostStopStrings) + " are supported"};
  return {};
}

static const std::map<std::string_view, Setter> &obeyedKeys() {
  static const std::map<std::string_view, Setter> keys = {
      {"temperature", number(&GenerationConfig::temperature)},
      {"top_p", number(&GenerationConfig::topP)},
      {"min_p", number(&GenerationConfig::minP)},
      {"repetition_penalty", number(&GenerationConfig::repetitionPenalty)},
      {"top_k", count(&GenerationConfig::topK)},
      {"max_new_tokens", count(&GenerationConfig::maxNewTokens)},
      {"max_length", count(&GenerationConfig::maxLength)},
      {"no_repeat_ngram_size", rule(&TokenRules::noRepeatNgram)},
      {"min_length", rule(&TokenRules::minLength)},
      {"min_new_tokens", rule(&TokenRules::minNewTokens)},
      {"forced_bos_token_id", ruleIds(&TokenRules::first)},
      {"forced_eos_token_id", ruleIds(&TokenRules::last)},
      {"suppress_tokens", ruleIds(&TokenRules::banned)},
      {"begin_suppress_tokens", ruleIds(&TokenRules::bannedFirst)},
      {"bad_words_ids", readBadWords},
      {"sequence_bias", readSequenceBias},
      {"renormalize_logits",
       [](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
         config.rules.renormalizes = value.asBool().value_or(false);
         return value.asBool() ? Status() : Status(Error{where + ": is neither true nor false"});
       }},
      {"stop_strings", readStopStrings},
      {"num_beams", positive(&GenerationConfig::beams)},
      {"num_return_sequences", positive(&GenerationConfig::returned)},
      {"early_stopping", readEarlyStopping},
      {"length_penalty", readLengthPenalty},
      {"do_sample",
       [](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
         config.sample = value.asBool().value_or(false);
         return value.asBool() ? Status() : Status(Error{where + ": is neither true nor false"});
       }},
      {"eos_token_id",
       [](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
         RAPT_ASSIGN_OR_RETURN(config.endIds, readIds(value, where));
         return {};
       }},
      {"bos_token_id", [](GenerationConfig &config, const json::Value &value, const std::string &where) -> Status {
         Expected<std::vector<int32_t>> ids = readIds(value, where);
         if (!ids || ids->size() != 1)
           return Error{where + ": is not a token id"};
         config.beginId = ids->front();
         return {};
       }}};
  return keys;
}

/// The rule of timestamps, where the file asks for them.
static void obeyTimestamps(GenerationConfig &config) {
  const SpeechConfig &speech = config.speech;
  if (!speech.timestamps || !speech.noTimestamps)
    return;
  TimestampRule &rule = config.rules.timestamps;
  rule.begin = int64_t(*speech.noTimestamps) + 1;
  rule.text = config.endIds.empty() ? rule.begin : std::min<int64_t>(std::ranges::min(config.endIds), rule.begin);
  rule.initial = speech.lastInitial ? *speech.lastInitial + 1 : 0;
}

Expected<GenerationConfig> readGenerationConfig(std::string_view content) {
  RAPT_ASSIGN_OR_RETURN(json::Value root, parseObject(content, kFile));
  // Where config.json has the members, the importer says so.
  const json::Value *origin = root.find("_file");
  const std::string file = origin && origin->asString() ? *origin->asString() : kFile;
  GenerationConfig config;
  for (const auto &[key, value] : *root.asObject()) {
    std::string where = file + ": " + json::printable(key);
    if (std::optional<Status> status = config.speech.read(key, value, where)) {
      if (!*status)
        return status->error();
      continue;
    }
    // The first token of a decoder is a fact of the model.
    if (isAbsent(value) || isHarmlessKey(kFile, key) || key == "decoder_start_token_id")
      continue;
    if (auto obeyed = obeyedKeys().find(key); obeyed != obeyedKeys().end()) {
      RAPT_RETURN_IF_ERROR(obeyed->second(config, value, where));
      continue;
    }
    auto neutral = neutralValues.find(key);
    if (neutral != neutralValues.end() && value.asNumber() == neutral->second)
      continue;
    std::string error = where + " is " + json::printable(json::write(value), 60) +
                        ", which would change the output and is not supported";
    if (neutral != neutralValues.end())
      error += "; its neutral value is " + std::to_string(int(neutral->second));
    return Error{error};
  }
  RAPT_RETURN_IF_ERROR(checkTogether(config, file));
  obeyTimestamps(config);
  std::erase_if(config.badWords, [&](int32_t id) { return std::ranges::count(config.endIds, id) > 0; });
  config.rules.banned = uniteIds({config.rules.banned, config.badWords});
  return config;
}

SamplingOptions GenerationConfig::sampling(uint64_t seed) const {
  SamplingOptions options;
  options.seed = seed;
  options.repetitionPenalty = repetitionPenalty.value_or(1);
  if (!sample)
    return options;
  options.temperature = temperature.value_or(1);
  options.topK = topK.value_or(50);
  options.topP = topP.value_or(1);
  options.minP = minP.value_or(0);
  return options;
}

} // namespace rapt
