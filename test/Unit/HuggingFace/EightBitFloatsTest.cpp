#include "lib/Formats/HuggingFace/EightBitFloats.h"
#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace rapt::huggingface;

namespace {

std::array<float, 256> decodeAll(EightBitFormat format) {
  std::array<std::byte, 256> codes;
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = std::byte(i);
  std::array<float, 256> values;
  decodeEightBit(format, codes, values);
  return values;
}

/// The number of a code by its fields, in double.
double formula(unsigned code, unsigned mantissaBits, int bias) {
  const unsigned mantissa = code & ((1u << mantissaBits) - 1), exponent = (code & 0x7f) >> mantissaBits;
  const double fraction = mantissa / double(1u << mantissaBits);
  const double magnitude =
      exponent ? (1 + fraction) * std::pow(2, int(exponent) - bias) : fraction * std::pow(2, 1 - bias);
  return code & 0x80 ? -magnitude : magnitude;
}

TEST(EightBitFloats, EveryCodeOfE4M3) {
  const std::array<float, 256> values = decodeAll(EightBitFormat::E4M3);
  for (unsigned code = 0; code < 256; ++code) {
    if ((code & 0x7f) == 0x7f) {
      EXPECT_TRUE(std::isnan(values[code])) << code;
      continue;
    }
    EXPECT_EQ(values[code], formula(code, 3, 7)) << code;
    EXPECT_EQ(std::signbit(values[code]), code >= 128) << code;
  }
  EXPECT_EQ(values[0x7e], 448);
  EXPECT_EQ(values[1], std::ldexp(1.0f, -9));
  EXPECT_TRUE(values[0x80] == 0 && std::signbit(values[0x80]));
}

TEST(EightBitFloats, EveryCodeOfE5M2) {
  const std::array<float, 256> values = decodeAll(EightBitFormat::E5M2);
  for (unsigned code = 0; code < 256; ++code) {
    const unsigned magnitude = code & 0x7f;
    if (magnitude > 0x7c)
      EXPECT_TRUE(std::isnan(values[code])) << code;
    else if (magnitude == 0x7c)
      EXPECT_TRUE(std::isinf(values[code]) && std::signbit(values[code]) == (code >= 128)) << code;
    else
      EXPECT_EQ(values[code], formula(code, 2, 15)) << code;
  }
  EXPECT_EQ(values[0x7b], 57344);
  EXPECT_TRUE(values[0x80] == 0 && std::signbit(values[0x80]));
}

TEST(EightBitFloats, Formats) {
  EXPECT_EQ(eightBitFormat("F8_E4M3"), EightBitFormat::E4M3);
  EXPECT_EQ(eightBitFormat("F8_E5M2"), EightBitFormat::E5M2);
  EXPECT_FALSE(eightBitFormat("F8_E8M0").has_value());
}

std::optional<BlockScaling> read(const std::string &text, std::string &error) {
  ConfigReader config(*rapt::json::parse(text), "config.json", {});
  std::optional<BlockScaling> scaling = readBlockScaling(config);
  rapt::Status status = config.errors();
  error = status ? "" : status.error().message;
  return scaling;
}

TEST(EightBitFloats, Configuration) {
  std::string error;
  auto scaling = read(R"({"quantization_config": {"quant_method": "fp8"}})", error);
  ASSERT_TRUE(scaling && error.empty()) << error;
  EXPECT_EQ(scaling->block, (std::array<int64_t, 2>{128, 128}));
  scaling = read(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": null}})", error);
  ASSERT_TRUE(scaling && error.empty()) << error;
  EXPECT_FALSE(scaling->block.has_value());
  EXPECT_FALSE(read(R"({"quantization_config": {"quant_method": "gptq"}})", error).has_value());
  EXPECT_TRUE(
      read(R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [64]}})", error).has_value());
  EXPECT_NE(error.find("weight_block_size is [64]"), error.npos) << error;
}

} // namespace
