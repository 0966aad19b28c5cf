//===- QuantizedLayout.h - Quantized matrices as the CPU reads them -------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "lib/Artifact/Quantization.h"
#include "llvm/Support/MathExtras.h"

namespace rapt::attn_cpu {

/// Memory layout of a quantized weight of `depth` rows, in the packed panels of the weight file, and of the quantized
/// rows of activations that are multiplied by it.
class QuantizedLayout {
public:
  QuantizedLayout(attn::QuantizedType type, int64_t depth)
      : context(type.getContext()), file(artifact::Quantization::of(type)), depth(depth) {}
  /// The rows that are multiplied by a weight of type `weight`. Those in words have 16 bits for each quantized value.
  static QuantizedLayout ofRows(attn::QuantizedType weight, int64_t depth, bool inWords) {
    QuantizedLayout layout(weight.ofRows(), depth);
    layout.valueBytes = inWords ? 2 : 1;
    return layout;
  }

  /// Rows including those that pad the last group, whose quantized values are zeros.
  int64_t paddedDepth() const { return file.paddedRows(depth); }
  int64_t groups() const { return file.groups(depth); }
  int64_t groupDepth() const { return file.groupRows(depth); }
  /// Bytes of the quantized values of one group of a panel. u8 is interleaved by 4, [group/4][32][4]. u4 has
  /// [group/8][32] words of 8 nibbles: byte i of a word has rows i (low nibble) and 4 + i (high nibble), so that a
  /// shift and an AND unpack four rows as an int8 dot product takes them.
  int64_t codeBytes() const { return file.codeBytes(depth); }
  /// Bytes of a group of a panel: quantized values, scales and zero points, padded to 64.
  int64_t groupBytes() const { return file.groupBytes(depth); }
  /// The type of a weight of `panels` panels: [panels, groups, groupBytes].
  mlir::RankedTensorType panelBytes(int64_t panels) const {
    return mlir::RankedTensorType::get({panels, groups(), groupBytes()}, mlir::IntegerType::get(context, 8));
  }

  /// An unpacked panel of 4 bits, [2 * groups, unpackedBytes]: the groups of columns 0-15, then those of 16-31. A group
  /// has a byte for each code, [group/4][16][4], 16 scales in f32, and 16 zero points in i32 where there are some.
  int64_t unpackedCodeBytes() const { return groupDepth() * kUnpackedColumns; }
  int64_t unpackedBytes() const { return unpackedCodeBytes() + (file.zeroPoints ? 2 : 1) * 4 * kUnpackedColumns; }
  mlir::RankedTensorType unpacked() const {
    return mlir::RankedTensorType::get({2 * groups(), unpackedBytes()}, mlir::IntegerType::get(context, 8));
  }
  static constexpr int64_t kUnpackedColumns = 16;

  /// Bytes of one row of activations: quantized values; the scale (f32) of each group; -128 times the sum of the
  /// quantized values (i32) of each group.
  int64_t rowBytes() const { return llvm::alignTo(rowSum(groups()), 64); }
  int64_t rowScale(int64_t group) const { return paddedDepth() * valueBytes + 4 * group; }
  int64_t rowSum(int64_t group) const { return rowScale(groups() + group); }

private:
  mlir::MLIRContext *context;
  artifact::Quantization file;
  int64_t depth;
  int64_t valueBytes = 1; ///< of a row's quantized value
};

} // namespace rapt::attn_cpu
