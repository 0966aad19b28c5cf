//===- Transposition.cpp - Byte blocks from column-major to row-major ----------===//
#include "lib/Artifact/Transposition.h"
#include "lib/Support/WideVectors.h"
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rapt::artifact {

namespace {

/// Blocks of so many units keep the lines of the strided side in the first cache level.
constexpr size_t blockUnits = 64;

using Vector = uint32_t __attribute__((vector_size(32)));

/// An 8x8 block of 4-byte units, in three rounds of shuffles.
[[gnu::always_inline]] inline void transpose8x8(const std::byte *source, size_t sourcePitch, std::byte *target,
                                                size_t targetPitch) {
  Vector a[8], b[8];
  for (int i = 0; i < 8; ++i)
    std::memcpy(&a[i], source + i * sourcePitch, sizeof a[i]);
  for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      a[i + j] = __builtin_shufflevector(b[i + j], b[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      a[i + j + 2] = __builtin_shufflevector(b[i + j], b[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int j = 0; j < 4; ++j) {
    b[j] = __builtin_shufflevector(a[j], a[j + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    b[j + 4] = __builtin_shufflevector(a[j], a[j + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int u = 0; u < 8; ++u)
    std::memcpy(target + u * targetPitch, &b[u], sizeof b[u]);
}

template <typename Unit>
void transposeUnits(const std::byte *source, size_t sourcePitch, std::byte *target, size_t targetPitch, size_t lanes,
                    size_t units) {
  for (size_t first = 0; first < units; first += blockUnits) {
    const size_t last = std::min(first + blockUnits, units);
    for (size_t lane = 0; lane < lanes; ++lane)
      for (size_t unit = first; unit < last; ++unit)
        std::memcpy(target + unit * targetPitch + lane * sizeof(Unit),
                    source + lane * sourcePitch + unit * sizeof(Unit), sizeof(Unit));
  }
}

struct TransposeWords {
  template <int bytes>
  [[gnu::always_inline]] static int run(const std::byte *source, size_t sourcePitch, std::byte *target,
                                        size_t targetPitch, size_t wholeLanes, size_t wholeUnits) {
    for (size_t first = 0; first < wholeUnits; first += blockUnits)
      for (size_t lane = 0; lane < wholeLanes; lane += 8)
        for (size_t unit = first; unit < std::min(first + blockUnits, wholeUnits); unit += 8)
          transpose8x8(source + lane * sourcePitch + unit * 4, sourcePitch, target + unit * targetPitch + lane * 4,
                       targetPitch);
    return 0;
  }
};

} // namespace

void transpose(const std::byte *source, size_t sourcePitch, std::byte *target, size_t targetPitch, size_t lanes,
               size_t units, size_t unitBytes) {
  if (unitBytes == 2)
    return transposeUnits<uint16_t>(source, sourcePitch, target, targetPitch, lanes, units);
  const size_t wholeLanes = lanes / 8 * 8, wholeUnits = units / 8 * 8;
  runWide<TransposeWords>(source, sourcePitch, target, targetPitch, wholeLanes, wholeUnits);
  transposeUnits<uint32_t>(source + wholeUnits * 4, sourcePitch, target + wholeUnits * targetPitch, targetPitch,
                           wholeLanes, units - wholeUnits);
  transposeUnits<uint32_t>(source + wholeLanes * sourcePitch, sourcePitch, target + wholeLanes * 4, targetPitch,
                           lanes - wholeLanes, units);
}

} // namespace rapt::artifact
