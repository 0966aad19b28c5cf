//===- GlobalArray.h - Arrays in the global memory of kernels ---------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::any_gpu {

/// A buffer that ops on fragments and copies of rows access: its address, and its extents and strides as values.
struct GlobalArray {
  using Value = mlir::Value;
  static constexpr int64_t kCopyBytes = 16; ///< of an asynchronous copy

  GlobalArray(mlir::ImplicitLocOpBuilder &b, Value memref);

  /// Whether every row begins at a multiple of so many bytes, and has its elements beside each other.
  Value isAligned(mlir::ImplicitLocOpBuilder &b, int64_t bytes) const;
  /// Its address, `elements` further.
  Value pointerAt(mlir::ImplicitLocOpBuilder &b, Value elements) const;

  int64_t bytes() const { return element.getIntOrFloatBitWidth() / 8; } ///< of an element

  Value pointer, offset;
  llvm::SmallVector<Value> sizes, strides;
  mlir::Type element;
};

} // namespace rapt::any_gpu
