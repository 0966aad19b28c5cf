//===- BlockFormat.h - Matrices that are stored as codes in blocks ----------===//
//
// A number of such a matrix is scale * (number of its code - zero) + offset. A block of a row
// has codes, for each group of them a small scale and perhaps a small offset, and numbers that
// all of these are multiplied by. The formats are those of GGUF files (BlockFormats.def); how
// blocks lie in those is lib/Formats/GGUF's affair, how they lie in a weight file is said here.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rapt {

/// The number that a code stands for, from 0 to 255.
enum class BlockCode : uint8_t {
  Integer,   ///< the code itself
  NonLinear, ///< one of a table of 16
  Float,     ///< a number of 4 bits, twice, plus 128: 1 sign, 2 of exponent, 1 of mantissa
};

/// The small scale of a group.
enum class ByteScale : uint8_t {
  One,      ///< none
  Nibble,   ///< the low half of a byte, whose high half is the group's offset
  Unsigned, ///< a byte
  Signed,   ///< a byte
};

/// The scale of a block.
enum class BlockScale : uint8_t {
  Half,     ///< f16
  Exponent, ///< a byte e, which stands for 2^(e - 128)
};

/// What is added to the numbers.
enum class BlockOffset : uint8_t {
  None,
  OfBlock, ///< a number in f16
  OfGroup, ///< minus a byte of the group times a number in f16 of the block
};

struct BlockFormat {
  std::string_view name;   ///< in the IR
  std::string_view inFile; ///< in GGUF files
  int64_t bits;            ///< of a code
  BlockCode code;
  int64_t zero;
  int64_t group; ///< neighbors that share a scale: 16 or 32
  ByteScale groupScale;
  int64_t block; ///< neighbors in a block: 32 or 256
  BlockScale blockScale;
  BlockOffset offset;

  /// Codes of all formats lie in units of as many rows.
  static constexpr int64_t unit = 32;

  constexpr int64_t units() const { return block / unit; }
  constexpr int64_t groupsOfUnit() const { return unit / group; }
  constexpr int64_t groups() const { return block / group; }
  constexpr bool hasOffsets() const { return offset != BlockOffset::None; }
  /// A byte of a group's own, beside that of its scale.
  constexpr bool hasOffsetBytes() const { return offset == BlockOffset::OfGroup && groupScale != ByteScale::Nibble; }
  /// The largest number of a code.
  constexpr int64_t mostNumber() const {
    return code == BlockCode::NonLinear ? 241 : code == BlockCode::Float ? 140 : (int64_t(1) << bits) - 1;
  }
};

inline constexpr BlockFormat blockFormats[] = {
#define RAPT_BLOCK_FORMAT(NAME, FILE, BITS, CODE, ZERO, GROUP, GROUP_SCALE, BLOCK, BLOCK_SCALE, OFFSET)                \
  {#NAME,                                                                                                              \
   FILE,                                                                                                               \
   BITS,                                                                                                               \
   BlockCode::CODE,                                                                                                    \
   ZERO,                                                                                                               \
   GROUP,                                                                                                              \
   ByteScale::GROUP_SCALE,                                                                                             \
   BLOCK,                                                                                                              \
   BlockScale::BLOCK_SCALE,                                                                                            \
   BlockOffset::OFFSET},
#include "lib/Support/BlockFormats.def"
};

/// The numbers of the codes of BlockCode::NonLinear and Float; those of Integer are the codes.
inline constexpr std::array<uint8_t, 16> nonLinearNumbers = {1,   24,  45,  63,  79,  93,  106, 118,
                                                             129, 141, 153, 166, 181, 197, 217, 241};
inline constexpr std::array<uint8_t, 16> floatNumbers = {128, 129, 130, 131, 132, 134, 136, 140,
                                                         128, 127, 126, 125, 124, 122, 120, 116};
constexpr int64_t numberOf(const BlockFormat &format, int64_t code) {
  return format.code == BlockCode::NonLinear ? nonLinearNumbers[size_t(code)]
         : format.code == BlockCode::Float   ? floatNumbers[size_t(code)]
                                             : code;
}

/// The format that files call so, null where there is none.
constexpr const BlockFormat *findBlockFormat(std::string_view inFile) {
  for (const BlockFormat &format : blockFormats)
    if (format.inFile == inFile)
      return &format;
  return nullptr;
}

/// Bits of codes that lie together: `bits` of each, from `shift` on.
struct CodePlane {
  int64_t bits, shift;
  int64_t at; ///< byte of the unit, of one column
};

/// A block in the weight file, of `width` columns side by side: the panel's, or one of a row-major row. It has units of
/// 32 rows, and behind them the numbers of the block. A unit has planes of 8, 4, 2 or 1 bits of its codes, and then the
/// bytes of its groups. All bytes are [.., columns, ..]: of codes four neighbors of a column follow one another, so
/// that byte [i, column, j] of a plane of n bits has rows 4 (8 / n) i + 4 m + j, m-th from the low bits on. Numbers of
/// groups and blocks are [columns].
class BlockLayout {
public:
  constexpr BlockLayout(const BlockFormat &format, int64_t width) : format(format), width(width) {}

  const BlockFormat &format;
  const int64_t width;

  /// Up to two planes.
  constexpr std::array<std::optional<CodePlane>, 2> planes() const {
    switch (format.bits) {
    case 2:
    case 4:
    case 8:
      return {CodePlane{format.bits, 0, 0}, std::nullopt};
    case 3:
      return {CodePlane{2, 0, 0}, CodePlane{1, 2, 8}};
    case 5:
      return {CodePlane{4, 0, 0}, CodePlane{1, 4, 16}};
    default:
      return {CodePlane{4, 0, 0}, CodePlane{2, 4, 16}};
    }
  }
  constexpr int64_t codeBytes() const { return BlockFormat::unit / 8 * format.bits * width; }
  /// Where a unit has the scales of its groups, and their offsets, a byte for each column.
  constexpr int64_t groupScales(int64_t group) const { return codeBytes() + group * width; }
  constexpr int64_t groupOffsets(int64_t group) const {
    return format.groupScale == ByteScale::Nibble ? groupScales(group) : groupScales(format.groupsOfUnit() + group);
  }
  constexpr int64_t unitBytes() const {
    const int64_t perGroup = (format.groupScale != ByteScale::One) + format.hasOffsetBytes();
    return codeBytes() + format.groupsOfUnit() * perGroup * width;
  }
  /// Where a block has its scales and what offsets are multiplied by, or the offsets.
  constexpr int64_t blockScales() const { return format.units() * unitBytes(); }
  constexpr int64_t scaleBytes() const { return format.blockScale == BlockScale::Half ? 2 : 1; }
  constexpr int64_t blockOffsets() const { return blockScales() + scaleBytes() * width; }
  constexpr int64_t blockBytes() const { return blockOffsets() + (format.hasOffsets() ? 2 * width : 0); }
};

} // namespace rapt
