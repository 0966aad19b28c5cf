//===- TimestampRule.cpp ---------------------------------------------------===//
#include "lib/Generation/TimestampRule.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace rapt {

Status TimestampRule::check() const {
  struct Named {
    const char *name;
    int64_t value;
  };
  for (const Named &one :
       {Named{"timestamp_begin", begin}, Named{"timestamp_text", text}, Named{"timestamp_initial", initial}})
    if (one.value < 0)
      return Error{std::string(one.name) + " is " + std::to_string(one.value) + ", but must be at least 0"};
  if (text > begin)
    return Error{"timestamp_text is " + std::to_string(text) + ", above timestamp_begin, which is " +
                 std::to_string(begin)};
  return {};
}

/// Forbids the ids from `first` to the one before `end`.
template <typename T> static void forbidRange(int64_t first, int64_t end, std::span<T> scores) {
  const auto size = int64_t(scores.size());
  first = std::clamp<int64_t>(first, 0, size);
  end = std::clamp(end, first, size);
  std::fill(scores.begin() + first, scores.begin() + end, -std::numeric_limits<T>::infinity());
}

/// Forbids other tokens where timestamps are likelier. Likelihoods need not sum to 1: only their ratio counts.
template <typename T> static void preferTimestamps(int64_t begin, std::span<T> scores) {
  const auto first = scores.begin() + std::min(begin, int64_t(scores.size()));
  if (first == scores.begin())
    return;
  const double likeliest = *std::max_element(scores.begin(), first);
  if (std::isinf(likeliest))
    return; // no other token is left, or its likelihood has no ratio to another
  double sum = 0;
  for (auto score = first; score != scores.end(); ++score)
    sum += std::exp(double(*score) - likeliest);
  if (sum > 1)
    forbidRange(0, begin, scores);
}

template <typename T>
static void applyRule(const TimestampRule &rule, std::span<const int32_t> made, std::span<T> scores) {
  const auto all = int64_t(scores.size());
  const auto isTimestamp = [&](int32_t id) { return id >= rule.begin; };
  forbidRange(rule.begin - 1, rule.begin, scores);
  if (made.empty()) {
    forbidRange(0, rule.begin, scores);
    if (rule.initial > 0 && rule.initial < all - rule.begin)
      forbidRange(rule.begin + rule.initial, all, scores);
    return;
  }
  // A timestamp alone ends a part; the first token of all begins one, as the second of a pair does.
  const bool isLast = isTimestamp(made.back());
  const bool isAlone = isLast && made.size() > 1 && !isTimestamp(made[made.size() - 2]);
  if (isAlone)
    forbidRange(0, rule.text, scores);
  else if (isLast)
    forbidRange(rule.begin, all, scores);
  if (auto last = std::find_if(made.rbegin(), made.rend(), isTimestamp); last != made.rend())
    forbidRange(rule.begin, int64_t(*last) + !isAlone, scores); // the next part may begin where the last one ended
  preferTimestamps(rule.begin, scores);
}

void TimestampRule::apply(std::span<const int32_t> made, std::span<float> scores) const {
  applyRule(*this, made, scores);
}

void TimestampRule::apply(std::span<const int32_t> made, std::span<double> scores) const {
  applyRule(*this, made, scores);
}

} // namespace rapt
