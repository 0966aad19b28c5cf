//===- SpeechConfig.cpp ----------------------------------------------------===//
#include "lib/Generation/SpeechConfig.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace rapt {
namespace {

std::optional<int32_t> readId(const json::Value &value) {
  const std::optional<int64_t> id = value.asInteger();
  return id && *id >= 0 && *id <= INT32_MAX ? std::optional(int32_t(*id)) : std::nullopt;
}

/// "en" of "<|en|>"; other texts as they are.
std::string_view withoutMarks(std::string_view token) {
  if (token.size() > 4 && token.starts_with("<|") && token.ends_with("|>"))
    return token.substr(2, token.size() - 4);
  return token;
}

Status readNames(const json::Value &value, const std::string &where, SpeechConfig::Names &names) {
  if (!value.isObject())
    return Error{where + ": is not an object of names and token ids"};
  for (const auto &[name, id] : *value.asObject()) {
    const std::optional<int32_t> number = readId(id);
    if (!number)
      return Error{where + ": " + json::printable(name) + " is " + json::printable(json::write(id), 60) +
                   ", but expected a token id"};
    names[std::string(withoutMarks(name))] = *number;
  }
  return {};
}

Status readName(const json::Value &value, const std::string &where, std::string &name) {
  if (!value.isString())
    return Error{where + ": is not a text"};
  name = *value.asString();
  return {};
}

std::string quoted(std::string_view text) { return "'" + json::printable(text) + "'"; }

const std::string kFile = "generation_config.json";

} // namespace

/// Pairs of a position and a token.
Status SpeechConfig::readForced(const json::Value &value, const std::string &where) {
  const Error refused{where + ": is not a list of pairs of a position and a token id"};
  if (!value.isArray())
    return refused;
  for (const json::Value &pair : *value.asArray()) {
    if (!pair.isArray() || pair.asArray()->size() != 2 || !readId(pair.asArray()->front()))
      return refused;
    const json::Value &token = pair.asArray()->back();
    if (token.isNull())
      continue; // a language that is to be detected
    const std::optional<int32_t> id = readId(token);
    if (!id)
      return refused;
    forced.push_back(*id);
  }
  return {};
}

/// Members about windows that are written again, and about text that a window knows.
std::optional<Status> SpeechConfig::readFallback(std::string_view key, const json::Value &value,
                                                 const std::string &where) {
  struct Threshold {
    std::string_view key;
    std::optional<double> &number;
  };
  for (const Threshold &one : {Threshold{"compression_ratio_threshold", thresholds.compressionRatio},
                               Threshold{"logprob_threshold", thresholds.meanLogProbability},
                               Threshold{"no_speech_threshold", thresholds.noSpeech}})
    if (key == one.key) {
      one.number = value.asNumber();
      return one.number || value.isNull() ? Status() : Status(Error{where + ": is not a number"});
    }
  if (key == "temperature" && value.isArray()) {
    for (const json::Value &entry : *value.asArray()) {
      const double temperature = entry.asNumber().value_or(-1);
      if (!(temperature >= 0) || !std::isfinite(temperature))
        return Error{where + " has " + json::printable(json::write(entry), 60) + ", expected a number from 0 on"};
      temperatures.push_back(temperature);
    }
    return temperatures.size() <= mostTemperatures
               ? Status()
               : Status(Error{where + ": has " + std::to_string(temperatures.size()) + " numbers; at most " +
                              std::to_string(mostTemperatures) + " are supported"});
  }
  if (key == "condition_on_prev_tokens") {
    knowsPrevious = value.asBool().value_or(false);
    return value.asBool() || value.isNull() ? Status() : Status(Error{where + ": is neither true nor false"});
  }
  if (key == "prev_sot_token_id") {
    previous = readId(value);
    return previous || value.isNull() ? Status() : Status(Error{where + ": is not a token id"});
  }
  if (key == "prompt_condition_type" && value.isString() && *value.asString() == "first-segment")
    return Status();
  return std::nullopt;
}

const char *SpeechConfig::memberOfSpeech() const {
  return thresholds.compressionRatio     ? "compression_ratio_threshold"
         : thresholds.meanLogProbability ? "logprob_threshold"
         : thresholds.noSpeech           ? "no_speech_threshold"
         : !temperatures.empty()         ? "a list of temperatures"
         : knowsPrevious                 ? "condition_on_prev_tokens"
                                         : nullptr;
}

