//===- CounterRandom.cpp ---------------------------------------------------===//
#include "lib/Generation/CounterRandom.h"

namespace rapt {

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0], second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

double uniformDraw(uint64_t seed, uint64_t sequence, uint64_t draw) {
  auto words = philox({uint32_t(draw), uint32_t(draw >> 32), uint32_t(sequence), uint32_t(sequence >> 32)},
                      {uint32_t(seed), uint32_t(seed >> 32)});
  return double((uint64_t(words[0]) << 32 | words[1]) >> 11) * 0x1p-53;
}

} // namespace rapt
