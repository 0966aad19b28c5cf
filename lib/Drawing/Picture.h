//===- Picture.h - Colored pixels -----------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::drawing {

struct Color {
  uint8_t red, green, blue;
  bool operator==(const Color &) const = default;
};

/// A picture [height, width, 3], white at first.
struct Picture {
  size_t width = 0, height = 0;
  std::vector<uint8_t> pixels;

  Picture(size_t width, size_t height) : width(width), height(height), pixels(width * height * 3, 255) {}
  Color at(size_t x, size_t y) const {
    const uint8_t *pixel = &pixels[(y * width + x) * 3];
    return {pixel[0], pixel[1], pixel[2]};
  }
  void fill(size_t left, size_t top, size_t columns, size_t rows, Color color);
};

/// The picture as a PNG file, 8 bits a channel (W3C PNG). An error has the library's words.
Expected<std::string> encodePng(const Picture &picture);

} // namespace rapt::drawing
