//===- TokenConvolution.h - A convolution over the tokens of a text ------*- C++ -*-===//
#pragma once
#include "lib/Import/Blocks.h"
#include "lib/Import/EncoderSpec.h"
#include "lib/Import/ParameterScope.h"

namespace rapt::importing {

/// The kernel, bias and norm of the convolution of `spec`.
void addTokenConvolution(const ParameterScope &top, const EncoderSpec &spec);

/// The activation of the convolution of x [tokens, width], of the same shape. Zeros are ahead of each text and behind
/// it, half a window of them.
mlir::Value buildTokenConvolution(const Scope &top, const EncoderSpec &spec, mlir::Value x, mlir::Value ids,
                                  mlir::Value rowBegin);

/// The norm of the sum of a layer's result and what buildTokenConvolution gave.
mlir::Value addConvolved(const Scope &scope, const EncoderSpec &spec, mlir::Value x, mlir::Value convolved);

} // namespace rapt::importing
