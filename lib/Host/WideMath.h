//===- WideMath.h - Functions of f32 that are computed in f64 -----------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace rapt::host {

/// Functions of f32 scalars and vectors, computed in f64 and rounded once.
void populateWideMathPatterns(mlir::RewritePatternSet &patterns);

/// Functions of bf16 and f16, computed in f32 and rounded once.
void populateNarrowMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace rapt::host
