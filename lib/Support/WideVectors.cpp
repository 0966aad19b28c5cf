//===- WideVectors.cpp - Loops for the vectors that this CPU has ----------------===//
#include "lib/Support/WideVectors.h"
#include <algorithm>
#include <atomic>

namespace rapt {

static int vectorBytesOfThisCpu() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return 64;
  if (__builtin_cpu_supports("avx2"))
    return 32;
#endif
  return 16;
}

static std::atomic<int> mostBytes = 64;

int vectorBytes() {
  static const int own = vectorBytesOfThisCpu();
  return std::min(own, mostBytes.load(std::memory_order_relaxed));
}

void limitVectorBytes(int most) { mostBytes = most; }

} // namespace rapt
