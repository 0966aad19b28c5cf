//===- Quantized.h - Quantized matmuls of the CUDA target -------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::any_gpu {

/// The layout of a quantized weight in panels, which a matmul on tensor cores has; null for others.
attn_gpu::QuantizedPanelsAttr panelsOf(attn::LinearOp op);

/// The quantized rows of a matmul and their scales, [m, k with padding] and [m, groups, in fours].
struct QuantizedRows {
  mlir::Value codes, scales;
};
/// A grid of attn_gpu.quantize_tile, one for each row.
QuantizedRows quantizeRows(attn::QuantizeRowsOp op);

/// The bytes of a quantized weight, [panels, groups, bytes of a group].
mlir::Value bytesOf(mlir::ImplicitLocOpBuilder &b, attn::LinearOp op);

} // namespace rapt::any_gpu
