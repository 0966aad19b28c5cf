//===- Transposition.h - Byte blocks from column-major to row-major ------------===//
//
// Checkpoints store most matrices transposed; the packer transposes them back while copying.
// Units of 4 bytes (one f32, or two neighboring 16-bit values) take a path of 8x8
// blocks in registers, so that packing stays as fast as a copy.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstddef>

namespace rapt::artifact {

/// Writes target[u][i] = source[i][u] for u < units, i < lanes. Rows of `source` are `sourcePitch` bytes apart, rows of
/// `target` are `targetPitch` bytes apart; a unit is `unitBytes` (2 or 4) bytes. Nothing needs alignment.
void transpose(const std::byte *source, size_t sourcePitch, std::byte *target, size_t targetPitch, size_t lanes,
               size_t units, size_t unitBytes);

} // namespace rapt::artifact
