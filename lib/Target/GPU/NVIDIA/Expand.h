//===- Expand.h - The code of tiles of thread blocks ------------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnGPU/AttnGPU.h"

namespace rapt::cuda {

/// Emits the code of a tile before it, in a kernel.
mlir::LogicalResult expand(attn_gpu::AttentionTileOp op);
mlir::LogicalResult expand(attn_gpu::LinearAttentionTileOp op);
mlir::LogicalResult expand(attn_gpu::LinearTileOp op);
mlir::LogicalResult expand(attn_gpu::NormTileOp op);
mlir::LogicalResult expand(attn_gpu::QuantizedLinearTileOp op);
mlir::LogicalResult expand(attn_gpu::QuantizeTileOp op);

} // namespace rapt::cuda
