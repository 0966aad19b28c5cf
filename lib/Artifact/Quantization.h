//===- Quantization.h - Quantized weights in groups ----------------------------===//
//
// Codes, scales and zeros of a weight are chosen here alone: the packer writes
// them, the reference evaluator reads them. Arithmetic is binary32 in a fixed order, so
// that every machine packs the same bytes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Panels.h"
#include "lib/Support/BlockFormat.h"
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rapt::artifact {

/// Elements of the least group. Groups that begin anew after each period (a head) need whole ones, so the file pads
/// each period with zeros to a multiple of this: a fact of quantized matrices in the file, in each of its layouts.
inline constexpr int64_t leastGroup = 32;
static_assert(panelWidth % leastGroup == 0, "rows and columns of every layout hold whole groups");
constexpr int64_t padPeriod(int64_t period) { return (period + leastGroup - 1) / leastGroup * leastGroup; }

/// How a matrix is quantized; 0 bits: not at all.
struct Quantization {
  uint8_t bits = 0;                    ///< 4 or 8; those of a code of blocks
  int64_t group = 0;                   ///< rows of a group: 32, 64 or 128; 0: all
  bool zeroPoints = false;             ///< groups of 4 bits have a zero of their own
  const BlockFormat *blocks = nullptr; ///< of a matrix that the checkpoint has in blocks, whose groups are blocks here

  /// That of an element type of the dialect.
  template <typename Type> static Quantization of(Type type) {
    const BlockFormat *blocks = type.blocks();
    return {uint8_t(type.bits()), blocks ? blocks->block : type.getGroup(), type.getZeroPoints(), blocks};
  }

  explicit operator bool() const { return bits != 0; }
  friend bool operator==(const Quantization &, const Quantization &) = default;

  int64_t zero() const { return int64_t(1) << (bits - 1); }
  /// Rows with those that fill the last group.
  int64_t paddedRows(int64_t rows) const {
    const int64_t unit = group == 0 ? leastGroup : group;
    return (rows + unit - 1) / unit * unit;
  }
  int64_t groups(int64_t rows) const { return group == 0 ? 1 : paddedRows(rows) / group; }
  int64_t groupRows(int64_t rows) const { return group == 0 ? paddedRows(rows) : group; }
  /// Bytes of a group of a panel of 32 columns: codes, 32 scales in bf16, and 64 bytes of zeros where it has them.
  int64_t codeBytes(int64_t rows) const { return groupRows(rows) * panelWidth * bits / 8; }
  int64_t groupBytes(int64_t rows) const {
    return blocks ? BlockLayout(*blocks, panelWidth).blockBytes() : codeBytes(rows) + 64 + (zeroPoints ? 64 : 0);
  }
  /// Bytes of a group of one row-major row: codes, two of 4 bits in a byte (the first is the low half), the scale in
  /// bf16, and a byte of zero where it has one.
  int64_t rowCodeBytes(int64_t depth) const { return groupRows(depth) * bits / 8; }
  int64_t rowGroupBytes(int64_t depth) const {
    return blocks ? BlockLayout(*blocks, 1).blockBytes() : rowCodeBytes(depth) + 2 + (zeroPoints ? 1 : 0);
  }
};

/// How far values are from what was stored: sums of squares.
struct QuantizationError {
  double error = 0, norm = 0;
  void add(double stored, double value) {
    error += (stored - value) * (stored - value);
    norm += value * value;
  }
  void add(const QuantizationError &other) { error += other.error, norm += other.norm; }
  /// Relative L2; 0 of nothing.
  double relative() const;
};

/// Codes of a group of a panel, and what they stand for: scale[n] (code[k][n] - zero[n]).
struct QuantizedGroup {
  static constexpr int64_t width = panelWidth;
  std::vector<uint8_t> codes; ///< [rows][32], and rows of zeros that fill a word of 32 bits
  float scales[width];        ///< values of bf16
  uint8_t zeros[width];
  QuantizationError errors[width]; ///< of each column

  double value(int64_t row, int64_t column) const {
    return double(scales[column]) * (int(codes[row * width + column]) - int(zeros[column]));
  }
};

/// Rounds `rows` rows of a panel, [rows][32], at most those of a group. Returns the first column that holds NaN or
/// infinity, or -1.
int quantize(const float *panel, int64_t rows, const Quantization &how, QuantizedGroup &group);

/// Writes a group of how.groupBytes(...) bytes: codes of `groupRows` rows, of which the missing ones are zeros.
void writeGroup(const QuantizedGroup &group, int64_t rows, int64_t groupRows, const Quantization &how,
                std::byte *target);

/// Writes the columns of a group as groups of how.rowGroupBytes(...) bytes of 32 row-major rows, one after another.
/// Elements beyond `depth` are zeros.
void writeRowGroups(const QuantizedGroup &group, int64_t depth, int64_t groupDepth, const Quantization &how,
                    std::byte *target);

} // namespace rapt::artifact
