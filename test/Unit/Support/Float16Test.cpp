#include "lib/Support/Float16.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace rapt;

// Every 16-bit pattern is exact in binary32, so the way there and back is the identity.
TEST(Float16, EveryPatternRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float half = f16ToF32(uint16_t(bits)), brain = bf16ToF32(uint16_t(bits));
    if (!std::isnan(half)) {
      EXPECT_EQ(f32ToF16(half), bits);
    }
    if (!std::isnan(brain)) {
      EXPECT_EQ(f32ToBf16(brain), bits);
    }
  }
}

// Between two neighbors: below the middle rounds down, above up, the middle to the even one.
TEST(Float16, RoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    float low = f16ToF32(uint16_t(bits)), high = f16ToF32(uint16_t(bits + 1)), middle = (low + high) / 2;
    EXPECT_EQ(f32ToF16(middle), bits + (bits & 1));
    EXPECT_EQ(f32ToF16(std::nextafter(middle, low)), bits);
    EXPECT_EQ(f32ToF16(std::nextafter(middle, high)), bits + 1);
  }
  for (uint32_t bits = 0x80; bits < 0x7f7f; ++bits) {
    uint32_t middle = bits << 16 | 0x8000;
    EXPECT_EQ(f32ToBf16(std::bit_cast<float>(middle)), bits + (bits & 1));
    EXPECT_EQ(f32ToBf16(std::bit_cast<float>(middle - 1)), bits);
    EXPECT_EQ(f32ToBf16(std::bit_cast<float>(middle + 1)), bits + 1);
  }
}

TEST(Float16, OverflowAndNaN) {
  EXPECT_EQ(f32ToF16(65519.996f), 0x7bff);
  EXPECT_EQ(f32ToF16(65520.0f), 0x7c00);
  EXPECT_EQ(f32ToF16(-1e30f), 0xfc00);
  EXPECT_EQ(f32ToBf16(3.4028235e38f), 0x7f80);
  EXPECT_TRUE(std::isnan(f16ToF32(f32ToF16(NAN))));
  EXPECT_TRUE(std::isnan(bf16ToF32(f32ToBf16(std::bit_cast<float>(0x7f800001u)))));
}
