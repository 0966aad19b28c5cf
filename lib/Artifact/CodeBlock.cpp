//===- CodeBlock.cpp - One block of a quantized matrix's row --------------------===//
#include "lib/Artifact/CodeBlock.h"
#include "lib/Support/Float16.h"
#include <cstring>

namespace rapt::artifact {

#pragma clang fp contract(off)

float scaleOf(const BlockFormat &format, const CodeBlock &block, int64_t group) {
  float scale = 0;
  if (format.blockScale == BlockScale::Half) {
    scale = f16ToF32(block.scale);
  } else {
    const uint32_t exponent = block.scale; // 0 and 1 are 2^-128 and 2^-127, which are subnormal
    scale = std::bit_cast<float>(exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23);
  }
  switch (format.groupScale) {
  case ByteScale::One:
    return scale;
  case ByteScale::Nibble:
    return scale * float(block.scales[group] & 15);
  case ByteScale::Unsigned:
    return scale * float(block.scales[group]);
  case ByteScale::Signed:
    return scale * float(int8_t(block.scales[group]));
  }
  __builtin_unreachable();
}

float offsetOf(const BlockFormat &format, const CodeBlock &block, int64_t group) {
  const float factor = f16ToF32(block.offset);
  switch (format.offset) {
  case BlockOffset::None:
    return 0;
  case BlockOffset::OfBlock:
    return factor;
  case BlockOffset::OfGroup:
    return -(factor * float(format.groupScale == ByteScale::Nibble ? block.scales[group] >> 4 : block.offsets[group]));
  }
  __builtin_unreachable();
}

void decode(const BlockFormat &format, const CodeBlock &block, float *values) {
  for (int64_t group = 0; group < format.groups(); ++group) {
    const float scale = scaleOf(format, block, group), offset = offsetOf(format, block, group);
    for (int64_t i = group * format.group; i < (group + 1) * format.group; ++i)
      values[i] = valueOf(format, scale, offset, block.codes[i]);
  }
}

/// Calls body(byte of the unit, first of four rows, shift in each byte, plane) for each four rows of a unit.
template <typename Body> static void forFours(const BlockLayout &layout, int64_t column, Body body) {
  for (const std::optional<CodePlane> &plane : layout.planes()) {
    if (!plane)
      continue;
    const int64_t together = 8 / plane->bits;
    for (int64_t four = 0; four < BlockFormat::unit / 4; ++four)
      body(plane->at * layout.width + 4 * (four / together * layout.width + column), 4 * four,
           four % together * plane->bits, *plane);
  }
}

static void put(const BlockLayout &layout, int64_t at, int64_t column, uint16_t number, int64_t bytes,
                std::byte *target) {
  std::memcpy(target + at + column * bytes, &number, size_t(bytes));
}

void writeBlock(const BlockLayout &layout, const CodeBlock &block, int64_t column, std::byte *target) {
  const BlockFormat &format = layout.format;
  for (int64_t unit = 0; unit < format.units(); ++unit) {
    std::byte *own = target + unit * layout.unitBytes();
    const uint8_t *codes = block.codes + unit * BlockFormat::unit;
    uint32_t word = 0; // four rows in four bytes
    forFours(layout, column, [&](int64_t at, int64_t row, int64_t shift, const CodePlane &plane) {
      uint32_t four;
      std::memcpy(&four, codes + row, sizeof four);
      const uint32_t mask = 0x01010101u * ((1u << plane.bits) - 1);
      word = (shift == 0 ? 0 : word) | (four >> plane.shift & mask) << shift;
      if (shift + plane.bits == 8)
        std::memcpy(own + at, &word, sizeof word);
    });
    for (int64_t i = 0; i < format.groupsOfUnit(); ++i) {
      const int64_t group = unit * format.groupsOfUnit() + i;
      if (format.groupScale != ByteScale::One)
        own[layout.groupScales(i) + column] = std::byte(block.scales[group]);
      if (format.hasOffsetBytes())
        own[layout.groupOffsets(i) + column] = std::byte(block.offsets[group]);
    }
  }
  put(layout, layout.blockScales(), column, block.scale, layout.scaleBytes(), target);
  if (format.hasOffsets())
    put(layout, layout.blockOffsets(), column, block.offset, 2, target);
}

CodeBlock readBlock(const BlockLayout &layout, const std::byte *source, int64_t column) {
  const BlockFormat &format = layout.format;
  CodeBlock block{};
  for (int64_t unit = 0; unit < format.units(); ++unit) {
    const std::byte *own = source + unit * layout.unitBytes();
    uint8_t *codes = block.codes + unit * BlockFormat::unit;
    forFours(layout, column, [&](int64_t at, int64_t row, int64_t shift, const CodePlane &plane) {
      for (int64_t i = 0; i < 4; ++i)
        codes[row + i] |= uint8_t((unsigned(own[at + i]) >> shift & ((1u << plane.bits) - 1)) << plane.shift);
    });
    for (int64_t i = 0; i < format.groupsOfUnit(); ++i) {
      const int64_t group = unit * format.groupsOfUnit() + i;
      if (format.groupScale != ByteScale::One)
        block.scales[group] = uint8_t(own[layout.groupScales(i) + column]);
      if (format.hasOffsetBytes())
        block.offsets[group] = uint8_t(own[layout.groupOffsets(i) + column]);
    }
  }
  std::memcpy(&block.scale, source + layout.blockScales() + column * layout.scaleBytes(), size_t(layout.scaleBytes()));
  if (format.hasOffsets())
    std::memcpy(&block.offset, source + layout.blockOffsets() + column * 2, 2);
  return block;
}

} // namespace rapt::artifact
