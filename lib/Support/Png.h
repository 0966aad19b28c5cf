//===- Png.h - Pictures of numbers --------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <span>
#include <string>

namespace rapt {

/// Writes a grey picture, `pixels` [height, width] with 0 for black, without compression (W3C PNG, 8 bits a pixel).
/// Errors name the path.
Status writePng(const std::string &path, uint32_t width, uint32_t height, std::span<const uint8_t> pixels);

} // namespace rapt
