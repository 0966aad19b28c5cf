//===- Schedule.h - Schedules for NVIDIA's GPUs -----------------------------------*- C++ -*-===//
#pragma once
#include "lib/Target/GPU/Attention/Attention.h"
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/Norm/Norm.h"
#include "lib/TargetInfo/TargetInfo.h"

namespace rapt::cuda {

/// The schedule of an op for a machine; none with a reason.
std::optional<any_gpu::AttentionSchedule> chooseAttention(attn::AttentionOp op, const TargetInfo &machine,
                                                          std::string &reason);
std::optional<any_gpu::LinearSchedule> chooseLinear(attn::LinearOp op, const TargetInfo &machine, std::string &reason);
/// That of a norm of such rows.
std::optional<any_gpu::NormSchedule> chooseNorm(mlir::RankedTensorType input, std::string &reason);

} // namespace rapt::cuda
