#include "lib/Support/Units.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace rapt;

TEST(Units, NumbersAreGrouped) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(Units, BytesHaveTheUnitOfTheirSize) {
  EXPECT_EQ(inUnits(0), "0 bytes");
  EXPECT_EQ(inUnits(999), "999 bytes");
  EXPECT_EQ(inUnits(1000), "1.0 kB");
  EXPECT_EQ(inUnits(497759232), "497.8 MB");
  EXPECT_EQ(inUnits(13500000000), "13.5 GB");
  EXPECT_EQ(inUnits(UINT64_MAX), "18446744.1 TB");
}

TEST(Units, TimeHasAtMostTwoUnits) {
  EXPECT_EQ(inTime(0), "0 s");
  EXPECT_EQ(inTime(59.4), "59 s");
  EXPECT_EQ(inTime(59.5), "1 min 0 s");
  EXPECT_EQ(inTime(80), "1 min 20 s");
  EXPECT_EQ(inTime(3599.4), "59 min 59 s");
  EXPECT_EQ(inTime(7500), "2 h 5 min");
  EXPECT_EQ(inTime(99 * 3600 - 1), "98 h 59 min");
}

// The time that is left may be anything where a rate is near zero.
TEST(Units, TimeIsBounded) {
  for (double seconds : {99.0 * 3600, 1e300, HUGE_VAL, std::nan("")})
    EXPECT_EQ(inTime(seconds), "99 h") << seconds;
  EXPECT_EQ(inTime(-1), "0 s");
}
