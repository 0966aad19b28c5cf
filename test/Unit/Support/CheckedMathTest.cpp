#include "lib/Support/CheckedMath.h"
#include <array>
#include <gtest/gtest.h>

using namespace rapt;

TEST(CheckedMath, OverflowGivesNothing) {
  EXPECT_EQ(checkedAdd<uint64_t>(UINT64_MAX - 1, 1), UINT64_MAX);
  EXPECT_EQ(checkedAdd<uint64_t>(UINT64_MAX, 1), std::nullopt);
  EXPECT_EQ(checkedMul<int64_t>(INT64_MAX / 2, 2), INT64_MAX - 1);
  EXPECT_EQ(checkedMul<int64_t>(INT64_MAX / 2 + 1, 2), std::nullopt);
}

TEST(CheckedMath, ProductOfNothingIsOneAndZeroWins) {
  EXPECT_EQ(checkedProduct<int64_t>({}), 1);
  std::array<int64_t, 3> large = {int64_t(1) << 32, int64_t(1) << 32, 4};
  EXPECT_EQ(checkedProduct<int64_t>(large), std::nullopt);
  large[2] = 0;
  EXPECT_EQ(checkedProduct<int64_t>(large), 0);
}

TEST(CheckedMath, AlignUp) {
  EXPECT_EQ(checkedAlignUp(0, 64), 0u);
  EXPECT_EQ(checkedAlignUp(65, 64), 128u);
  EXPECT_EQ(checkedAlignUp(UINT64_MAX, 64), std::nullopt);
}
