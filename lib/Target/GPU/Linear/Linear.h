//===- Linear.h - Matmuls by thread blocks ----------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/Schedule.h"

namespace rapt::any_gpu {

/// How thread blocks compute a matmul.
struct LinearTiles {
  int64_t rows, columns; ///< of a tile
  int64_t depth;         ///< of a step of the loop over k
  int64_t warps;
  int64_t stages;    ///< buffers of shared memory
  int64_t parts = 1; ///< of the warps, that have the same rows and columns, and a part of each step of k
  int64_t least = 0; ///< number of the result's rows from which on they are used; 0: not said
  int64_t tf32 = 0;  ///< how many tf32 stand for each f32; 0: none do
  bool wgmma = false;
  int64_t blocks = 0; ///< the most thread blocks, which then have several tiles each; 0: as many as tiles
  int64_t group = 0;  ///< rows of tiles whose tiles follow each other; 0: all
  int64_t share = 0;  ///< cost per element, in percent of that of the next smaller tiles; 0: not said
};

/// The nested schedules `tensor_cores` or, of fused multiply-adds of f32, `multiply_adds`, and `few_rows`, `many_rows`
/// and `most_rows` of an op whose number of rows is not known. An op without them takes the neutral decomposition.
struct LinearSchedule {
  LinearTiles tiles;
  std::optional<LinearTiles> few;  ///< of a result of at most a tile's rows
  std::optional<LinearTiles> many; ///< of a result of at least so many rows as they say
  std::optional<LinearTiles> most; ///< of one of still more
  attn::RopeOp rotation = nullptr; ///< of the heads that it makes, which the tiles do; null: none

  void setOn(attn::LinearOp op) const;
  static bool isIn(attn::LinearOp op);
  /// That of an op which has one.
  static mlir::FailureOr<LinearSchedule> of(attn::LinearOp op);
};

/// The rotation of channels beside each other that alone reads the heads which `op` makes, and that its tiles can do;
/// null with a reason where there is none, or an empty one where no rotation reads them. With `isAnyPair` the channels
/// may be half a head apart.
attn::RopeOp rotationOf(attn::LinearOp op, llvm::StringRef &reason, bool isAnyPair = false);

/// Matmuls that have such a schedule become grids of attn_gpu.linear_tile or attn_gpu.quantized_linear_tile.
mlir::LogicalResult tileMatmuls(mlir::ModuleOp module);

/// Why thread blocks have no schedule for an op; empty: they may have one.
std::string refusalOf(attn::LinearOp op);

/// Whether numbers are multiplied as f32.
bool multipliesFloats(attn::LinearOp op);

} // namespace rapt::any_gpu
