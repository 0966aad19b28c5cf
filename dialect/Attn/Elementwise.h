//===- Elementwise.h - Patterns on elementwise ops ---------------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt::attn {

/// Gives elementwise arithmetic of upstream the interfaces of this dialect.
void attachInterfaces(mlir::MLIRContext *context);

/// A pattern on elementwise ops. Upstream's pattern on an interface asserts that each op with the interface's name has
/// it, and arithmetic has not on scalars.
struct ElementwisePattern : mlir::RewritePattern {
  explicit ElementwisePattern(mlir::MLIRContext *context)
      : RewritePattern(MatchInterfaceOpTypeTag(), EpilogueOpInterface::getInterfaceID(), 1, context) {}

  mlir::LogicalResult matchAndRewrite(mlir::Operation *op, mlir::PatternRewriter &rewriter) const final {
    auto elementwise = llvm::dyn_cast<EpilogueOpInterface>(op);
    return elementwise ? matchAndRewrite(elementwise, rewriter) : mlir::failure();
  }
  virtual mlir::LogicalResult matchAndRewrite(EpilogueOpInterface op, mlir::PatternRewriter &rewriter) const = 0;
};

} // namespace rapt::attn
