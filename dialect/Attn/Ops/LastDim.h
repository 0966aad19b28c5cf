//===- LastDim.h - Channels in the last dim ----------------------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include <optional>

namespace rapt::attn {

/// The last dim of a tensor of floats or quantized values; none of any other.
inline std::optional<unsigned> lastDim(mlir::Value tensor) {
  auto type = llvm::dyn_cast_or_null<mlir::RankedTensorType>(tensor ? tensor.getType() : mlir::Type());
  return type && type.getRank() > 0 && !type.getElementType().isIntOrIndex() ? std::optional(type.getRank() - 1)
                                                                             : std::nullopt;
}

} // namespace rapt::attn
