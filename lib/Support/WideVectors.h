//===- WideVectors.h - Loops for the vectors that this CPU has ------------------===//
//
// Rapt's own code is compiled for any CPU of its architecture. A loop over all weights of
// a model is compiled for wider vectors as well, and the widest that the CPU has are used.
// The values are the same: a kernel does the same operations on each element, and none of
// them is contracted (`#pragma clang fp contract(off)`).
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstdint>

namespace rapt {

/// Bytes of the vectors of this CPU that kernels use: 16, 32 (AVX2) or 64 (AVX-512).
int vectorBytes();
/// From now on at most so many. For tests.
void limitVectorBytes(int most);

namespace vectors {
template <typename Kernel, typename... Arguments> auto run16(Arguments &&...arguments) {
  return Kernel::template run<16>(arguments...);
}
#if defined(__x86_64__)
template <typename Kernel, typename... Arguments> [[gnu::target("avx2")]] auto run32(Arguments &&...arguments) {
  return Kernel::template run<32>(arguments...);
}
template <typename Kernel, typename... Arguments>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] auto run64(Arguments &&...arguments) {
  return Kernel::template run<64>(arguments...);
}
#endif
} // namespace vectors

/// Calls Kernel::run<BYTES>(arguments...), a static function that is always inlined, for vectors of so many bytes.
template <typename Kernel, typename... Arguments> auto runWide(Arguments &&...arguments) {
#if defined(__x86_64__)
  if (const int bytes = vectorBytes(); bytes == 64)
    return vectors::run64<Kernel>(arguments...);
  else if (bytes == 32)
    return vectors::run32<Kernel>(arguments...);
#endif
  return vectors::run16<Kernel>(arguments...);
}

} // namespace rapt
