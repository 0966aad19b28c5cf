#include "lib/Generation/TokenRules.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace rapt;
using Ids = std::vector<int32_t>;

namespace {

// Text, the end, other marks, the mark of no timestamps, then timestamps.
constexpr int32_t kEnd = 5, kBegin = 9, kAll = 20;

TimestampRule rule(int64_t initial = 0) {
  TimestampRule rule;
  rule.begin = kBegin, rule.text = kEnd, rule.initial = initial;
  return rule;
}

/// Whether Whisper's rules allow an id, without the one about likelihoods: a sentence each.
bool isAllowed(const TimestampRule &rule, const Ids &made, int32_t id) {
  const bool isTime = id >= rule.begin;
  if (id == rule.begin - 1)
    return false;
  if (made.empty())
    return isTime && (rule.initial == 0 || id < rule.begin + rule.initial);
  const auto wasTime = [&](size_t back) { return made.size() < back || made[made.size() - back] >= rule.begin; };
  if (wasTime(1) && wasTime(2) && isTime)
    return false; // text follows a pair
  if (wasTime(1) && !wasTime(2) && id < rule.text)
    return false; // a timestamp follows one alone, if not the end
  for (size_t at = made.size(); at-- > 0;)
    if (made[at] >= rule.begin)
      return !isTime || id > made[at] || (id == made[at] && at + 1 == made.size() && !wasTime(2));
  return true;
}

/// The scores that the rules leave, with probabilities that sum to 1.
std::vector<double> expected(const TimestampRule &rule, const Ids &made, const std::vector<double> &scores) {
  std::vector<double> left = scores, probabilities;
  for (size_t id = 0; id < left.size(); ++id)
    if (!isAllowed(rule, made, int32_t(id)))
      left[id] = -INFINITY;
  double total = 0, times = 0, text = 0;
  for (double score : left)
    total += std::exp(score);
  for (size_t id = 0; id < left.size(); ++id) {
    const double probability = std::exp(left[id]) / total;
    int64_t(id) >= rule.begin ? times += probability : text = std::max(text, probability);
  }
  if (times > text)
    std::fill_n(left.begin(), rule.begin, -INFINITY);
  return left;
}

/// The same result by floats, as these hold the scores exactly.
template <typename T>
std::vector<double> applied(const TokenRules &rules, Ids text, size_t prompt, const std::vector<double> &scores) {
  std::vector<T> row(scores.begin(), scores.end());
  rules.apply(text, prompt, row);
  return {row.begin(), row.end()};
}

/// Tokens as a model could have written them: each is one that the rules allow.
Ids walk(const TimestampRule &rule, std::mt19937 &random) {
  Ids made;
  for (size_t length = random() % 9; made.size() < length;) {
    const auto id = int32_t(random() % kAll);
    if (isAllowed(rule, made, id))
      made.push_back(id);
    else if (random() % 64 == 0)
      break; // none may be left
  }
  return made;
}

} // namespace

TEST(TimestampRule, EqualsTheRulesOnRandomLogits) {
  std::mt19937 random(7);
  size_t preferred = 0;
  for (int round = 0; round < 20000; ++round) {
    TokenRules rules;
    rules.timestamps = rule(random() % 4);
    Ids made = walk(rules.timestamps, random);
    if (round % 4 == 0)
      for (int32_t &id : made)
        id = int32_t(random() % kAll); // tokens that are given need not follow them
    std::vector<double> scores;
    for (int32_t id = 0; id < kAll; ++id)
      scores.push_back((int32_t(random() % 4001) - 2000) / 256.0 - (id >= kBegin ? 2 : 0));
    if (round % 3 == 0)
      scores[random() % kAll] = -INFINITY; // suppressed before
    Ids text = {3, 12, 1};                 // timestamps of the prompt do not count
    text.insert(text.end(), made.begin(), made.end());
    const std::vector<double> left = expected(rules.timestamps, made, scores);
    ASSERT_EQ(applied<double>(rules, text, 3, scores), left) << round;
    ASSERT_EQ(applied<float>(rules, text, 3, scores), left) << round;
    preferred +=
        !made.empty() && std::all_of(left.begin(), left.begin() + kBegin, [](double s) { return std::isinf(s); });
  }
  EXPECT_GT(preferred, 1000u);
  EXPECT_LT(preferred, 19000u);
}

TEST(TimestampRule, LikelihoodsDecideTogether) {
  TokenRules rules;
  rules.timestamps = rule();
  std::vector<double> scores(kAll, -9);
  scores[2] = 0, scores[10] = scores[11] = -0.6; // 0.55 + 0.55 of 1
  EXPECT_EQ(applied<float>(rules, {9, 1}, 0, scores)[2], -INFINITY);
  scores[11] = -1; // 0.55 + 0.37
  EXPECT_EQ(applied<float>(rules, {9, 1}, 0, scores)[2], 0);
  // Large logits overflow no sum.
  scores[2] = 1e4, scores[10] = 2e4;
  EXPECT_EQ(applied<float>(rules, {9, 1}, 0, scores)[2], -INFINITY);
}

TEST(TimestampRule, ForcedTokensComeFirst) {
  TokenRules rules;
  rules.timestamps = rule(1);
  rules.last = {kEnd}, rules.maxNewTokens = 1;
  const std::vector<double> scores(kAll, -1);
  EXPECT_EQ(applied<float>(rules, {}, 0, scores)[kEnd], 0);
  rules.last = {}, rules.first = {2};
  EXPECT_EQ(applied<float>(rules, {}, 0, scores)[2], 0);
}

TEST(TimestampRule, RefusesWrongNumbers) {
  TokenRules rules;
  EXPECT_TRUE(rules.areEmpty());
  rules.timestamps = rule();
  EXPECT_FALSE(rules.areEmpty());
  EXPECT_TRUE(rules.check());
  rules.timestamps.initial = -1;
  EXPECT_EQ(rules.check().error().message, "timestamp_initial is -1, but must be at least 0");
  rules.timestamps = rule();
  rules.timestamps.text = 10;
  EXPECT_EQ(rules.check().error().message, "timestamp_text is 10, above timestamp_begin, which is 9");
  // Ids of no vocabulary.
  rules.timestamps = {INT64_MAX, INT64_MAX, INT64_MAX};
  EXPECT_EQ(applied<float>(rules, {1}, 0, std::vector<double>(3, 0.0)), std::vector<double>(3, 0.0));
}
