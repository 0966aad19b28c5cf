//===- VectorLoops.h - Loops over vectors of a linalg op ---------------------------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt::generic {

/// f32 elements of a vector, and the rows and columns of a micro-kernel tile.
struct VectorSizes {
  int64_t lanes, rows, columns;
};

/// How an op is vectorized: the loop along vectors, and the parallel loop whose points share what is read, the rows of
/// a micro-kernel tile.
struct VectorPlan {
  unsigned lanes;
  std::optional<unsigned> rows;
};

/// The op that combines an element with the result of a reduction, where the body has no other use of the result and
/// the neutral element is known.
mlir::Operation *combinerOf(mlir::linalg::GenericOp op);

/// Makes loops over vectors of a linalg op on buffers.
class VectorLoops {
public:
  VectorLoops(mlir::IRRewriter &rewriter, mlir::linalg::GenericOp op, const VectorPlan &plan, const VectorSizes &sizes);

  /// Makes the loops where the rewriter is: of whole micro-kernel tiles, and of the rows that they leave.
  void make();

private:
  using OFR = mlir::OpFoldResult;
  /// A loop of the op, and the sizes of its tiles: as many of each as fit before those of the next.
  struct Axis {
    unsigned loop;
    llvm::SmallVector<int64_t> tiles;
  };
  struct Accumulator {
    mlir::vector::TransferReadOp read;
    mlir::vector::TransferWriteOp write;
  };

  bool isReduction(unsigned loop) { return op.getIteratorTypesArray()[loop] == mlir::utils::IteratorType::reduction; }
  Axis lanesOf(int64_t most);
  llvm::SmallVector<Axis> axesOf(bool ofTiles);
  void nest(llvm::ArrayRef<Axis> axes);
  void loopOver(llvm::ArrayRef<Axis> axes, OFR begin, OFR end, int64_t size);
  void tile();
  void vectorize(mlir::linalg::GenericOp part);
  mlir::scf::ForOp keepInRegisters(mlir::scf::ForOp loop);

  mlir::Value partialSums(int64_t width);
  void addLanes(mlir::scf::ForOp loop, llvm::ArrayRef<mlir::linalg::GenericOp> rows, mlir::ValueRange sums,
                int64_t width);
  void combineLanes(mlir::linalg::GenericOp row, mlir::Value sums);
  void reduceLanes(llvm::ArrayRef<mlir::linalg::GenericOp> rows);

  mlir::IRRewriter &rewriter;
  mlir::linalg::GenericOp op;
  const VectorPlan plan;
  const VectorSizes sizes;
  llvm::SmallVector<OFR> offsets, extents; ///< the points that the loops around leave
  int64_t rowsOfTile = 1;
  llvm::SmallVector<Accumulator> accumulators; ///< what a tile reads and writes of its results
};

} // namespace rapt::generic
