//===- Schedule.h - Schedules for NVIDIA's GPUs -----------------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/GPU/Attention/Attention.h"
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/LinearAttention/LinearAttention.h"
#include "lib/Target/GPU/Norm/Norm.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace rapt::cuda {

/// The schedule of an op for a machine; null with a reason.
attn_gpu::AttentionScheduleAttr chooseAttention(attn::AttentionOp op, const TargetInfo &machine, std::string &reason);
attn_gpu::LinearScheduleAttr chooseLinear(attn::LinearOp op, const TargetInfo &machine, std::string &reason);
attn_gpu::LinearAttentionTilesAttr chooseLinearAttention(attn::LinearAttentionOp op, const TargetInfo &machine,
                                                         std::string &reason);
/// That of a norm of such rows.
attn_gpu::NormTilesAttr chooseNorm(mlir::RankedTensorType input, std::string &reason);

/// How f32 are multiplied.
attn_gpu::MatmulKind floatMatmul(const TargetInfo &machine);

} // namespace rapt::cuda
