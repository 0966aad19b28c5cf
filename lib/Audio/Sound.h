//===- Sound.h - Samples of one sound --------------------------------------===//
#pragma once
#include <cstdint>
#include <vector>

namespace rapt::audio {

/// One channel.
struct Sound {
  int64_t rate = 0; ///< samples per second
  std::vector<float> samples;
};

/// Bounds of what is read and made. They keep a small hostile file from asking for gigabytes.
inline constexpr int64_t leastRate = 1000, mostRate = 768000;
inline constexpr int64_t mostSeconds = 24 * 60 * 60, mostSamples = int64_t(1) << 30;

} // namespace rapt::audio
