//===- ResponseNorm.h - Global response normalization --------------------*- C++ -*-===//
//
// Woo et al. 2023, "ConvNeXt V2": a channel of an image is as strong as its length over all
// pixels, in units of the mean of all channels.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Parts/Convolution.h"

namespace rapt::importing {

/// PART.weight and PART.bias, [1, 1, 1, channels].
void addResponseNorm(const ParameterScope &scope, const std::string &part, int64_t channels);

/// weight * x * l / (mean of l + 1e-6) + bias + x, where l are the lengths of the channels of an image.
mlir::Value responseNorm(const Scope &scope, mlir::Value x, const ImageSides &sides, llvm::StringRef part);

} // namespace rapt::importing
