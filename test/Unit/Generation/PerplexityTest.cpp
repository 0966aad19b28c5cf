#include "lib/Generation/Perplexity.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace rapt;

TEST(Perplexity, IsTheNegativeLogLikelihood) {
  std::vector<float> logits = {1, 2, 3};
  double sum = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  EXPECT_NEAR(*negativeLogLikelihood(logits, 0), std::log(sum) - 1, 1e-15);
  EXPECT_NEAR(*negativeLogLikelihood(logits, 2), std::log(sum) - 3, 1e-15);
  EXPECT_NEAR(*negativeLogLikelihood(std::vector<float>(50'257, 0.0f), 7), std::log(50'257.0), 1e-12);
  EXPECT_NEAR(*negativeLogLikelihood(std::vector<float>{1e30f, 0}, 1), double(1e30f), 1e15); // no overflow
  EXPECT_EQ(*negativeLogLikelihood(std::vector<float>{0, -INFINITY}, 1), INFINITY);
}

TEST(Perplexity, RefusesBadInput) {
  std::vector<float> logits = {1, NAN};
  EXPECT_EQ(negativeLogLikelihood(logits, 2).error().message, "token id 2 is out of range; there are 2 logits");
  EXPECT_EQ(negativeLogLikelihood(logits, -1).error().message, "token id -1 is out of range; there are 2 logits");
  EXPECT_EQ(negativeLogLikelihood(logits, 0).error().message, "the logit of token 1 is not a number");
}

TEST(Perplexity, SumsUp) {
  PerplexityTotal total;
  total.nats = 4 * std::log(2.0);
  total.tokens = 2;
  total.bytes = 8;
  EXPECT_NEAR(total.natsPerToken(), 2 * std::log(2.0), 1e-15);
  EXPECT_NEAR(total.perplexity(), 4, 1e-12);
  EXPECT_NEAR(total.bitsPerByte(), 0.5, 1e-15);
}

TEST(Perplexity, WindowsPredictEachTokenOnce) {
  for (size_t count : {2, 5, 8, 9, 20, 33})
    for (size_t positions : {2, 3, 8})
      for (size_t stride = 1; stride < positions; ++stride) {
        auto windows = planWindows(count, positions, stride);
        ASSERT_TRUE(windows);
        size_t next = 1;
        for (const PerplexityWindow &window : *windows) {
          EXPECT_EQ(window.firstScored, next);
          EXPECT_LT(window.begin, window.firstScored); // every predicted token has one before it
          EXPECT_LE(window.end - window.begin, positions);
          next = window.end;
        }
        EXPECT_EQ(next, count);
      }
  EXPECT_EQ(planWindows(1, 8, 4).error().message, "perplexity needs at least 2 tokens, but the text has 1");
  EXPECT_EQ(planWindows(9, 8, 8).error().message, "the stride is 8, but must be between 1 and 7");
}
