//===- LinearTask.h - attn.linear as one task sees it ---------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Tile/Tile.h"

namespace rapt::tile {

/// The operands of an attn.linear, cut to one panel.
struct LinearTask {
  /// A k block, which is accumulated onto the panel's partial accumulators.
  struct KBlock {
    OpFoldResult from; ///< its first column of the input
    Value fills;       ///< 1 for the first block, whose accumulators begin with zero; else 0
  };

  attn::LinearOp op;
  Value input;
  Value packed;                    ///< the input by tiles, [tiles, k, rows of a tile], or null
  std::optional<unsigned> inPlace; ///< the extra operand that is the destination, too
  attn_cpu::LinearScheduleAttr schedule;
  Value weight;                    ///< [k, 32]
  llvm::SmallVector<Value> extras; ///< rank 1: [32] of this panel; rank 2: the whole, but for `local`
  std::optional<unsigned> local;   ///< the extra operand, [rows of the task, 32], that the task computes itself
  OpFoldResult firstRow, column;   ///< of the task
  OpFoldResult vectorColumn;       ///< the task's first element of a vector: `column`, behind the matrices before
  int64_t k;                       ///< rows of `weight`
  std::optional<KBlock> block;     ///< where k is blocked
  OpFoldResult width;              ///< columns of the panel that the result has
  bool narrow;                     ///< width may be below 32
  attn::QuantizedType quantized;   ///< of the weight, or null
  bool inWords = false;            ///< quantized rows hold their values in 16 bits
  bool isUnpacked = false;         ///< the quantized weight has a byte for each code of 4 bits
  int64_t rowExtent;               ///< of the input as it lies: k, or a quantized row's bytes
  bool isVnniPacked;               ///< the weight is [k/2, 64]
};

/// The extra operand that can be overwritten: of the type that the result is written in, and read last by this op.
std::optional<unsigned> overwritable(attn::LinearOp op);

/// The input as the matmul reads it. The caller's rows stay where they are, but rows that alias are copied once, and
/// rows of bf16 are widened on a target without bf16 dot products.
Value inputOf(ImplicitLocOpBuilder &b, attn::LinearOp op);

/// Columns of the panel that begins at `column`, of a result whose last one is narrower.
OpFoldResult widthOf(ImplicitLocOpBuilder &b, int64_t columns, OpFoldResult column);

/// The extra operands and the width of the panel at `task.column`, of a result of `columns`.
void cutToPanel(ImplicitLocOpBuilder &b, LinearTask &task, int64_t columns);

/// Tiles of `tileRows` rows, largest first, over `rows` rows; the last of those has one row. Where as many rows would
/// be left as two tiles of the next size have beyond one, these take the place of the last one and the rest: 8 and 8
/// rows of 14 and 2. With fewer rows than `least` there is no tile of the largest size.
Value overRowTiles(
    ImplicitLocOpBuilder &b, llvm::ArrayRef<int64_t> tileRows, Value rows, int64_t least, Value init,
    llvm::function_ref<Value(ImplicitLocOpBuilder &, int64_t m, Value from, Value to, Value carried)> body);

/// Writes rows [r, r + m) of the task, whose accumulators are `sums`, [m, 32], with the epilogue, if there is one, into
/// `dest`, [rows of the task, 32 or width].
Value finishTile(ImplicitLocOpBuilder &b, const LinearTask &task, int64_t m, Value r, Value sums, Value dest);

} // namespace rapt::tile
