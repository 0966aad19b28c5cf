//===- MicroKernelTile.h - The part of a matmul that registers hold ------------------*- C++ -*-===//
//
// A micro-kernel tile has mr rows and nr = 2 vectors of columns, whose accumulators stay in
// registers during the loop over k, as in GotoBLAS and BLIS.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// A dynamic extent of k is a multiple of this, the most accumulator chains of a single row.
inline constexpr int64_t kDynamicDepthMultiple = 4;

/// How one step of the loop over k multiplies.
enum class MatmulStep {
  Single, ///< one row of the panel, widened to f32 where its elements have 16 bits
  Vnni,   ///< two interleaved rows of a VNNI-packed panel, widened to f32
  Dot     ///< two interleaved rows of a VNNI-packed panel, by vdpbf16ps
};

/// Rows [from, to) of a matrix that a matmul prefetches for what comes after it.
struct PrefetchedRows {
  mlir::Value matrix, from, to;
};

/// The matmul of a tile of rows with a packed panel.
struct TileMatmul {
  mlir::Operation *op;
  mlir::Value a, w, dest; ///< rows [m, k]; panel [k, 32], or VNNI-packed [k/2, 64]; result [m, 32]. Or panels
                          ///< [n/32, k, 32] and a result [m, n]
  llvm::SmallVector<PrefetchedRows, 2> prefetched = {};
  bool prefetchesForWrite = false;
};

/// Rows [row, row + rows) by columns [column, column + columns) of the result.
struct MicroKernelTile : TileMatmul {
  MatmulStep kind;
  bool fromZero;
  int64_t row, rows, column, columns;
  attn_cpu::MicroKernelAttr kernel;
  int64_t chains = rows == 1 ? kernel.getChains().value_or(1) : 1; ///< most accumulator chains of two vectors
  int64_t nth = 0, count = 1;                                      ///< which of so many tiles of the matmul this one is
  int64_t lanes = kernel.getColumns() / 2, vectors = columns / lanes;

  /// Emits the loop over k, whose carried values are the accumulators, on buffers.
  void emit(mlir::ImplicitLocOpBuilder &b) const;
};

} // namespace rapt::cpu
