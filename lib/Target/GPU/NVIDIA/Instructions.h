//===- Instructions.h - Instructions of NVIDIA's GPUs -----------------------------*- C++ -*-===//
#pragma once
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cuda {

/// Orders the thread's writes of shared memory before accesses by TMA and wgmma.
void fenceAsync(mlir::ImplicitLocOpBuilder &b);

/// Sets the number of registers of each thread of the warpgroup, a multiple of 8 from 24 to 256; without `increase` it
/// gets smaller.
void setRegisters(mlir::ImplicitLocOpBuilder &b, int64_t registers, bool increase);

} // namespace rapt::cuda
