// Runs of values: each length and type pair gives what converting alone gives, special values included.
#include "lib/Artifact/Conversion.h"
#include "lib/Artifact/Transposition.h"
#include "lib/Support/Float16.h"
#include "test/Unit/VectorWidths.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace rapt;
using namespace rapt::artifact;

TEST(Conversion, EveryF16ValueWidensAndReturns) {
  test::forEachVectorWidth([] {
    for (DType type : {DType::F16, DType::BF16}) {
      std::vector<uint16_t> all(65536), back(65536);
      std::vector<float> wide(65536);
      for (size_t i = 0; i < all.size(); ++i)
        all[i] = uint16_t(i * 40503); // odd: a permutation, so that blocks mix all exponents
      EXPECT_TRUE(convert(reinterpret_cast<std::byte *>(all.data()), type, reinterpret_cast<std::byte *>(wide.data()),
                          DType::F32, all.size()));
      EXPECT_TRUE(convert(reinterpret_cast<std::byte *>(wide.data()), DType::F32,
                          reinterpret_cast<std::byte *>(back.data()), type, all.size()));
      for (size_t i = 0; i < all.size(); ++i) {
        const float expected = type == DType::BF16 ? bf16ToF32(all[i]) : f16ToF32(all[i]);
        ASSERT_EQ(std::isnan(expected), std::isnan(wide[i])) << all[i];
        if (std::isnan(expected))
          continue;
        ASSERT_EQ(std::bit_cast<uint32_t>(expected), std::bit_cast<uint32_t>(wide[i])) << all[i];
        ASSERT_EQ(all[i], back[i]);
      }
    }
  });
}

TEST(Conversion, RoundsLikeTheScalarFunctionsAtAnyLength) {
  test::forEachVectorWidth([] {
    std::mt19937 random(1);
    for (size_t count = 0; count < 70; ++count) {
      std::vector<float> values(count);
      for (float &value : values)
        value = std::bit_cast<float>(uint32_t(0x30000000 + random() % 0x17000000) | uint32_t(random() & 1) << 31);
      std::vector<uint16_t> narrow(count);
      for (DType type : {DType::F16, DType::BF16}) {
        convert(reinterpret_cast<std::byte *>(values.data()), DType::F32, reinterpret_cast<std::byte *>(narrow.data()),
                type, count);
        for (size_t i = 0; i < count; ++i)
          ASSERT_EQ(narrow[i], type == DType::F16 ? f32ToF16(values[i]) : f32ToBf16(values[i])) << values[i];
      }
    }
  });
}

TEST(Conversion, OverflowIsTold) {
  test::forEachVectorWidth([] {
    for (float value : {65519.f, 65520.f, 1e30f, INFINITY}) {
      std::vector<float> values(33, 1.f);
      std::vector<uint16_t> narrow(33);
      for (size_t at : {0u, 20u, 32u}) {
        auto changed = values;
        changed[at] = value;
        EXPECT_EQ(convert(reinterpret_cast<std::byte *>(changed.data()), DType::F32,
                          reinterpret_cast<std::byte *>(narrow.data()), DType::F16, 33),
                  value < 65520.f || std::isinf(value));
      }
    }
  });
}

TEST(Transposition, AnyExtentsAndPitches) {
  test::forEachVectorWidth([] {
    std::mt19937 random(2);
    for (int trial = 0; trial < 200; ++trial) {
      const size_t unit = trial % 2 ? 2 : 4, lanes = random() % 40, units = random() % 90;
      const size_t sourcePitch = units * unit + random() % 9, targetPitch = lanes * unit + random() % 9;
      std::vector<std::byte> source(lanes * sourcePitch + 1), target(units * targetPitch + 1), expected;
      for (std::byte &byte : source)
        byte = std::byte(random());
      expected = target;
      for (size_t i = 0; i < lanes; ++i)
        for (size_t u = 0; u < units; ++u)
          std::memcpy(&expected[u * targetPitch + i * unit], &source[i * sourcePitch + u * unit], unit);
      transpose(source.data(), sourcePitch, target.data(), targetPitch, lanes, units, unit);
      ASSERT_EQ(target, expected) << lanes << " x " << units << " of " << unit;
    }
  });
}
