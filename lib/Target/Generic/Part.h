//===- Part.h - Parts of linalg ops on buffers ------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt::generic {

/// `op` on `extents` points from `offsets` on, without the loops of one point. An input of one element is read before.
/// Upstream's tiles keep such loops, and its dropUnitDims takes no buffer that is a view.
mlir::linalg::GenericOp partOf(mlir::IRRewriter &rewriter, mlir::linalg::GenericOp op,
                               llvm::ArrayRef<mlir::OpFoldResult> offsets, llvm::ArrayRef<mlir::OpFoldResult> extents);

} // namespace rapt::generic
