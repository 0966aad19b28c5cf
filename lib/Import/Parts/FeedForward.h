//===- FeedForward.h - Feed-forwards and experts of layers ----------------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// The feed-forward of x [tokens, width].
mlir::Value walkFeedForward(const Walk &walk, const StackSpec &stack, const FeedForwardSpec &spec, mlir::Value x);

/// The sum of what the experts of each token of x [tokens, width] give, times the residual's factor. The router reads
/// `routed`.
mlir::Value walkExperts(const Walk &walk, const StackSpec &stack, const ExpertsSpec &spec, mlir::Value x,
                        mlir::Value routed);

/// Makes the elements of a matmul's result `factor` times as large.
mlir::Value scaleResult(const Walk &walk, mlir::Value y, double factor);

/// A matmul's result times the factor of the stack's residuals.
mlir::Value weightResult(const Walk &walk, const StackSpec &stack, mlir::Value y);

} // namespace rapt::importing
