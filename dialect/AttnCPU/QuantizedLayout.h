//===- QuantizedLayout.h - Quantized matrices as the CPU reads them -------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "lib/Artifact/Quantization.h"
#include "llvm/Support/MathExtras.h"

namespace rapt::attn_cpu {

/// A quantized matrix in memory that sums over `depth` rows: a weight's packed panels, which are the weight file's, and
/// quantized rows of activations that are multiplied by it.
class QuantizedLayout {
public:
  QuantizedLayout(attn::QuantizedType type, int64_t depth)
      : context(type.getContext()), file{uint8_t(type.bits()), type.getGroup(), type.getZeroPoints()}, depth(depth) {}

  /// Rows with those that fill the last group; the codes of these are zeros.
  int64_t paddedDepth() const { return file.paddedRows(depth); }
  int64_t groups() const { return file.groups(depth); }
  int64_t groupDepth() const { return file.groupRows(depth); }
  /// Bytes of the codes of one group of a panel: u8 [group/4][32][4]; u4 [group/8][32] words of 8 nibbles, in byte i of
  /// which lie rows i (low nibble) and 4 + i, so that one AND, and one shift and AND, give the four rows of a word that
  /// a dot instruction takes.
  int64_t codeBytes() const { return file.codeBytes(depth); }
  /// Bytes of a group of a panel: its codes, scales and zeros, padded to 64.
  int64_t groupBytes() const { return file.groupBytes(depth); }
  /// A weight of `panels` panels: [panels, groups, groupBytes].
  mlir::RankedTensorType panelBytes(int64_t panels) const {
    return mlir::RankedTensorType::get({panels, groups(), groupBytes()}, mlir::IntegerType::get(context, 8));
  }

  /// Bytes of one row of activations: codes, then of each group its scale (f32), then -128 times the sum of its codes
  /// (i32).
  int64_t rowBytes() const { return llvm::alignTo(rowSum(groups()), 64); }
  int64_t rowScale(int64_t group) const { return paddedDepth() + 4 * group; }
  int64_t rowSum(int64_t group) const { return rowScale(groups() + group); }

private:
  mlir::MLIRContext *context;
  artifact::Quantization file;
  int64_t depth;
};

} // namespace rapt::attn_cpu
