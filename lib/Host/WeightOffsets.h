//===- WeightOffsets.h - Where parameters are in the weight file -------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"

namespace rapt {

/// Bytes of a tensor without padding between its elements; none where 64 bits do not hold the number.
std::optional<int64_t> bytesOf(mlir::ShapedType tensor);

/// Gives a parameter a layout, the type of a layer in it, and an offset and stride, multiples of 64, behind `end`,
/// where the parameters before it end. `layer` is the type of a layer, `bytes` the same in the weight file where its
/// elements are quantized. Returns the parameter's own end; fails, and reports it, where 64 bits do not hold that.
mlir::FailureOr<int64_t> appendToWeights(attn::ParameterOp parameter, attn::ParameterLayoutInterface layout,
                                         mlir::RankedTensorType layer, mlir::RankedTensorType bytes, int64_t end);

} // namespace rapt