std::optional<Status> SpeechConfig::read(std::string_view key, const json::Value &value, const std::string &where) {
  const bool isNull = value.isNull();
  if (key == "lang_to_id")
    return isNull ? Status() : readNames(value, where, languages);
  if (key == "task_to_id")
    return isNull ? Status() : readNames(value, where, tasks);
  if (key == "forced_decoder_ids")
    return isNull ? Status() : readForced(value, where);
  if (key == "language")
    return isNull ? Status() : readName(value, where, language);
  if (key == "task")
    return isNull ? Status() : readName(value, where, task);
  if (key == "no_timestamps_token_id") {
    noTimestamps = readId(value);
    return noTimestamps || isNull ? Status() : Status(Error{where + ": is not a token id"});
  }
  if (key == "max_initial_timestamp_index") {
    const std::optional<int32_t> index = readId(value);
    if (index)
      lastInitial = *index;
    return index || isNull ? Status() : Status(Error{where + ": is not a count"});
  }
  if (key == "is_multilingual" || key == "return_timestamps") {
    const std::optional<bool> flag = value.asBool();
    if (key == "is_multilingual")
      multilingual = flag;
    else
      timestamps = flag.value_or(false);
    return flag || isNull ? Status() : Status(Error{where + ": is neither true nor false"});
  }
  return readFallback(key, value, where);
}

void SpeechConfig::findTokens(const FindToken &find) {
  const auto add = [&](Names &names, std::string_view name) {
    if (const int32_t id = find("<|" + std::string(name) + "|>"); id >= 0)
      names.emplace(name, id);
  };
  if (languages.empty())
    for (const SpeechLanguage &known : speechLanguages())
      add(languages, known.code);
  if (tasks.empty())
    for (std::string_view known : {"transcribe", "translate"})
      add(tasks, known);
  if (!noTimestamps) {
    if (const int32_t id = find("<|notimestamps|>"); id >= 0)
      noTimestamps = id;
    else if (const int32_t first = find("<|0.00|>"); first > 0)
      noTimestamps = first - 1;
  }
  if (const int32_t id = find("<|startofprev|>"); id >= 0 && !previous)
    previous = id;
  for (std::string_view token : {"<|nospeech|>", "<|nocaptions|>"})
    if (const int32_t id = find(token); id >= 0 && !noSpeech)
      noSpeech = id;
  if (!noSpeech && noTimestamps && *noTimestamps > 0)
    noSpeech = *noTimestamps - 1;
}

/// The forced tokens are defaults that the members `language` and `task` replace.
Status SpeechConfig::obeyForced() {
  for (const int32_t id : forced) {
    const auto isId = [&](const auto &entry) { return entry.second == id; };
    if (id == noTimestamps)
      continue; // a request for timestamps decides
    if (auto found = std::ranges::find_if(languages, isId); found != languages.end())
      language = language.empty() ? found->first : language;
    else if (found = std::ranges::find_if(tasks, isId); found != tasks.end())
      task = task.empty() ? found->first : task;
    else
      return Error{kFile + ": forced_decoder_ids has the id " + std::to_string(id) +
                   ", which is neither a language nor a task"};
  }
  return {};
}

Status SpeechConfig::checkDefaults() {
  if (!language.empty()) {
    const std::optional<std::string> code = findLanguage(language);
    if (!code)
      return Error{kFile + ": language is " + quoted(language) + ", which the model does not know"};
    language = *code;
  }
  if (!task.empty() && !tasks.count(task))
    return Error{kFile + ": task is " + quoted(task) + ", which the model does not know"};
  return {};
}

Status SpeechConfig::complete(int64_t vocabulary, const FindToken &find) {
  const bool hasLanguages = !languages.empty();
  findTokens(find);
  // Tokenizers of models for English have tokens of all languages, too: their prompt alone shows the difference.
  const bool isEnglish =
      !hasLanguages && !forced.empty() && std::ranges::all_of(forced, [&](int32_t id) { return id == noTimestamps; });
  if (!multilingual.value_or(!languages.empty() && !tasks.empty() && !isEnglish)) {
    languages.clear(), tasks.clear(), forced.clear(), language.clear(), task.clear();
  }
  multilingual = !languages.empty();
  const auto refused = [&](const std::string &what, int32_t id) {
    return Error{kFile + ": the token of " + what + " is " + std::to_string(id) + "; the model's vocabulary is 0 to " +
                 std::to_string(vocabulary - 1)};
  };
  for (const Names *names : {&languages, &tasks})
    for (const auto &[name, id] : *names)
      if (id >= vocabulary)
        return refused(quoted(name), id);
  if (noTimestamps && *noTimestamps >= vocabulary)
    return refused("no_timestamps_token_id", *noTimestamps);
  if (previous && *previous >= vocabulary)
    return refused("prev_sot_token_id", *previous);
  if (noSpeech && *noSpeech >= vocabulary)
    return refused("silence", *noSpeech);
  if (*multilingual && !tasks.count("transcribe"))
    return Error{kFile + ": task_to_id has no 'transcribe'"};
  RAPT_RETURN_IF_ERROR(obeyForced());
  return checkDefaults();
}

std::optional<std::string> SpeechConfig::findLanguage(std::string_view name) const {
  std::string code(withoutMarks(name));
  std::ranges::transform(code, code.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  for (const SpeechLanguage &known : speechLanguages())
    if (code == known.name)
      code = known.code;
  return languages.count(code) ? std::optional(code) : std::nullopt;
}

} // namespace rapt
