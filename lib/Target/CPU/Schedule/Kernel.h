//===- Kernel.h - The micro-kernel of a tile op -----------------------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"

namespace rapt::cpu {

/// Sets the micro-kernel of a tile op; returns the op's result.
template <typename Op> mlir::Value withKernel(Op op, attn_cpu::MicroKernelAttr kernel) {
  op->setAttr(attn::AttnDialect::scheduleAttr, kernel);
  return op->getResult(0);
}

} // namespace rapt::cpu
