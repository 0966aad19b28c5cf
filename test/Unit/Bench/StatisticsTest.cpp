#include "lib/Bench/Statistics.h"
#include <gtest/gtest.h>

using namespace rapt::bench;

namespace {

TEST(Statistics, Percentiles) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(percentile({0, 10, 20, 30, 40}, 0.9), 36);
  EXPECT_EQ(percentile({2, 1}, 0), 1);
  EXPECT_EQ(percentile({2, 1}, 1), 2);
  EXPECT_EQ(percentile({2, 1}, 7), 2);
}

TEST(Statistics, OneThreadNeedsAProcessor) {
  EXPECT_EQ(undisturbed({{1, 1}, {2, 0.94}, {3, 0.96}, {4, 0.1}}, 1), (std::vector<double>{1, 3}));
  EXPECT_TRUE(undisturbed({{1, 0.5}, {2, 0.5}}, 1).empty());
  EXPECT_TRUE(undisturbed({}, 2).empty());
}

TEST(Statistics, WhatCounts) {
  const std::vector<Sample> mixed = {{1, 1}, {2, 0.5}}, bad = {{1, 0.5}, {2, 0.4}};
  EXPECT_EQ(count(mixed, 1, false).seconds, (std::vector<double>{1}));
  EXPECT_EQ(count(mixed, 1, true).seconds, (std::vector<double>{1, 2}));
  EXPECT_EQ(count(mixed, 1, true).undisturbed, 1u);
  EXPECT_EQ(count(bad, 1, false).seconds, (std::vector<double>{1, 2}));
  EXPECT_EQ(count(bad, 1, false).undisturbed, 0u);
  EXPECT_TRUE(count({}, 1, true).seconds.empty());
}

TEST(Statistics, SeveralThreadsAreComparedWithTheBest) {
  // The second thread waits for a tenth of the time whatever happens.
  EXPECT_EQ(undisturbed({{1, 0.90}, {2, 0.86}, {3, 0.80}, {4, 0.5}}, 2), (std::vector<double>{1, 2}));
  // Others had a processor: the threads waited for it together.
  EXPECT_EQ(undisturbed({{1, 0.5, 0}, {2, 0.5, 0.14}, {3, 0.5, 1}}, 2), (std::vector<double>{1, 2}));
  // A clock that counts a little too much does not shut the others out.
  EXPECT_EQ(undisturbed({{1, 1.2}, {2, 0.95}}, 2).size(), 2u);
}

TEST(Statistics, ASlowerMachine) {
  EXPECT_EQ(undisturbed({{1, 1, 0, 150}, {2, 1, 0, 140}, {3, 1, 0, 145}, {4, 1, 0, 60}}, 1),
            (std::vector<double>{1, 3}));
}

TEST(Statistics, HalvesThatDisagree) {
  EXPECT_FALSE(isResolved({}));
  EXPECT_FALSE(isResolved({1, 1, 1}));
  EXPECT_TRUE(isResolved({1, 1, 1.09, 1.09}));
  EXPECT_FALSE(isResolved({1, 1, 1.12, 1.12}));
  EXPECT_FALSE(isResolved({1.12, 1.12, 1, 1}));
  EXPECT_TRUE(isResolved({1, 1, 50, 1, 1})); // the one in the middle belongs to no half
}

} // namespace
