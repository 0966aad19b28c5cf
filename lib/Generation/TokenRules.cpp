//===- TokenRules.cpp ------------------------------------------------------===//
#include "lib/Generation/TokenRules.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>

namespace rapt {

bool TokenRules::areEmpty() const {
  return noRepeatNgram == 0 && ((minLength == 0 && minNewTokens == 0) || ends.empty()) && first.empty() &&
         (last.empty() || maxNewTokens == 0) && banned.empty() && bannedFirst.empty() && timestamps.isEmpty() &&
         sequences.empty();
}

Status TokenRules::check() const {
  struct Named {
    const char *name;
    int64_t value;
  };
  for (const Named &one : {Named{"no_repeat_ngram_size", noRepeatNgram}, Named{"min_length", minLength},
                           Named{"min_new_tokens", minNewTokens}, Named{"max_new_tokens", maxNewTokens}})
    if (one.value < 0)
      return Error{std::string(one.name) + " is " + std::to_string(one.value) + ", but must be at least 0"};
  for (const BiasedSequence &one : sequences) {
    if (one.ids.empty())
      return Error{"sequence_bias has a sequence without ids"};
    if (std::isnan(one.bias) || one.bias == INFINITY)
      return Error{"sequence_bias has a bias that is not a number or infinite"};
  }
  return timestamps.check();
}

template <typename T> static void forbidIds(std::span<const int32_t> ids, std::span<T> scores) {
  for (int32_t id : ids)
    if (id >= 0 && size_t(id) < scores.size())
      scores[size_t(id)] = -std::numeric_limits<T>::infinity();
}

/// Leaves `ids` as the only ones, if any of them has a score.
template <typename T> static void require(std::span<const int32_t> ids, std::span<T> scores) {
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<T>::infinity());
  for (int32_t id : ids)
    if (id >= 0 && size_t(id) < scores.size())
      scores[size_t(id)] = 0;
}

/// Forbids what followed the last `size` - 1 tokens where they came before.
template <typename T> static void forbidRepeated(std::span<const int32_t> ids, size_t size, std::span<T> scores) {
  const size_t known = size - 1;
  for (size_t at = 0; at + known < ids.size(); ++at)
    if (std::equal(ids.end() - ptrdiff_t(known), ids.end(), ids.begin() + ptrdiff_t(at)))
      forbidIds(ids.subspan(at + known, 1), scores);
}

/// Whether the last of the sequence's tokens is the next one of the text's.
static bool isNext(const BiasedSequence &one, std::span<const int32_t> ids) {
  return one.ids.size() <= ids.size() + (one.ids.size() == 1) &&
         std::equal(one.ids.begin(), one.ids.end() - 1, ids.end() - ptrdiff_t(one.ids.size() - 1));
}

/// Biases of one token are summed before they are added, as generate does.
template <typename T>
static void addFinite(const TokenRules &rules, std::span<const int32_t> ids, std::span<T> scores) {
  std::map<size_t, T> sums;
  for (const BiasedSequence &one : rules.sequences)
    if (const int32_t last = one.ids.back(); one.bias != -INFINITY && last >= 0 && size_t(last) < scores.size())
      if (isNext(one, ids))
        sums[size_t(last)] += T(one.bias);
  for (const auto &[id, sum] : sums)
    scores[id] += sum;
}

template <typename T>
static void applyRules(const TokenRules &rules, std::span<const int32_t> ids, size_t prompt, std::span<T> scores) {
  const size_t made = ids.size() - std::min(prompt, ids.size());
  if (rules.noRepeatNgram > 0 && uint64_t(rules.noRepeatNgram) <= ids.size())
    forbidRepeated(ids, size_t(rules.noRepeatNgram), scores);
  forbidIds(std::span(rules.banned), scores);
  for (const BiasedSequence &one : rules.sequences)
    if (one.bias == -INFINITY && isNext(one, ids))
      forbidIds(std::span(one.ids).last(1), scores);
  if (ids.size() < uint64_t(rules.minLength) || made < uint64_t(rules.minNewTokens))
    forbidIds(std::span(rules.ends), scores);
  // A first token that is given is not the model's choice.
  if (made == (rules.first.empty() ? 0 : 1))
    forbidIds(std::span(rules.bannedFirst), scores);
  const bool isFirst = made == 0 && !rules.first.empty();
  const bool isLast = !rules.last.empty() && rules.maxNewTokens > 0 && made + 1 == uint64_t(rules.maxNewTokens);
  if (isFirst)
    require(std::span(rules.first), scores);
  if (isLast)
    require(std::span(rules.last), scores);
  if (!isFirst && !isLast && !rules.timestamps.isEmpty())
    rules.timestamps.apply(ids.last(made), scores);
}

void TokenRules::addBiases(std::span<const int32_t> ids, std::span<double> scores) const {
  addFinite(*this, ids, scores);
}

void TokenRules::forbid(std::span<const int32_t> ids, size_t prompt, std::span<double> scores) const {
  applyRules(*this, ids, prompt, scores);
}

void TokenRules::apply(std::span<const int32_t> ids, size_t prompt, std::span<float> scores) const {
  addFinite(*this, ids, scores);
  applyRules(*this, ids, prompt, scores);
}

void TokenRules::apply(std::span<const int32_t> ids, size_t prompt, std::span<double> scores) const {
  addBiases(ids, scores);
  forbid(ids, prompt, scores);
}

} // namespace rapt
