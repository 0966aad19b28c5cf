//===- CodeBlock.h - One block of a quantized matrix's row ----------------------===//
#pragma once
#include "lib/Support/BlockFormat.h"
#include <cstddef>

namespace rapt::artifact {

/// A block as readers of files hand it out, whatever the bits of its codes.
struct CodeBlock {
  static constexpr int64_t most = 256, mostGroups = 16;
  uint8_t codes[most];         ///< in the order of the row
  uint8_t scales[mostGroups];  ///< of groups, as the format says; of ByteScale::Nibble the whole byte
  uint8_t offsets[mostGroups]; ///< of groups that have a byte for it
  uint16_t scale, offset;      ///< of the block
};

/// How a file's tensor has blocks, those of a row one after another.
struct BlockSource {
  const BlockFormat *format;
  uint64_t bytes; ///< of a block
  void (*read)(const std::byte *stored, CodeBlock &block);
};

/// The scale of a group, and what is added to its numbers, in f32.
float scaleOf(const BlockFormat &format, const CodeBlock &block, int64_t group);
float offsetOf(const BlockFormat &format, const CodeBlock &block, int64_t group);
/// The number of `code` in a group with this scale and offset: rounded once where the product is exact, as that of
/// every finite scale of a group is.
inline float valueOf(const BlockFormat &format, float scale, float offset, uint8_t code) {
  const float product = scale * float(numberOf(format, code) - format.zero);
  return format.hasOffsets() ? product + offset : product;
}

/// All numbers of the block.
void decode(const BlockFormat &format, const CodeBlock &block, float *values);

/// Writes the block as the one of `column` into a block of the layout, whose bytes begin at `target`.
void writeBlock(const BlockLayout &layout, const CodeBlock &block, int64_t column, std::byte *target);

/// Reads back what writeBlock wrote.
CodeBlock readBlock(const BlockLayout &layout, const std::byte *source, int64_t column);

} // namespace rapt::artifact
