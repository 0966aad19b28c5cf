//===- QuantizedTile.h - int8 and int4 matmuls in vectors of 32 bytes ---------------*- C++ -*-===//
//
// 16 registers hold 6 rows by 2 vectors of accumulators, so a tile takes half of a panel's
// columns; few rows take whole lines, as the schedule says. A step multiplies four k:
// - vpdpbusd (int8_dot) adds four terms to an int32;
// - vpmaddwd (int8_pairs, 8 bits) adds two of int16: the rows are in words, and vpmovzxbw loads
//   the weight's bytes as words. A vector has half as many columns, each with two partial sums,
//   so a tile of many rows takes a quarter of the columns;
// - vpmaddubsw (int8_pairs, 4 bits) adds two of int8 to an int16. A code is at most 15 and a
//   value at most 127, so a sum of the 32 rows of a block is at most 8 * 2 * 15 * 127 = 30480,
//   which 16 bits hold. vpmaddwd by ones then makes 32 bits of it.
// Every sum of integers is exact.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt::cpu {

/// Emits a quantized matmul on buffers, by int8_dot or else by int8_pairs. The latter reads rows in words for weights
/// of 8 bits, and for those alone.
void emitQuantizedTiles(mlir::ImplicitLocOpBuilder &b, attn_cpu::QuantizedMatmulOp op, attn_cpu::MicroKernelAttr kernel,
                        bool hasInt8Dot);

} // namespace rapt::cpu
