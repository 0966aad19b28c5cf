#include "lib/Generation/TokenRules.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace rapt;
using Ids = std::vector<int32_t>;

/// The ids of six that the rules allow after `text`, whose first `prompt` ids are given.
static Ids allowed(const TokenRules &rules, const Ids &text, size_t prompt = 0) {
  std::vector<float> floats(6, -1.5f);
  std::vector<double> doubles(6, -1.5);
  rules.apply(text, prompt, floats);
  rules.apply(text, prompt, doubles);
  Ids left;
  for (size_t id = 0; id < floats.size(); ++id) {
    EXPECT_EQ(double(floats[id]), doubles[id]);
    if (floats[id] != -INFINITY)
      left.push_back(int32_t(id));
  }
  return left;
}

static const Ids all = {0, 1, 2, 3, 4, 5};

TEST(TokenRules, NoneForbidNothing) {
  EXPECT_TRUE(TokenRules{}.areEmpty());
  EXPECT_EQ(allowed({}, {}), all);
  EXPECT_EQ(allowed({}, {1, 1, 1}, 2), all);
}

TEST(TokenRules, RepeatedTokensCountThePrompt) {
  TokenRules rules;
  rules.noRepeatNgram = 2;
  EXPECT_FALSE(rules.areEmpty());
  EXPECT_EQ(allowed(rules, {}), all);
  EXPECT_EQ(allowed(rules, {1}), all);
  EXPECT_EQ(allowed(rules, {1, 2, 1}, 3), (Ids{0, 1, 3, 4, 5}));
  EXPECT_EQ(allowed(rules, {1, 2, 1, 1}, 1), (Ids{0, 3, 4, 5}));
  rules.noRepeatNgram = 1;
  EXPECT_EQ(allowed(rules, {}), all);
  EXPECT_EQ(allowed(rules, {5, 0}), (Ids{1, 2, 3, 4}));
  rules.noRepeatNgram = 3;
  EXPECT_EQ(allowed(rules, {1, 2, 3, 1, 2}), (Ids{0, 1, 2, 4, 5}));
  EXPECT_EQ(allowed(rules, {1, 2, 3, 2, 1}), all);
  rules.noRepeatNgram = INT64_MAX;
  EXPECT_EQ(allowed(rules, {1, 1, 1, 1}), all);
}

TEST(TokenRules, EndsWaitForTheLength) {
  TokenRules rules;
  rules.minLength = 3;
  EXPECT_TRUE(rules.areEmpty()); // without ends
  rules.ends = {0, 4};
  EXPECT_EQ(allowed(rules, {1, 1}, 2), (Ids{1, 2, 3, 5}));
  EXPECT_EQ(allowed(rules, {1, 1, 1}, 2), all);
  rules.minLength = 0, rules.minNewTokens = 2;
  EXPECT_EQ(allowed(rules, {1, 1, 1}, 2), (Ids{1, 2, 3, 5}));
  EXPECT_EQ(allowed(rules, {1, 1, 1, 1}, 2), all);
}

TEST(TokenRules, FirstAndLastAreGiven) {
  TokenRules rules;
  rules.first = {3}, rules.last = {2, 5}, rules.maxNewTokens = 3;
  EXPECT_EQ(allowed(rules, {1}, 1), (Ids{3}));
  EXPECT_EQ(allowed(rules, {1, 3}, 1), all);
  EXPECT_EQ(allowed(rules, {1, 3, 3}, 1), (Ids{2, 5}));
  EXPECT_EQ(allowed(rules, {1, 3, 3, 2}, 1), all);
  // Given tokens come with certainty, whatever else forbids them.
  rules.banned = {3}, rules.ends = {2}, rules.minLength = 99;
  EXPECT_EQ(allowed(rules, {1}, 1), (Ids{3}));
  EXPECT_EQ(allowed(rules, {1, 3, 3}, 1), (Ids{2, 5}));
  std::vector<double> scores(6, -2);
  rules.apply(Ids{1}, 1, scores);
  EXPECT_EQ(scores[3], 0);
  // Without a length there is no last token.
  rules = {};
  rules.last = {2};
  EXPECT_TRUE(rules.areEmpty());
  EXPECT_EQ(allowed(rules, {}), all);
}

TEST(TokenRules, SomeNeverComeOrNotFirst) {
  TokenRules rules;
  rules.banned = {1, -7, 6, INT32_MAX}; // others than the six are nobody's
  EXPECT_EQ(allowed(rules, {2}, 1), (Ids{0, 2, 3, 4, 5}));
  rules.banned = {}, rules.bannedFirst = {0};
  EXPECT_EQ(allowed(rules, {2}, 1), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(allowed(rules, {2, 2}, 1), all);
  // A first token that is given is not chosen: the next one is the first.
  rules.first = {0};
  EXPECT_EQ(allowed(rules, {2}, 1), (Ids{0}));
  EXPECT_EQ(allowed(rules, {2, 0}, 1), (Ids{1, 2, 3, 4, 5}));
  EXPECT_EQ(allowed(rules, {2, 0, 2}, 1), all);
}

TEST(TokenRules, SequencesEndInNoBadWord) {
  TokenRules rules;
  rules.sequences = {{{1, 2}, -INFINITY}, {{1, 1, 5}, -INFINITY}, {{4, 99}, -INFINITY}};
  EXPECT_FALSE(rules.areEmpty());
  EXPECT_EQ(allowed(rules, {}), all);
  EXPECT_EQ(allowed(rules, {2}), all);
  EXPECT_EQ(allowed(rules, {1}), all) << "as generate, a text shorter than the sequence";
  EXPECT_EQ(allowed(rules, {0, 1}, 2), (Ids{0, 1, 3, 4, 5})) << "the prompt counts";
  EXPECT_EQ(allowed(rules, {1, 1}), (Ids{0, 1, 3, 4, 5}));
  EXPECT_EQ(allowed(rules, {0, 1, 1}), (Ids{0, 1, 3, 4}));
  EXPECT_EQ(allowed(rules, {1, 0}), all);
  EXPECT_EQ(allowed(rules, {4, 4}), all) << "nobody's id";
}

TEST(TokenRules, BiasesAreAdded) {
  TokenRules rules;
  rules.sequences = {{{3}, 2.5}, {{3, 4}, -1}, {{0, 3, 4}, 0.25}, {{-1}, 9}, {{6}, 9}};
  auto biased = [&](const Ids &text) {
    std::vector<float> scores = {0, 0, 0, 0, 0, -INFINITY};
    rules.apply(text, 0, scores);
    return scores;
  };
  EXPECT_EQ(biased({}), (std::vector<float>{0, 0, 0, 2.5, 0, -INFINITY}));
  EXPECT_EQ(biased({3}), (std::vector<float>{0, 0, 0, 2.5, 0, -INFINITY}));
  EXPECT_EQ(biased({1, 3}), (std::vector<float>{0, 0, 0, 2.5, -1, -INFINITY}));
  EXPECT_EQ(biased({1, 0, 3}), (std::vector<float>{0, 0, 0, 2.5, -0.75, -INFINITY}));
  for (const BiasedSequence &wrong : {BiasedSequence{{}, 1}, BiasedSequence{{1}, NAN}, BiasedSequence{{1}, INFINITY}}) {
    rules.sequences = {wrong};
    EXPECT_FALSE(bool(rules.check()));
  }
}

TEST(TokenRules, RefusesNegativeNumbers) {
  TokenRules rules;
  EXPECT_TRUE(rules.check());
  rules.minLength = -3;
  EXPECT_EQ(rules.check().error().message, "min_length is -3, but must be at least 0");
}
