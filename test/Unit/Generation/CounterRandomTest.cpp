#include "lib/Generation/CounterRandom.h"
#include <gtest/gtest.h>

using namespace rapt;
using Words = std::array<uint32_t, 4>;

// The known answers that come with Random123.
TEST(CounterRandom, PhiloxGivesItsKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(CounterRandom, DrawsDependOnSeedSequenceAndDraw) {
  EXPECT_EQ(uniformDraw(0, 0, 0), double((uint64_t(0x6627e8d5) << 32 | 0xe169c58d) >> 11) * 0x1p-53);
  EXPECT_NE(uniformDraw(1, 0, 0), uniformDraw(0, 0, 0));
  EXPECT_NE(uniformDraw(0, 1, 0), uniformDraw(0, 0, 0));
  EXPECT_NE(uniformDraw(0, 0, 1), uniformDraw(0, 0, 0));
  EXPECT_NE(uniformDraw(uint64_t(1) << 32, 0, 0), uniformDraw(0, 0, 0));
  double sum = 0;
  for (uint64_t draw = 0; draw < 10'000; ++draw) {
    double value = uniformDraw(42, 7, draw);
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.015); // five standard deviations
}
