//===- ExpandShape.h - Buffers whose dims are cut into several of dynamic extent -*- C++ -*-===//
#pragma once
#include "mlir/IR/PatternMatch.h"

namespace rapt {

/// Casts in place of memref.expand_shape where more than one dim of a group is dynamic. Upstream's patterns of strided
/// metadata compute the dynamic extent of a group from the others, and crash on a second one.
void populateExpandShapePatterns(mlir::RewritePatternSet &patterns);

} // namespace rapt
