//===- Patterns.h - Decompositions by family of ops ------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/AttnToLinalg/AttnToLinalg.h"

namespace rapt::neutral {
void populateAttention(mlir::RewritePatternSet &patterns, const CacheReader *cache);
void populateAttentionState(mlir::RewritePatternSet &patterns);
void populateEmbedding(mlir::RewritePatternSet &patterns);
void populateExperts(mlir::RewritePatternSet &patterns);
void populateFeedForward(mlir::RewritePatternSet &patterns);
void populateHeads(mlir::RewritePatternSet &patterns);
void populateImage(mlir::RewritePatternSet &patterns);
void populateKVCache(mlir::RewritePatternSet &patterns, const CacheAccess *cache);
void populateNorm(mlir::RewritePatternSet &patterns);
void populatePooling(mlir::RewritePatternSet &patterns);
void populatePosition(mlir::RewritePatternSet &patterns);
void populateLinearAttention(mlir::RewritePatternSet &patterns);
void populateRecurrence(mlir::RewritePatternSet &patterns);
void populateShortConv(mlir::RewritePatternSet &patterns);
} // namespace rapt::neutral
