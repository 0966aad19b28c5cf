//===- CacheLayout.h - How a block of the cache lies in memory ----------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnDialect.h"
#include "dialect/AttnCPU/Panels.h"

namespace rapt::attn_cpu {

/// A pool of blocks is [blocks, layers, heads, {keys, values}, lines, columns], or, where keys and values differ, such
/// a pool of each, with one of them in that dim. They lie as a product reads its second operand: keys in panels
/// [block/32][channels][32], values [channels/32][block][32].
/// - f32, f16: a line is 32 elements.
/// - bf16: a line is a pair of such lines, element by element, [block/32][channels/2][32][2] and
///   [channels/32][block/2][32][2], so that one 32-bit word has what one lane of a dot instruction takes, and widening
///   is one instruction for each of the two.
/// - i8: codes in lines of 32; behind all of them a scale in f32 for each position of the block, 8 of them a line.
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

  /// Lines of 32 elements that share one.
  int64_t together() const { return element.isBF16() ? 2 : 1; }
  int64_t columns() const { return kPanel * together(); }
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
