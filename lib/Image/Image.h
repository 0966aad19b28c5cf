//===- Image.h - Pixels of one picture -------------------------------------===//
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::image {

/// 8-bit red, green and blue, rows from the top, without gaps.
struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels; ///< [height, width, 3]
};

/// Bounds of what is read and made. They keep a small hostile file from asking for gigabytes.
inline constexpr int64_t mostSide = 65535, mostPixels = int64_t(1) << 26;

/// "640 x 480", for messages.
inline std::string shownSize(int64_t width, int64_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

} // namespace rapt::image
