//===- TileCode.h - Code that all tiles of matmuls share ----------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/GPU/GlobalArray.h"

namespace rapt::cuda {

/// Copies of rows of `array` from `at` elements behind its first on to `tile`, by `threads` threads of which `thread`
/// is one. `elementsOfTile` elements of the array are one of the tile.
struct RowCopy {
  mlir::Value tile, at, rows, columns, thread;
  int64_t threads;
  bool elements;
  int64_t elementsOfTile = 1;
};
/// Starts the copies. The offsets of rows do not depend on `at` then.
void copyRows(mlir::ImplicitLocOpBuilder &b, const any_gpu::GlobalArray &array, const RowCopy &copy);

/// The regions of a tile's op: of an element, and of two beside each other behind it. Either may be empty.
struct Epilogue {
  mlir::Region &ofElements, &ofPairs;
};

/// The warps of a tile, the loop over k whose operands are in a ring of buffers, and the epilogue.
class LinearTileCode {
protected:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<Value>;

  static constexpr int64_t kGroup = 16; ///< the columns of a fragment of sums

  /// `down` times `across` warps have `rows` x `columns` of `result`, and so have those of each further part.
  LinearTileCode(mlir::Operation *op, Value result, Epilogue epilogue, std::pair<int64_t, int64_t> grid, int64_t rows,
                 int64_t columns, int64_t parts = 1);
  /// A warp or warpgroup has the columns of `groups` fragments `sums`, from row `firstRow` of the tile on.
  LinearTileCode(mlir::Operation *op, Value result, Epilogue epilogue, attn_gpu::FragmentType sums, int64_t groups,
                 Value firstRow);

  Value index(int64_t value);
  Value add(Value x, Value y);
  Value times(Value x, int64_t by);

  /// Buffers of shared memory from byte 0 on.
  struct Ring {
    int64_t stages, bytes; ///< of a buffer
    Value steps;
  };
  /// Carries `state` over the steps of k. `copy(step, buffer)` starts the copies of a step to a buffer, and
  /// `multiply(buffer, state)` computes with them. The ring is full but for the buffer that is read.
  Values overSteps(const Ring &ring, ValueRange state, llvm::function_ref<void(Value step, Value buffer)> copy,
                   llvm::function_ref<Values(Value buffer, ValueRange state)> multiply) {
    return overSteps(ring, state, copy, copy, multiply);
  }
  /// The same where `copyAhead` starts the copies of the steps in front of the loop.
  Values overSteps(const Ring &ring, ValueRange state, llvm::function_ref<void(Value step, Value buffer)> copyAhead,
                   llvm::function_ref<void(Value step, Value buffer)> copy,
                   llvm::function_ref<Values(Value buffer, ValueRange state)> multiply);
  /// Code for each step in front of the loop, and `behind` it.
  void aheadOfSteps(const Ring &ring, llvm::function_ref<void(Value step, Value buffer)> emit,
                    llvm::function_ref<void()> behind = {});

  /// Starts copies of the rows of `array` by the threads of the tile.
  void copyRows(const any_gpu::GlobalArray &array, Value tile, Value at, Value rows, Value columns, int64_t threads,
                bool elements, int64_t elementsOfTile = 1);

  /// Stores the results of the sums, 16 columns after 16: operands of the epilogue are in registers for one at a time.
  /// With `fours` four bf16 or f16 are stored at once where rows allow it, and else one; without, two or one.
  void store(ValueRange sums, bool fours = false);

  mlir::ImplicitLocOpBuilder b;
  any_gpu::GlobalArray result;
  Epilogue epilogue;
  attn_gpu::FragmentType sums; ///< of 16 columns
  int64_t rowsOfWarp, groups;  ///< groups of a warp's columns
  Value thread, firstRow, firstColumn;
  Value part; ///< of the thread's warp; null where there is one

private:
  Value mapped(Value acc, Value column, mlir::Region &region, bool isOfPairs);
};

/// The code of a tile by wgmma, before it.
mlir::LogicalResult expandWgmma(attn_gpu::LinearTileOp op);

} // namespace rapt::cuda
