//===- Stages.h - Parts of stages that targets share ------------------------------*- C++ -*-===//
//
// A target that has no schedules of its own for some ops begins from these.
//
//===----------------------------------------------------------------------===//
#pragma once

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace rapt::generic {

/// The passes of the stage tiled: neutral decompositions as grids of tiles.
void addTiles(mlir::OpPassManager &passes);

/// The first passes of the stage backend: entries work in the caller's memory, on buffers.
void addBuffers(mlir::OpPassManager &passes);

/// Its last passes: loops over scalars for the linalg ops that are left.
void addLoops(mlir::OpPassManager &passes);

} // namespace rapt::generic
