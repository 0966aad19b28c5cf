//===- ElementSize.h - Bytes of an element in memory -----------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

namespace rapt {

/// The distance of two elements of a buffer in bytes: an index has 64 bits, and LLVM rounds the bytes of an integer up
/// to a power of two. None for types of which no buffer is planned: complex numbers, vectors, buffers.
inline std::optional<int64_t> elementBytes(mlir::Type element) {
  if (element.isIndex())
    return 8;
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() == 0)
    return std::nullopt;
  return llvm::PowerOf2Ceil(llvm::divideCeil(element.getIntOrFloatBitWidth(), 8));
}

} // namespace rapt
