//===- CounterRandom.h - Random numbers by counting ------------------------===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): a number depends only on seed, sequence and draw, so that a sequence
// gives the same tokens whatever else is in its batch.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <array>
#include <cstdint>

namespace rapt {

/// One block of Philox4x32 with 10 rounds.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

/// Draw `draw` of sequence `sequence` under `seed`, uniform in [0, 1) with 53 bits: the key is (seed low, seed high),
/// the counter (draw low, draw high, sequence low, sequence high), and the number is (word 0 * 2^32 + word 1) >> 11, /
/// 2^53.
double uniformDraw(uint64_t seed, uint64_t sequence, uint64_t draw);

} // namespace rapt
