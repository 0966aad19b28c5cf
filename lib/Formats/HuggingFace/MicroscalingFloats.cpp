//===- MicroscalingFloats.cpp - Values of four bits with a scale a block ----===//
#include "lib/Formats/HuggingFace/MicroscalingFloats.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace rapt;

static constexpr uint64_t bytesOfBlock = 1 + huggingface::microscalingBlock / 2;

const artifact::BlockSource huggingface::microscalingBlocks = {
    findBlockFormat("MXFP4"), bytesOfBlock, [](const std::byte *stored, artifact::CodeBlock &block) {
      block.scale = uint8_t(stored[0]);
      for (uint64_t i = 0; i < microscalingBlock; ++i)
        block.codes[i] = uint8_t(stored[1 + i / 2]) >> (i % 2 * 4) & 15;
    }};

void huggingface::decodeMicroscaling(uint64_t first, std::span<const std::byte> codes,
                                     std::span<const std::byte> scales, std::span<std::byte> out) {
  static constexpr float magnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  const uint64_t firstByte = first / 2, firstBlock = first / microscalingBlock, count = out.size() / sizeof(uint16_t);
  float factor = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t element = first + i;
    if (i == 0 || element % microscalingBlock == 0) {
      const auto scale = unsigned(scales[element / microscalingBlock - firstBlock]);
      factor = scale == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, int(scale) - 127);
    }
    const unsigned pair = unsigned(codes[element / 2 - firstByte]), code = element % 2 ? pair >> 4 : pair & 15;
    const float magnitude = magnitudes[code & 7] * factor; // exact
    const uint16_t bits = uint16_t(std::bit_cast<uint32_t>(code & 8 ? -magnitude : magnitude) >> 16);
    std::memcpy(out.data() + i * sizeof bits, &bits, sizeof bits);
  }
}
