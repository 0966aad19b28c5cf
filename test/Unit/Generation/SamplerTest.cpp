#include "lib/Generation/Sampler.h"
#include "lib/Generation/CounterRandom.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <random>

using namespace rapt;

static Sampler make(const SamplingOptions &options) {
  auto sampler = Sampler::create(options);
  EXPECT_TRUE(sampler) << (sampler ? "" : sampler.error().message);
  return *sampler;
}

static std::string errorOf(const SamplingOptions &options) {
  auto sampler = Sampler::create(options);
  return sampler ? "" : sampler.error().message;
}

/// How often each id comes in `draws` draws.
static std::map<int32_t, int> histogram(const SamplingOptions &options, const std::vector<float> &logits,
                                        int draws = 20'000) {
  Sampler sampler = make(options);
  std::map<int32_t, int> counts;
  for (int draw = 0; draw < draws; ++draw)
    ++counts[*sampler.sample(logits)];
  return counts;
}

static SamplingOptions sampling(double temperature = 1) {
  SamplingOptions options;
  options.temperature = temperature;
  return options;
}

TEST(Sampler, GreedyTakesTheLowestIdAmongEquals) {
  Sampler sampler = make({});
  EXPECT_EQ(*sampler.sample(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(*sampler.sample(std::vector<float>{-INFINITY, -5, -INFINITY}), 1);
  EXPECT_EQ(*sampler.sample(std::vector<float>{0.0f, -0.0f}), 0);
}

// Fault 65.
TEST(Sampler, RefusesOptionsOutOfRange) {
  const double nan = std::nan("");
  auto with = [](double SamplingOptions::*member, double value) {
    SamplingOptions options;
    options.*member = value;
    return errorOf(options);
  };
  EXPECT_EQ(with(&SamplingOptions::temperature, -1), "temperature is -1, but must be finite and at least 0");
  EXPECT_EQ(with(&SamplingOptions::temperature, nan), "temperature is nan, but must be finite and at least 0");
  EXPECT_NE(with(&SamplingOptions::temperature, INFINITY), "");
  EXPECT_EQ(with(&SamplingOptions::topP, 1.5), "top_p is 1.5, but must be above 0 and at most 1");
  EXPECT_NE(with(&SamplingOptions::topP, 0), "");
  EXPECT_NE(with(&SamplingOptions::topP, nan), "");
  EXPECT_NE(with(&SamplingOptions::minP, -0.1), "");
  EXPECT_NE(with(&SamplingOptions::minP, nan), "");
  EXPECT_NE(with(&SamplingOptions::repetitionPenalty, 0), "");
  EXPECT_NE(with(&SamplingOptions::repetitionPenalty, nan), "");
  SamplingOptions negative;
  negative.topK = -1;
  EXPECT_EQ(errorOf(negative), "top_k is -1, but must be at least 0");
  EXPECT_EQ(with(&SamplingOptions::temperature, 0), "");
}

TEST(Sampler, RefusesBadLogits) {
  Sampler sampler = make(sampling());
  auto error = [&](const std::vector<float> &logits) { return sampler.sample(logits).error().message; };
  EXPECT_EQ(error({0, NAN}), "the logit of token 1 is not a number");
  EXPECT_EQ(error({INFINITY, 0}), "the logit of token 0 is infinite");
  EXPECT_EQ(error({-INFINITY, -INFINITY}), "all 2 logits are -infinity");
  EXPECT_EQ(error({}), "there are no logits to sample from");
  // Failures draw nothing: the next token is the one a new sampler gives.
  std::vector<float> logits(100);
  EXPECT_EQ(*sampler.sample(logits), *make(sampling()).sample(logits));
}

TEST(Sampler, FollowsTheDistribution) {
  std::vector<float> logits = {std::log(0.5f), std::log(0.3f), std::log(0.2f), -INFINITY};
  auto counts = histogram(sampling(), logits);
  EXPECT_NEAR(counts[0], 10'000, 400);
  EXPECT_NEAR(counts[1], 6'000, 400);
  EXPECT_NEAR(counts[2], 4'000, 400);
  EXPECT_EQ(counts.count(3), 0u);
  auto sharp = histogram(sampling(0.5), logits); // p^2: 25 : 9 : 4
  EXPECT_NEAR(sharp[0], 20'000 * 25 / 38.0, 400);
  EXPECT_NEAR(sharp[2], 20'000 * 4 / 38.0, 400);
}

TEST(Sampler, PicksInTheOrderOfIdsByTheSpecifiedNumber) {
  std::vector<float> logits(1000); // all alike
  SamplingOptions options = sampling();
  options.seed = 123456789012345;
  options.sequence = 3;
  Sampler sampler = make(options);
  for (uint64_t draw = 0; draw < 50; ++draw)
    EXPECT_EQ(*sampler.sample(logits), int32_t(uniformDraw(options.seed, 3, draw) * 1000));
}

TEST(Sampler, TopKKeepsTheLargestAndTheLowestIdsAmongEquals) {
  SamplingOptions options = sampling();
  options.topK = 2;
  auto counts = histogram(options, {1, 5, 4, 4, 4}, 2000);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_TRUE(counts.count(1) && counts.count(2));
}

TEST(Sampler, TopPKeepsTheTokenThatCrosses) {
  std::vector<float> logits = {std::log(0.1f), std::log(0.5f), std::log(0.25f), std::log(0.15f)};
  SamplingOptions options = sampling();
  options.topP = 0.4;
  EXPECT_EQ(histogram(options, logits, 500).size(), 1u);
  options.topP = 0.6;
  auto counts = histogram(options, logits, 5000);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_NEAR(counts[1], 5000 * 2 / 3.0, 200);
  options.topP = 1;
  EXPECT_EQ(histogram(options, logits, 5000).size(), 4u);
  // Far more candidates than the first sorted part.
  std::vector<float> flat(10'000);
  options.topP = 0.5;
  for (auto [id, count] : histogram(options, flat, 200))
    EXPECT_LT(id, 5000);
}

TEST(Sampler, MinPIsRelativeToTheMostLikely) {
  std::vector<float> logits = {std::log(0.5f), std::log(0.26f), std::log(0.24f)};
  SamplingOptions options = sampling();
  options.minP = 0.5;
  auto counts = histogram(options, logits, 3000);
  EXPECT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts.count(2), 0u);
}

TEST(Sampler, RepetitionPenaltyComesFirst) {
  SamplingOptions options;
  options.repetitionPenalty = 2;
  Sampler sampler = make(options);
  std::vector<float> logits = {3, 2, -1};
  EXPECT_EQ(*sampler.sample(logits), 0);
  ASSERT_TRUE(sampler.accept(0));
  EXPECT_EQ(*sampler.sample(logits), 1); // 3 / 2 < 2
  ASSERT_TRUE(sampler.accept(1));
  EXPECT_EQ(*sampler.sample(logits), 0);                           // 1.5, 1, -1
  EXPECT_EQ(*sampler.sample(std::vector<float>{-1, -3, -1.5}), 2); // -2, -6, -1.5
  ASSERT_TRUE(sampler.accept(1'000'000));                          // beyond the logits
  EXPECT_EQ(*sampler.sample(logits), 0);
  EXPECT_FALSE(sampler.accept(-1));
}

TEST(Sampler, ACopyGoesOnAlike) {
  SamplingOptions options = sampling();
  options.repetitionPenalty = 1.3;
  Sampler sampler = make(options);
  std::mt19937 random(1);
  std::vector<float> logits(500);
  for (float &logit : logits)
    logit = float(random() % 100) / 10;
  for (int step = 0; step < 5; ++step)
    ASSERT_TRUE(sampler.accept(*sampler.sample(logits)));
  Sampler copy = sampler;
  for (int step = 0; step < 20; ++step) {
    int32_t id = *sampler.sample(logits);
    ASSERT_EQ(id, *copy.sample(logits));
    ASSERT_TRUE(sampler.accept(id));
    ASSERT_TRUE(copy.accept(id));
  }
}

/// The most likely tokens as rapt_step_top tells them.
static std::pair<std::vector<int32_t>, std::vector<float>> topOf(const std::vector<float> &logits, size_t count) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    const bool badA = !(logits[size_t(a)] < INFINITY), badB = !(logits[size_t(b)] < INFINITY);
    const bool areEqual = badA && badB ? true : logits[size_t(a)] == logits[size_t(b)];
    return areEqual ? a < b : badA || badB ? badA : logits[size_t(a)] > logits[size_t(b)];
  });
  ids.resize(count, -1);
  std::vector<float> values;
  for (int32_t id : ids)
    values.push_back(id < 0 ? -INFINITY : logits[size_t(id)]);
  return {ids, values};
}

TEST(Sampler, TheMostLikelyTokensAreEnough) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal(0, 2);
  for (int64_t topK : {0, 1, 7, 40, 60}) {
    SamplingOptions options = sampling(topK ? 1.3 : 0);
    options.topK = topK;
    options.topP = 0.9;
    options.minP = 0.01;
    Sampler all = make(options), top = make(options);
    ASSERT_EQ(top.topNeeded(), topK ? topK : 1);
    for (int i = 0; i < 50; ++i) {
      std::vector<float> logits(50);
      for (float &logit : logits)
        logit = i % 2 ? std::round(normal(random)) : normal(random); // many are equal
      for (size_t more : {0, 5}) {                                   // more tokens than are needed change nothing
        auto [ids, values] = topOf(logits, size_t(top.topNeeded()) + more);
        EXPECT_EQ(*all.sample(logits), *top.sampleTop(ids, values, logits.size())) << topK << " " << i;
      }
    }
  }
}

TEST(Sampler, TheMostLikelyTokensHaveTheErrorsOfAll) {
  Sampler sampler = make({});
  for (const std::vector<float> &logits :
       {std::vector<float>{1, INFINITY, std::nanf("")}, {1, std::nanf(""), INFINITY}, {-INFINITY, -INFINITY}, {}}) {
    auto [ids, values] = topOf(logits, 1);
    auto byAll = sampler.sample(logits), byTop = sampler.sampleTop(ids, values, logits.size());
    ASSERT_TRUE(!byAll && !byTop);
    EXPECT_EQ(byAll.error().message, byTop.error().message);
  }
}

TEST(Sampler, TooFewTokensAreRefused) {
  const std::vector<int32_t> ids = {4, 2};
  const std::vector<float> logits = {2, 1};
  SamplingOptions options = sampling();
  options.topK = 3;
  const std::string refusal = "the 2 most likely tokens are not enough to sample from";
  Sampler three = make(options);
  EXPECT_EQ(three.sampleTop(ids, logits, 5).error().message, refusal);
  EXPECT_TRUE(three.sampleTop(ids, logits, 2)) << "there are no more";
  options.repetitionPenalty = 2;
  EXPECT_EQ(make(options).topNeeded(), 0);
  EXPECT_EQ(make(options).sampleTop(ids, logits, 5).error().message, refusal);
  EXPECT_EQ(make(sampling()).topNeeded(), 0) << "without top_k every token may be drawn";
}
