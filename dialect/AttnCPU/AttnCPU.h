//===- AttnCPU.h - The dialect of the CPU target --------------------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"

#include "dialect/AttnCPU/AttnCPUDialect.h.inc"
#include "dialect/AttnCPU/AttnCPUEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnCPU/AttnCPUAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialect/AttnCPU/AttnCPUOps.h.inc"

namespace rapt::attn_cpu {
/// Whether a weight is VNNI-packed; false without a layout.
bool isInterleaved(std::optional<attn::WeightLayoutInterface> layout);
/// Whether the matmuls of an attn.attention are bf16 dot products (`attn_cpu.bf16_matmul`).
bool usesBf16Matmul(mlir::Operation *attention);
} // namespace rapt::attn_cpu
