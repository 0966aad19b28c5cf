//===- MatmulPrefetch.h - Prefetches of a micro-kernel tile -------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>

namespace rapt::cpu {

/// Locality hints of memref.prefetch: into L1, into L2.
inline constexpr unsigned kFirstLevel = 3, kSecondLevel = 2;

/// Views of [rows, columns] that the epilogue reads or writes: those in the matmul's block before the matmul.
llvm::SmallVector<mlir::memref::SubViewOp> viewsOfEpilogue(mlir::Operation *matmul, int64_t rows, int64_t columns);

/// The loop over tiles of `rows` rows around a matmul, all of which read the same panel; null if there is none.
mlir::scf::ForOp loopOverRows(mlir::Operation *matmul, mlir::Value panel, int64_t rows);

/// Spreads the prefetch of the next panel over the tiles of a loop over rows, which share the current panel.
class NextPanel {
public:
  /// The panel has `elements` elements of `bytes` bytes per step over k; a tile prefetches a line in each `steps`
  /// steps. At most `most` tiles prefetch it; this is the `nth` of `each` tiles of an iteration. Emits what is the same
  /// for all tiles before their loop.
  NextPanel(mlir::ImplicitLocOpBuilder &b, mlir::scf::ForOp tiles, int64_t most, int64_t elements, int64_t bytes,
            int64_t steps = 1, int64_t nth = 0, int64_t each = 1);
  /// The first element that `step` of the tile's `steps` prefetches; `elementsPerStep()` later the next step begins.
  mlir::Value at(mlir::ImplicitLocOpBuilder &b, mlir::Value step, int64_t steps) const;
  mlir::Value elementsPerStep() const { return share; }

private:
  mlir::scf::ForOp tiles;
  int64_t nth, each;
  mlir::Value last, share;
};

/// The number of the current iteration of a loop over tiles.
mlir::Value nthTile(mlir::ImplicitLocOpBuilder &b, mlir::scf::ForOp tiles);

/// Emits the prefetches of one micro-kernel tile. Its loop over k walks in chunks of whole cache lines of the input's
/// rows. It prefetches:
/// - the panel's next steps into L1; where few rows make the matmul bound by memory, `stream_bytes` ahead;
/// - the next lines of the input's rows, one row per step; behind their end the rows of the next tile;
/// - the next panel from memory into L2, while the tiles of a loop over rows reuse the current panel. Each iteration
///   prefetches at most one of its lines, as more at once would fill the line fill buffers of L1;
/// - what the epilogue reads and writes, during the last chunks.
/// Addresses may lie behind a buffer's end, which a prefetch allows.
class MatmulPrefetch {
public:
  /// Steps of a chunk: one cache line of an f32 row of the input, or two lines where a step takes two elements.
  static constexpr int64_t kChunk = 16;

  /// Rows and columns from one panel to the next.
  struct Distance {
    int64_t row = 0, column = 0;
  };

  /// Rows [row, row + rows) by columns [column, column + columns) of a matmul, the `nth` of its `count` tiles.
  struct Tile {
    int64_t row, rows, column, columns, nth, count;
  };

  /// For a tile of `matmul`, which multiplies `input` by `panel` on buffers. A step takes `rowsOfStep` rows of the
  /// panel, its interleave factor; an iteration has `together` steps.
  MatmulPrefetch(mlir::Operation *matmul, attn_cpu::PrefetchAttr sizes, mlir::Value input, mlir::Value panel,
                 const Tile &tile, int64_t rowsOfStep, int64_t together);

  /// Whether prefetching pays: the tile is bound by memory, or it has whole chunks. For a single row it pays only where
  /// the panel is widened and read once.
  bool isUseful(bool isWidened) const;

  /// Whether chunks prefetch more than the panel's next steps.
  bool hasChunks() const;

  /// Emits the prefetches before the chunk that begins with step `k`. Returns the element of the next panel that the
  /// chunk's first step prefetches; null where the next panel is not known.
  mlir::Value beforeChunk(mlir::ImplicitLocOpBuilder &b, mlir::Value k);
  /// Emits the prefetches of a step. `panel` is the panel or its part of the current chunk, `k` the step's line in it.
  void atStep(mlir::ImplicitLocOpBuilder &b, mlir::Value panel, mlir::Value k);
  /// Emits the prefetch of the input's rows in step `nth` of a chunk.
  void rowsInChunk(mlir::ImplicitLocOpBuilder &b, mlir::Value nth);
  /// Emits the prefetch of the next panel's `element` in an iteration of a chunk; returns the element for the one after
  /// it.
  mlir::Value nextInChunk(mlir::ImplicitLocOpBuilder &b, mlir::Value element);

  /// The view of `shape` of a matrix from [row, column] on.
  static mlir::Value viewFrom(mlir::ImplicitLocOpBuilder &b, mlir::Value matrix, mlir::Value row, mlir::Value column,
                              std::array<int64_t, 2> shape);

private:
  bool streams() const;
  bool prefetchesRows() const;
  /// The element of the next panel that step `k`, the first of a chunk, prefetches.
  mlir::Value beginNextPanel(mlir::ImplicitLocOpBuilder &b, mlir::Value k);
  /// Prefetches the next panel of a row-major matrix, whose rows are far apart.
  void prefetchNextColumns(mlir::ImplicitLocOpBuilder &b, mlir::Value k);
  /// Lines from the panel to the next one, in the order in which a task takes panels and k blocks.
  mlir::Value distanceToNext(mlir::ImplicitLocOpBuilder &b) const;
  /// The column of the panel that is `byte` bytes behind the tile's first.
  int64_t panelColumn(int64_t byte) const;
  void prefetch(mlir::ImplicitLocOpBuilder &b, mlir::Value buffer, mlir::Value row, mlir::Value column, bool isWrite,
                unsigned locality);

  attn_cpu::PrefetchAttr sizes;
  mlir::Value input, panel;
  Tile tile;
  int64_t rowsOfStep, together;
  int64_t depth; ///< steps
  /// Whether the matmul is one of attention with few queries. Keys or values `stream_bytes` ahead may belong to another
  /// head and be read after L1 has lost them, so they are prefetched into L2.
  bool hasFewQueries;
  int64_t panelBytes, inputBytes; ///< of an element
  mlir::Value stored;             ///< the panel in the weight; `panel` may be a widened copy of it
  Distance next;                  ///< to the next panel; zero where it is not known
  /// The loop over tiles of rows that share the panel; null if there is none.
  mlir::scf::ForOp rowLoop;
  /// Views of [rows, 32] that the epilogue reads or writes.
  llvm::SmallVector<mlir::memref::SubViewOp> epilogue;
  mlir::Value nextRows;          ///< the view of the input's next lines; null where the input stays in L1
  mlir::Value nextPanel, spread; ///< the next panel, and how many of its elements an iteration prefetches
};

} // namespace rapt::cpu
