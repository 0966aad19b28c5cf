//===- Fixtures.h - Sound files of the checkout, and WAV files made here ---===//
#pragma once
#include "lib/Audio/Sound.h"
#include "lib/Support/File.h"
#include "test/Unit/Folders.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <numbers>
#include <string>

namespace rapt::test {

/// The content of a file of test/Audio/data.
inline std::string readFixture(const std::string &name) {
  Expected<std::string> content = readFile(inSource("/test/Audio/data/") + name, 1 << 26);
  EXPECT_TRUE(bool(content)) << content.error().message;
  return content ? *content : std::string();
}

/// The low `bytes` bytes of `number`, the lowest first.
inline std::string littleEndian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i)
    text += char(number >> 8 * i);
  return text;
}

inline std::string bytesOf(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  return littleEndian(bits, 4);
}

/// The header of a WAV file and its samples; `claimed` replaces the number of their bytes.
struct Wav {
  uint32_t format = 1; ///< 1: integers, 3: floats
  uint32_t channels = 1, rate = 16000, bits = 16;
  std::string data = {};
  uint32_t claimed = 0;

  std::string file() const {
    uint32_t bytes = claimed ? claimed : uint32_t(data.size()), frame = channels * bits / 8;
    return "RIFF" + littleEndian(bytes + 36, 4) + "WAVEfmt " + littleEndian(16, 4) + littleEndian(format, 2) +
           littleEndian(channels, 2) + littleEndian(rate, 4) + littleEndian(uint64_t(rate) * frame, 4) +
           littleEndian(frame, 2) + littleEndian(bits, 2) + "data" + littleEndian(bytes, 4) + data;
  }
};

/// `count` samples of a sine of 440 Hz.
inline audio::Sound sine(int64_t rate, int64_t count, double amplitude = 0.5) {
  audio::Sound sound{rate, {}};
  for (int64_t i = 0; i < count; ++i)
    sound.samples.push_back(float(amplitude * std::sin(2 * std::numbers::pi * 440 * double(i) / double(rate))));
  return sound;
}

} // namespace rapt::test
