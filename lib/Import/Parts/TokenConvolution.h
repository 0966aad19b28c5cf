//===- TokenConvolution.h - A convolution over the tokens of a text ------*- C++ -*-===//
#pragma once
#include "lib/Import/Parts/StackSpec.h"
#include "lib/Import/Parts/Walk.h"

namespace rapt::importing {

/// A convolution over the tokens of a text, whose input is the embeddings' sum. The first layer's result becomes
/// norm(result + activation(convolution)).
struct TokenConvolutionSpec {
  int64_t kernel = 3; ///< tokens of a window, odd: as many behind its middle as ahead
  attn::ActivationKind activation = attn::ActivationKind::tanh;
  std::string part, norm;

  int64_t margin() const { return kernel - 1; } ///< zeros around a text
};

/// The activation of the convolution of x [tokens, width], of the same shape. Zeros are ahead of each text and behind
/// it, half a window of them. Declares the norm, too, which all layers share; width and norm are those of `stack`.
mlir::Value walkTokenConvolution(const Walk &walk, const StackSpec &stack, const TokenConvolutionSpec &spec,
                                 mlir::Value x, mlir::Value ids, mlir::Value rowBegin);

/// The norm of the sum of a layer's result and what walkTokenConvolution gave.
mlir::Value addConvolved(const Scope &scope, const StackSpec &stack, const TokenConvolutionSpec &spec, mlir::Value x,
                         mlir::Value convolved);

} // namespace rapt::importing
