#include "lib/Formats/HuggingFace/MicroscalingFloats.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>

using namespace rapt::huggingface;

namespace {

/// The numbers of values [first, first + count), of the codes and scales of a whole tensor.
std::vector<float> decode(const std::vector<uint8_t> &codes, const std::vector<uint8_t> &scales, uint64_t first,
                          size_t count) {
  std::vector<uint16_t> bits(count);
  decodeMicroscaling(first, std::as_bytes(std::span(codes)).subspan(first / 2),
                     std::as_bytes(std::span(scales)).subspan(first / microscalingBlock),
                     std::as_writable_bytes(std::span(bits)));
  std::vector<float> numbers;
  for (uint16_t half : bits)
    numbers.push_back(std::bit_cast<float>(uint32_t(half) << 16));
  return numbers;
}

TEST(Microscaling, EveryCode) {
  std::vector<uint8_t> codes;
  for (unsigned pair = 0; pair < 16; ++pair) // the lower half of a byte comes first
    codes.push_back(uint8_t(pair % 8 * 2 + (pair % 8 * 2 + 1) * 16));
  const std::vector<float> values = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  const std::vector<float> found = decode(codes, {128}, 0, 32);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i], 2 * values[i % 16]) << i;
    EXPECT_EQ(std::signbit(found[i]), std::signbit(values[i % 16])) << i;
  }
}

TEST(Microscaling, BeginsAnywhere) {
  std::vector<uint8_t> codes, scales = {120, 127, 133};
  for (unsigned i = 0; i < 48; ++i)
    codes.push_back(uint8_t(37 * i + 11));
  const std::vector<float> all = decode(codes, scales, 0, 96);
  for (uint64_t first : {1, 31, 32, 33, 63, 64, 95})
    for (size_t count : {1, 2, 31, 33}) {
      if (first + count > all.size())
        continue;
      const std::vector<float> part = decode(codes, scales, first, count);
      EXPECT_EQ(memcmp(part.data(), all.data() + first, count * sizeof(float)), 0) << first << ", " << count;
    }
}

TEST(Microscaling, LeastAndLargestScales) {
  const std::vector<uint8_t> codes(16, 0x21); // 0.5, then 1
  EXPECT_EQ(decode(codes, {0}, 0, 2), (std::vector<float>{std::ldexp(0.5f, -127), std::ldexp(1.0f, -127)}));
  EXPECT_EQ(decode(codes, {254}, 0, 2), (std::vector<float>{std::ldexp(0.5f, 127), std::ldexp(1.0f, 127)}));
  EXPECT_TRUE(std::isnan(decode(codes, {255}, 0, 1)[0]));
}

} // namespace
