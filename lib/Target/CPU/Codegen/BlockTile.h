//===- BlockTile.h - Matmuls of weights in blocks ------------------------------------*- C++ -*-===//
//
// Rows of int8 times a panel of blocks as the checkpoint has them (lib/Support/BlockFormat.h).
// Codes are unpacked in registers, four rows of the weight in the bytes of each lane:
// - vpdpbusd (int8_dot) adds four terms to an int32;
// - vpmaddubsw (int8_pairs) adds two terms to an int16, of which as many as cannot leave 16 bits
//   are added up; numbers above 63 are taken signed, as vpsignb gives their signs to the rows;
// - other targets multiply 16 bits.
// Every sum of integers is exact. That of a group is multiplied by its scale in f32, and so is the
// sum of the row's values by the group's offset.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// Emits a matmul of a weight in blocks on buffers.
void emitBlockTiles(mlir::ImplicitLocOpBuilder &b, attn_cpu::QuantizedMatmulOp op, attn_cpu::MicroKernelAttr kernel,
                    const TargetInfo &target);

} // namespace rapt::cpu
