//===- Fusion.h - Fusion rules by theme ---------------------------------------*- C++ -*-===//
#pragma once

namespace mlir {
class ModuleOp;
class Operation;
class RewritePatternSet;
} // namespace mlir

namespace rapt {

/// Takes elementwise ops (activation, gate, residual sum) into the epilogue of the matmul that feeds them.
void populateEpilogueFusionPatterns(mlir::RewritePatternSet &patterns);

/// Tells of each elementwise op that those patterns have left why it stays (Remarks.h).
void explainEpilogues(mlir::Operation *root);

/// Matmuls of one input whose results are heads, as query, key and value, become one matmul of their weights side by
/// side; the parameters are joined with them. Tells what it does and leaves (Remarks.h).
void mergeMatmuls(mlir::ModuleOp module);

/// Rotary embedding of heads that a matmul makes, as of query and key, becomes one rotation of the first heads of its
/// result, which the matmul's tasks do. Tells what it does and leaves (Remarks.h).
void fuseRotations(mlir::ModuleOp module);

} // namespace rapt
