//===- Fusion.h - Fusion rules by theme ---------------------------------------*- C++ -*-===//
#pragma once

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace rapt {

/// Takes elementwise ops (activation, gate, residual sum) into the epilogue of the product that feeds them.
void populateEpilogueFusionPatterns(mlir::RewritePatternSet &patterns);

} // namespace rapt
