//===- ProductPrefetch.h - Prefetches of a register tile ----------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/CPU/Schedule/Schedule.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include <array>

namespace rapt::cpu {

/// Localities of a prefetch: into the first- or the second-level cache.
inline constexpr unsigned kFirstLevel = 3, kSecondLevel = 2;

/// Views of [rows, columns] beside the product's own, in its block before it, which the epilogue touches.
llvm::SmallVector<mlir::memref::SubViewOp> viewsOfEpilogue(mlir::Operation *product, int64_t rows, int64_t columns);

/// The loop around a product of `rows` rows whose steps are tiles of so many rows, and in which its panel stays; null
/// if there is none.
mlir::scf::ForOp loopOverRows(mlir::Operation *product, mlir::Value panel, int64_t rows);

/// The panel after the one that the tiles of a loop over rows share, of which each tile fetches some, in order.
class NextPanel {
public:
  /// A step of a tile has `elements` of it, of `bytes` each, spread over at most `most` tiles; what is the same for all
  /// tiles comes before their loop.
  NextPanel(mlir::ImplicitLocOpBuilder &b, mlir::scf::ForOp tiles, int64_t most, int64_t elements, int64_t bytes);
  /// The first of the `spread()` elements that `step` of the tile's `steps` prefetches.
  mlir::Value at(mlir::ImplicitLocOpBuilder &b, mlir::Value step, int64_t steps) const;
  mlir::Value spread() const { return share; }

private:
  mlir::scf::ForOp tiles;
  mlir::Value last, share;
};

/// The place of a loop's tile among all.
mlir::Value nthTile(mlir::ImplicitLocOpBuilder &b, mlir::scf::ForOp tiles);

/// Fetches ahead of the loop over k of one register tile of a product, which walks k in chunks of whole cache lines of
/// the input's rows:
/// - the panel's next steps, from the second-level cache into the first, or far ones as above;
/// - the rows' next lines, those of one row a step (the next tile's rows where these end);
/// - the panel after this one, from memory into the second-level cache, while tiles of rows reuse this one: its lines
///   in order, at most one a step, as those that are asked for at once keep the first-level cache from others;
/// - what the epilogue reads and writes, during the last chunks.
/// All of them may name addresses behind a buffer's end, which a prefetch may.
class ProductPrefetch {
public:
  /// Steps of k of a chunk: of the input, a cache line of a row, or two where pairs of f32 are a step's.
  static constexpr int64_t kChunk = 16;

  /// Rows and columns of a panel.
  struct Distance {
    int64_t row = 0, column = 0;
  };

  /// For rows [row, row + rows) and columns [column, column + columns) of `product`, a tile of `input` times `panel`,
  /// on buffers, whose steps take `rowsOfStep` rows of the panel: side by side in it, and in the input.
  ProductPrefetch(mlir::Operation *product, const Prefetch &sizes, mlir::Value input, mlir::Value panel, int64_t row,
                  int64_t rows, int64_t column, int64_t columns, int64_t rowsOfStep);

  /// Whether prefetching pays for the tile: it is bound by memory, or has whole chunks. A tile of a single row is when
  /// it reads the panel only once and widens it.
  bool isUseful(bool isWidened) const;

  /// Whether there is anything to fetch before a chunk, or only the panel's next steps.
  bool hasChunks() const;

  /// Before the chunk that begins with step `k`. Returns the element of the next panel that its first step fetches;
  /// null where that panel is not known.
  mlir::Value beforeChunk(mlir::ImplicitLocOpBuilder &b, mlir::Value k);
  /// At the step of line `k` of `panel`, which is this panel or a view of the chunk's part of it.
  void atStep(mlir::ImplicitLocOpBuilder &b, mlir::Value panel, mlir::Value k);
  /// At the `nth` step of a chunk. Returns the element after `element`; null as above.
  mlir::Value inChunk(mlir::ImplicitLocOpBuilder &b, mlir::Value nth, mlir::Value element);

  /// [shape] of a matrix from [row, column] on.
  static mlir::Value viewFrom(mlir::ImplicitLocOpBuilder &b, mlir::Value matrix, mlir::Value row, mlir::Value column,
                              std::array<int64_t, 2> shape);

private:
  bool streams() const;
  bool readsRowsAhead() const;
  /// The element of the next panel that the chunk begins with whose first step is `k`.
  mlir::Value beginSpread(mlir::ImplicitLocOpBuilder &b, mlir::Value k);
  /// Lines of the panel beside this one in a matrix of many columns, where each row's are a place of its own.
  void prefetchBeside(mlir::ImplicitLocOpBuilder &b, mlir::Value k);
  /// Lines from the panel to the one after it, in the order in which a task takes panels and parts of k.
  mlir::Value distanceToNext(mlir::ImplicitLocOpBuilder &b) const;
  /// The column of the panel that is `byte` bytes behind the tile's first.
  int64_t panelColumn(int64_t byte) const;
  void prefetch(mlir::ImplicitLocOpBuilder &b, mlir::Value buffer, mlir::Value row, mlir::Value column, bool isWrite,
                unsigned locality);

  Prefetch sizes;
  mlir::Value input, panel;
  int64_t row, rows, column, columns, rowsOfStep;
  int64_t depth; ///< steps
  /// Whether a few queries are multiplied by keys or values: what lies so far behind these may belong to another head,
  /// and be read long after the first-level cache has lost it.
  bool isOfFewQueries;
  /// Bytes of an element.
  int64_t panelBytes, inputBytes;
  mlir::Value stored; ///< the panel where the weight has it; another one if this is widened
  Distance next;      ///< of the panel after this one; zero where it is not known
  /// The loop over tiles of rows that share the panel; null if there is none.
  mlir::scf::ForOp rowLoop;
  /// Views of [rows, 32] beside the product's own, which the epilogue touches.
  llvm::SmallVector<mlir::memref::SubViewOp> epilogue;
  mlir::Value nextRows;          ///< of the input, their next lines; null where they stay near
  mlir::Value nextPanel, spread; ///< the panel after this one, and the elements of it that a step fetches
};

} // namespace rapt::cpu
