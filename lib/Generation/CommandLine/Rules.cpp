// The rules of generation_config.json and of the line, and the languages of a translation.
#include "lib/Generation/CommandLine/Rules.h"
#include "lib/Support/Json.h"
#include <algorithm>

namespace rapt::run {
namespace {

constexpr rapt_token_role roles[] = {RAPT_TOKEN_BEGIN, RAPT_TOKEN_END, RAPT_TOKEN_UNKNOWN, RAPT_TOKEN_PADDING,
                                     RAPT_TOKEN_MASK};

/// Whether `id` has a part of its own in every text, which a language has not.
bool hasRole(const Text &text, const Tokenizer &tokenizer, int32_t id) {
  return text.ends.count(id) || std::any_of(std::begin(roles), std::end(roles),
                                            [&](rapt_token_role role) { return tokenizer.role(role) == id; });
}

Outcome findToken(const char *option, const Tokenizer &tokenizer, const std::string &token, int32_t &id) {
  id = tokenizer ? tokenizer.find(token) : -1;
  if (id >= 0)
    return {};
  return {RAPT_INVALID, std::string(option) + ": the vocabulary has no token " + json::printable(token)};
}

/// Replaces the only token around the source that is there for its language.
Outcome setSourceLanguage(const Options &options, const Text &text, Ids &source) {
  int32_t wanted = -1;
  const Tokenizer &tokenizer = text.tokenizer;
  RAPT_RETURN_IF_ERROR(findToken("--source-language", tokenizer, *options.sourceLanguage, wanted));
  Ids around;
  RAPT_RETURN_IF_ERROR(tokenizer.encode("", around));
  std::erase_if(around, [&](int32_t id) { return hasRole(text, tokenizer, id); });
  if (around.size() != 1)
    return {RAPT_UNSUPPORTED, "--source-language: the tokenizer puts no language around a text"};
  auto front = std::find(source.begin(), source.end(), around[0]);
  auto back = std::find(source.rbegin(), source.rend(), around[0]);
  if (front == source.end())
    return {RAPT_UNSUPPORTED, "--source-language: the prompt has no token of a language"};
  // The text itself lies between: its first or its last two tokens hold the language.
  if (front - source.begin() < 2)
    *front = wanted;
  else
    *back = wanted;
  return {};
}

Outcome setTargetLanguage(const Options &options, const Model &model, const Text &text, Prompt &prompt) {
  int32_t wanted = -1;
  RAPT_RETURN_IF_ERROR(findToken("--target-language", text.writer, *options.targetLanguage, wanted));
  if (wanted >= model.info.vocabulary)
    return {RAPT_INVALID, "--target-language: the model has no logit of token " + std::to_string(wanted)};
  if (hasRole(text, text.writer, prompt.ids.front()))
    prompt.first = wanted;
  else
    prompt.ids.front() = wanted;
  return {};
}

} // namespace

Outcome chooseLanguages(const Options &options, const Model &model, const Text &text, Prompt &prompt) {
  if (!options.sourceLanguage && !options.targetLanguage)
    return {};
  if (!model.hasEncoder())
    return {RAPT_UNSUPPORTED, "--source-language and --target-language are for models with an encoder and a decoder"};
  if (options.sourceLanguage)
    RAPT_RETURN_IF_ERROR(setSourceLanguage(options, text, prompt.source));
  return options.targetLanguage ? setTargetLanguage(options, model, text, prompt) : Outcome{};
}

Rules::Rules(const Options &options, const Text &text, const Prompt &prompt, int64_t most) : rules(text.rules) {
  auto view = [](const Ids &ids) { return rapt_ids{ids.data(), ids.size()}; };
  rules.no_repeat_ngram = options.noRepeatNgram.value_or(rules.no_repeat_ngram);
  rules.min_new_tokens = options.minNewTokens.value_or(rules.min_new_tokens);
  if (rules.min_new_tokens > 0 || options.minNewTokens)
    rules.min_length = 0; // as generate does
  rules.max_new_tokens = most;
  if (prompt.first) {
    first.assign(1, *prompt.first);
    rules.first = view(first);
  } else if (prompt.ids.size() != 1) {
    rules.first = {};
  }
  if (!text.placeholders.empty()) {
    banned.assign(rules.banned.data, rules.banned.data + rules.banned.count);
    banned.insert(banned.end(), text.placeholders.begin(), text.placeholders.end());
    rules.banned = view(banned);
  }
  if (options.ignoreEnd) {
    rules.last = {};
  } else {
    ends.assign(text.ends.begin(), text.ends.end());
    rules.ends = view(ends);
  }
  empty = rules.no_repeat_ngram == 0 &&
          (rules.ends.count == 0 || (rules.min_length == 0 && rules.min_new_tokens == 0)) &&
          rules.first.count + rules.last.count + rules.banned.count + rules.banned_first.count == 0 &&
          rules.timestamp_begin == 0 && rules.sequence_count == 0;
}

Outcome Rules::apply(const Prompt &prompt, const Ids &made, size_t vocabulary, const float *&logits) {
  allowed.assign(logits, logits + vocabulary);
  all = prompt.ids;
  all.insert(all.end(), made.begin(), made.end());
  logits = allowed.data();
  return Outcome::of([&](char *message, size_t size) {
    return rapt_rules_apply(&rules, all.data(), prompt.ids.size(), all.size(), allowed.data(), vocabulary, message,
                            size);
  });
}

} // namespace rapt::run
