//===- LinearAttention.h - Ops whose sequences keep states ----------------------*- C++ -*-===//
#pragma once
#include "lib/Reference/Slots.h"

namespace rapt::reference {

template <typename S> struct LinearAttentionOperands {
  const Tensor<S> *query, *key, *value, *rowBegin;
  const Tensor<S> *decay = nullptr, *beta = nullptr; ///< null: absent
  Slots<S> slots = {};
};
/// The output, then the new state.
template <typename S>
mlir::FailureOr<llvm::SmallVector<Tensor<S>>> evaluate(attn::LinearAttentionOp op,
                                                       const LinearAttentionOperands<S> &operands);

/// The output, then the new state; `bias` is null without one.
template <typename S>
mlir::FailureOr<llvm::SmallVector<Tensor<S>>> evaluate(attn::ShortConvOp op, const Tensor<S> &input,
                                                       const Tensor<S> &weight, const Tensor<S> *bias,
                                                       const Tensor<S> &rowBegin, const Slots<S> &slots);

} // namespace rapt::reference
