//===- MicroscalingFloats.h - Values of four bits with a scale a block -----===//
//
// OCP Microscaling Formats (MX) v1.0, MXFP4: a value is E2M1, two in a byte, the lower half
// first; 32 of them share a scale, a byte E8M0, which stands for 2^(byte - 127).
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/CodeBlock.h"
#include <cstddef>
#include <cstdint>
#include <span>

namespace rapt::huggingface {

inline constexpr uint64_t microscalingBlock = 32; ///< values of one scale

/// Values first, first + 1, .. as bf16, which holds each exactly; as many as `out` holds. `codes` begins with
/// the byte of value `first`, `scales` with the scale of its block. A scale of 255 makes its values NaN.
void decodeMicroscaling(uint64_t first, std::span<const std::byte> codes, std::span<const std::byte> scales,
                        std::span<std::byte> out);

/// Blocks as a reader gives them: the byte of the scale, then the 16 of the codes.
extern const artifact::BlockSource microscalingBlocks;

} // namespace rapt::huggingface
