//===- Picture.h - Grey pixels --------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::drawing {

/// A grey picture, [height, width]; 0 is black, 255 is white, as all of it is at first.
struct Picture {
  size_t width = 0, height = 0;
  std::vector<uint8_t> pixels;

  Picture(size_t width, size_t height) : width(width), height(height), pixels(width * height, 255) {}
  void fill(size_t left, size_t top, size_t columns, size_t rows, uint8_t grey);
};

/// The picture as a PNG file, 8 bits a pixel (W3C PNG). An error has the library's words.
Expected<std::string> encodePng(const Picture &picture);

} // namespace rapt::drawing
