//===- RulesInterface.cpp - rapt_rules_... ---------------------------------===//
#include "lib/Generation/GenerationConfig.h"
#include "lib/Generation/TextInterface.h"
#include "lib/Generation/TokenRules.h"
#include "rapt/rapt_rules.h"
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

using namespace rapt;
using namespace rapt::text;

/// rapt_token_rules of the first version.
static constexpr size_t kFirstSize = offsetof(rapt_token_rules, timestamp_begin);

static Outcome readList(const rapt_ids &given, const char *name, std::vector<int32_t> &ids) {
  if (!given.data && given.count > 0)
    return invalid(std::string("rapt_token_rules.") + name + " has no ids");
  ids.assign(given.data, given.data + given.count);
  return {};
}

Outcome rapt::text::readRules(const rapt_token_rules *given, TokenRules &rules) {
  rapt_token_rules read;
  RAPT_RETURN_IF_ERROR(readStruct(given, kFirstSize, "rapt_token_rules", read));
  rules.noRepeatNgram = read.no_repeat_ngram;
  rules.minLength = read.min_length;
  rules.minNewTokens = read.min_new_tokens;
  rules.maxNewTokens = read.max_new_tokens;
  rules.renormalizes = read.renormalizes;
  rules.timestamps = {read.timestamp_begin, read.timestamp_text, read.timestamp_initial};
  struct List {
    const rapt_ids &given;
    const char *name;
    std::vector<int32_t> &ids;
  };
  for (const List &list : {List{read.ends, "ends", rules.ends}, List{read.first, "first", rules.first},
                           List{read.last, "last", rules.last}, List{read.banned, "banned", rules.banned},
                           List{read.banned_first, "banned_first", rules.bannedFirst}})
    RAPT_RETURN_IF_ERROR(readList(list.given, list.name, list.ids));
  if (!read.sequences && read.sequence_count > 0)
    return invalid("rapt_token_rules.sequences is NULL");
  for (size_t i = 0; i < read.sequence_count; ++i) {
    BiasedSequence &one = rules.sequences.emplace_back();
    one.bias = read.sequences[i].bias;
    RAPT_RETURN_IF_ERROR(readList(read.sequences[i].ids, "sequences", one.ids));
  }
  Status status = rules.check();
  return status ? Outcome{} : invalid(status.error().message);
}

rapt_status rapt_rules_read(const char *json, size_t json_size, rapt_token_rules *rules, int32_t *ids, size_t capacity,
                            size_t *count, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!json || !rules || !count)
      return invalid("rapt_rules_read: json, rules or count is NULL");
    if (rules->size < kFirstSize || rules->size > mostStructBytes)
      return invalid("rapt_token_rules.size is " + std::to_string(rules->size) + ", but at least " +
                     std::to_string(kFirstSize) + " is needed; set it to sizeof");
    Expected<GenerationConfig> read = readGenerationConfig({json, json_size});
    if (!read)
      return {RAPT_BAD_FILE, read.error().message};
    const TokenRules &from = read->rules;
    if (!from.sequences.empty() && rules->size < sizeof(rapt_token_rules))
      return {RAPT_UNSUPPORTED, "generation_config.json: sequence_bias and bad_words_ids of several ids need the "
                                "rapt_token_rules of a newer version"};
    std::vector<int32_t> all;
    for (const std::vector<int32_t> *list : {&from.first, &from.last, &from.banned, &from.bannedFirst})
      all.insert(all.end(), list->begin(), list->end());
    RAPT_RETURN_IF_ERROR(give(all.data(), all.size(), ids, capacity, count, "ids"));
    auto view = [&, at = size_t(0)](const std::vector<int32_t> &list) mutable {
      rapt_ids part = {ids && !list.empty() ? ids + at : nullptr, ids ? list.size() : 0};
      at += list.size();
      return part;
    };
    rapt_token_rules told{};
    told.size = rules->size;
    told.no_repeat_ngram = from.noRepeatNgram;
    told.min_length = from.minLength;
    told.min_new_tokens = from.minNewTokens;
    told.first = view(from.first);
    told.last = view(from.last);
    told.banned = view(from.banned);
    told.renormalizes = from.renormalizes;
    told.banned_first = view(from.bannedFirst);
    told.timestamp_begin = from.timestamps.begin;
    told.timestamp_text = from.timestamps.text;
    told.timestamp_initial = from.timestamps.initial;
    std::memcpy(rules, &told, std::min(told.size, sizeof told));
    return {};
  });
}

rapt_status rapt_rules_read_sequences(const char *json, size_t json_size, rapt_biased_sequence *sequences,
                                      size_t capacity, size_t *count, int32_t *ids, size_t id_capacity,
                                      size_t *id_count, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!json || !count || !id_count)
      return invalid("rapt_rules_read_sequences: json, count or id_count is NULL");
    Expected<GenerationConfig> read = readGenerationConfig({json, json_size});
    if (!read)
      return {RAPT_BAD_FILE, read.error().message};
    std::vector<int32_t> all;
    for (const BiasedSequence &one : read->rules.sequences)
      all.insert(all.end(), one.ids.begin(), one.ids.end());
    *count = read->rules.sequences.size();
    RAPT_RETURN_IF_ERROR(give(all.data(), all.size(), ids, id_capacity, id_count, "ids"));
    std::vector<rapt_biased_sequence> told;
    size_t at = 0;
    for (const BiasedSequence &one : read->rules.sequences) {
      told.push_back({{ids ? ids + at : nullptr, ids ? one.ids.size() : 0}, one.bias});
      at += one.ids.size();
    }
    return give(told.data(), told.size(), sequences, capacity, count, "sequences");
  });
}

rapt_status rapt_rules_apply(const rapt_token_rules *rules, const int32_t *ids, size_t prompt_count, size_t count,
                             float *logits, size_t vocabulary, char *message, size_t message_size) {
  return guarded(message, message_size, [&]() -> Outcome {
    if (!logits || (!ids && count > 0))
      return invalid("rapt_rules_apply: ids or logits is NULL");
    if (prompt_count > count)
      return invalid("the prompt has " + std::to_string(prompt_count) + " ids, but the text " + std::to_string(count));
    TokenRules all;
    RAPT_RETURN_IF_ERROR(readRules(rules, all));
    if (all.areEmpty())
      return {};
    const std::span<float> row(logits, vocabulary);
    all.apply({ids, count}, prompt_count, row);
    const bool isLeft = std::any_of(row.begin(), row.end(), [](float logit) { return logit != -INFINITY; });
    return isLeft ? Outcome{} : invalid("the rules leave no token");
  });
}
