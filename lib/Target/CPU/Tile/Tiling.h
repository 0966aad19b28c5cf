//===- Tiling.h - Patterns that tile attn ops ---------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Pass/Pass.h"

namespace mlir {
class DialectRegistry;
class RewritePatternSet;
} // namespace mlir

namespace rapt {
void populateQuantizationTilingPatterns(mlir::RewritePatternSet &patterns);
void populateLinearTilingPatterns(mlir::RewritePatternSet &patterns);
void populateRowWiseTilingPatterns(mlir::RewritePatternSet &patterns);
void populateNormTilingPatterns(mlir::RewritePatternSet &patterns);
void populateImageTilingPatterns(mlir::RewritePatternSet &patterns);
void populatePoolingTilingPatterns(mlir::RewritePatternSet &patterns);
void populateExpertsTilingPatterns(mlir::RewritePatternSet &patterns);
void populatePositionTilingPatterns(mlir::RewritePatternSet &patterns);
void populatePaddingTilingPatterns(mlir::RewritePatternSet &patterns);
void populateKVCacheTilingPatterns(mlir::RewritePatternSet &patterns);
void populateAttentionTilingPatterns(mlir::RewritePatternSet &patterns);
void populateLinearAttentionTilingPatterns(mlir::RewritePatternSet &patterns);
void populateRecurrenceTilingPatterns(mlir::RewritePatternSet &patterns);
void populateShortConvTilingPatterns(mlir::RewritePatternSet &patterns);

/// Registers how the matmuls of attn_cpu bufferize.
void registerBufferizableOps(mlir::DialectRegistry &registry);

#define GEN_PASS_DECL
#include "lib/Target/CPU/Tile/Passes.h.inc"
} // namespace rapt
