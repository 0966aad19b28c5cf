// The text of the line. test/Driver/progress.test shows that it appears on a terminal and is erased.
#include "lib/Support/Progress.h"
#include <gtest/gtest.h>

using namespace rapt;

namespace {
constexpr uint64_t GB = 1000000000;
std::string format(ProgressState state, size_t columns = 80) { return formatProgress(state, columns); }
} // namespace

TEST(Progress, BytesHaveRateAndTimeLeft) {
  EXPECT_EQ(format({"packing weights", "bytes", 12 * GB / 10, 135 * GB / 10, 8, 154e6}),
            "packing weights: 1.2 GB of 13.5 GB (8 %), 154.0 MB/s, 1 min 20 s left");
}

TEST(Progress, NothingIsLeftAtTheEnd) {
  EXPECT_EQ(format({"packing weights", "bytes", GB, GB, 8, 1e8}),
            "packing weights: 1.0 GB of 1.0 GB (100 %), 100.0 MB/s");
  EXPECT_EQ(format({"packing weights", "bytes", 2 * GB, GB, 8, 1e8}),
            "packing weights: 2.0 GB of 1.0 GB (100 %), 100.0 MB/s");
}

TEST(Progress, AnUnknownTotalOrRateIsLeftOut) {
  EXPECT_EQ(format({"reading", "bytes", GB, 0, 8, 1e8}), "reading: 1.0 GB, 100.0 MB/s");
  EXPECT_EQ(format({"reading", "bytes", 0, 0, 0, 0}), "reading: 0 bytes");
  EXPECT_EQ(format({"packing weights", "bytes", 0, GB, 3, 0}), "packing weights: 0 bytes of 1.0 GB (0 %)");
}

TEST(Progress, WhatIsNotBytesHasTheTimeThatPassed) {
  EXPECT_EQ(format({"code generation", "functions", 12, 90, 3, 0}), "code generation: 12 of 90 functions (13 %), 3 s");
  EXPECT_EQ(format({"syncing and renaming", "", 0, 0, 75, 0}), "syncing and renaming: 1 min 15 s");
}

// The last column stays free. A terminal of no columns is no reason to crash.
TEST(Progress, TheLineIsCutToTheTerminal) {
  const ProgressState state{"packing weights", "bytes", GB, 2 * GB, 8, 1e8};
  EXPECT_EQ(format(state, 20), "packing weights: 1.");
  EXPECT_EQ(format(state, 1), "");
  EXPECT_EQ(format(state, 0), "");
}

TEST(RecentRate, IsTheAverageAtFirst) {
  RecentRate rate;
  EXPECT_EQ(rate.perSecond(), 0);
  rate.add(0.5, 100);
  EXPECT_DOUBLE_EQ(rate.perSecond(), 200);
  rate.add(1.5, 150);
  EXPECT_DOUBLE_EQ(rate.perSecond(), 100);
  rate.add(1.5, 150); // no time has passed
  EXPECT_DOUBLE_EQ(rate.perSecond(), 100);
}

TEST(RecentRate, FollowsTheLastSeconds) {
  RecentRate rate;
  uint64_t count = 0;
  double seconds = 0;
  for (int i = 0; i < 1000; ++i)
    rate.add(seconds += 0.1, count += 100);
  EXPECT_NEAR(rate.perSecond(), 1000, 1);
  for (int i = 0; i < 150; ++i)
    rate.add(seconds += 0.1, count += 10);
  EXPECT_NEAR(rate.perSecond(), 100, 50); // the average of all is 883
}
