//===- CacheLayout.h - Memory layout of the KV cache --------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "dialect/AttnCPU/Panels.h"

namespace rapt::attn_cpu {

/// A pool of blocks is [blocks, layers, heads, {keys, values}, lines, columns]. Where keys and values differ, each has
/// such a pool, with extent 1 in the dim of keys and values. Keys and values are packed as the second operand of a
/// matmul: keys [block/32][channels][32], values [channels/32][block][32].
/// - f32, f16: a line is 32 elements.
/// - bf16: VNNI-packed, [block/32][channels/2][32][2] and [channels/32][block/2][32][2]. A 32-bit word is one lane's
///   operand of a bf16 dot product, and widening it takes one instruction per element.
/// - i8: lines of 32 quantized values; behind all of them the f32 scale of each position of the block, 8 per line.
struct CacheLayout {
  mlir::Type element;
  int64_t block;    ///< positions
  int64_t channels; ///< of a head, a multiple of 32

  /// The pool of a segment of a cache in memory, of heads padded to panels: of keys and values, or one of each.
  static llvm::SmallVector<mlir::RankedTensorType, 2> poolsOf(const attn::KVSegment &segment, int64_t block);
  /// That of a uniform cache.
  static mlir::RankedTensorType poolOf(attn::KVCacheType cache) {
    return poolsOf(cache.getSegments()[0], cache.getBlock())[0];
  }
  /// The layout of a pool of heads with `channels`; none for a tensor that is no pool.
  static std::optional<CacheLayout> of(mlir::ShapedType pool, int64_t channels);

  /// Interleave factor.
  int64_t interleave() const { return element.isBF16() ? 2 : 1; }
  int64_t columns() const { return kPanel * interleave(); }
  bool hasScales() const { return element.isInteger(8); }
  int64_t scaleBytes() const { return hasScales() ? 4 : 0; }
  /// Lines before the scales.
  int64_t elementLines() const { return block * channels / columns(); }
  int64_t lines() const { return elementLines() + block * scaleBytes() / kPanel; }
  /// Bytes of the keys, or values, of one head of a block.
  int64_t bytes() const { return lines() * columns() * element.getIntOrFloatBitWidth() / 8; }
  /// The name that users give: "f32", "bf16", "f16" or "int8".
  llvm::StringRef dtype() const;
};

} // namespace rapt::attn_cpu
