//===- BlockElements.h - Numbers of matrices in blocks ----------------------------*- C++ -*-===//
#pragma once
#include "lib/Support/BlockFormat.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {

/// The number, f32, of the element in row `row` of column `column` of a block. `byteAt` reads a byte of the layout's
/// blocks as i32 in 0..255: a byte of the block that has row `row`.
mlir::Value readBlockElement(mlir::ImplicitLocOpBuilder &b, const BlockLayout &layout, mlir::Value row,
                             mlir::Value column,
                             llvm::function_ref<mlir::Value(mlir::Value block, mlir::Value byte)> byteAt);

} // namespace rapt
