//===- GenerationDefaults.cpp - generation_config.json of a GGUF file -------------------===//
#include "lib/Formats/GGUF/TokenizerConfig.h"
#include "lib/Support/Json.h"
#include <cmath>
#include <set>

namespace rapt::gguf {

/// Texts that models end a text or a turn with. A file has room for one such token, and mostly the one for whole texts.
static constexpr std::string_view endTexts[] = {
    "<|eot_id|>", "<|im_end|>",    "<|end|>",         "<|return|>",
    "<|call|>",   "<end_of_turn>", "<|endoftext|>",   "</s>",
    "<|eom_id|>", "<EOT>",         "<|end_of_text|>", "<\uff5cend\u2581of\u2581sentence\uff5c>",
};

/// A normal token of such a text is a piece of text: </s> closes a tag of HTML.
static std::set<int64_t> endsByText(const TokenTable &tokens) {
  std::set<int64_t> ids;
  for (std::string_view text : endTexts) {
    const std::optional<int64_t> id = tokens.find(text);
    if (id && (tokens.isAdded(size_t(*id)) || !tokens.hasKinds()))
      ids.insert(*id);
  }
  // Harmony's <|end|> ends one message of several, of which <|return|> or <|call|> is the last.
  if (tokens.find("<|return|>") && tokens.find("<|call|>"))
    if (const std::optional<int64_t> end = tokens.find("<|end|>"))
      ids.erase(*end);
  return ids;
}

static Expected<json::Array> readEnds(const Metadata &metadata, const TokenTable &tokens) {
  std::set<int64_t> ids = endsByText(tokens);
  for (const char *name : {"eos_token_id", "eot_token_id", "eom_token_id"}) {
    RAPT_ASSIGN_OR_RETURN(const auto id, readTokenId(metadata, tokenizerKey(name), tokens.size()));
    if (id)
      ids.insert(*id);
  }
  if (const std::optional<int64_t> end = tokens.role("eos_token"))
    ids.insert(*end);
  json::Array list;
  for (int64_t id : ids)
    list.push_back(json::Value(id));
  return list;
}

static Status addTokens(const Metadata &metadata, const TokenTable &tokens, json::Object &members) {
  RAPT_ASSIGN_OR_RETURN(json::Array ends, readEnds(metadata, tokens));
  if (!ends.empty())
    members.emplace_back("eos_token_id", json::Value(std::move(ends)));
  for (const auto &[role, key] : {std::pair("bos_token", "bos_token_id"), std::pair("pad_token", "pad_token_id")})
    if (const std::optional<int64_t> id = tokens.role(role))
      members.emplace_back(key, json::Value(*id));
  const std::string key = tokenizerKey("suppress_tokens");
  RAPT_ASSIGN_OR_RETURN(const auto suppressed, metadata.integers(key));
  json::Array list;
  for (int64_t id : suppressed.value_or(Value::Integers())) {
    if (id < 0 || uint64_t(id) >= tokens.size())
      return metadata.fail(key, "has id " + std::to_string(id) + ", but there are " + std::to_string(tokens.size()) +
                                    " tokens");
    list.push_back(json::Value(id));
  }
  if (!list.empty())
    members.emplace_back("suppress_tokens", json::Value(std::move(list)));
  return {};
}

/// Keys of sampling, what generation_config.json calls them, and the value that changes nothing.
struct SamplingKey {
  const char *key, *name;
  double neutral;
};

static constexpr SamplingKey samplingKeys[] = {
    {"general.sampling.temp", "temperature", -1},
    {"general.sampling.top_k", "top_k", -1},
    {"general.sampling.top_p", "top_p", -1},
    {"general.sampling.min_p", "min_p", -1},
    {"general.sampling.penalty_repeat", "repetition_penalty", -1},
    {"general.sampling.xtc_probability", nullptr, 0},
    {"general.sampling.mirostat", nullptr, 0},
};

/// Sampling is meant by a file that has settings for it, unless its temperature is 0.
static Status addSampling(const Metadata &metadata, json::Object &members, std::vector<std::string> &notes) {
  bool samples = false, isGreedy = false;
  for (const SamplingKey &entry : samplingKeys) {
    RAPT_ASSIGN_OR_RETURN(const std::optional<double> given, metadata.number(entry.key));
    if (!given)
      continue;
    if (!entry.name) {
      if (*given != entry.neutral)
        notes.push_back(metadata.fail(entry.key, "is not supported; it is ignored").message);
      continue;
    }
    const std::string_view name = entry.name;
    isGreedy = isGreedy || (name == "temperature" && *given == 0);
    samples = samples || name != "repetition_penalty";
    if (name == "temperature" && *given == 0)
      continue;
    const bool isCount = name == "top_k" && std::abs(*given) < 0x1p53;
    members.emplace_back(name, isCount ? json::Value(int64_t(*given)) : json::Value(*given));
  }
  if (samples)
    members.emplace_back("do_sample", json::Value(!isGreedy));
  return {};
}

Expected<std::string> writeGenerationConfig(const Metadata &metadata, const TokenTable *tokens,
                                            std::vector<std::string> &notes) {
  json::Object members;
  if (tokens)
    RAPT_RETURN_IF_ERROR(addTokens(metadata, *tokens, members));
  RAPT_RETURN_IF_ERROR(addSampling(metadata, members, notes));
  return json::write(json::Value(std::move(members)));
}

} // namespace rapt::gguf
