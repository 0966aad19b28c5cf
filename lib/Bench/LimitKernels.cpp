// Loops that reach the machine's limits: independent multiply-adds, and sums of memory. They are C++ on the compiler's
// vector types, with one version per instruction set; int8 and bf16 dot products and AMX are intrinsics.
#include "lib/Bench/Limits.h"
#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace rapt::bench {
namespace {

template <int bytes> struct Vector {
  typedef float Type __attribute__((vector_size(bytes)));
};

/// `chains` independent accumulators.
template <int bytes, int chains>
[[gnu::always_inline]] inline double multiplyAdd(long steps, const float *seed, float *sink) {
  using V = typename Vector<bytes>::Type;
  constexpr int lanes = bytes / 4;
  V sums[chains], x, y;
  for (int lane = 0; lane < lanes; ++lane) {
    x[lane] = seed[lane] * 1e-3f;
    y[lane] = 0.9f + seed[lane + 1] * 1e-3f;
  }
  for (int i = 0; i < chains; ++i)
    for (int lane = 0; lane < lanes; ++lane)
      sums[i][lane] = float(i) * seed[lane];
  for (long step = 0; step < steps; ++step)
    for (int i = 0; i < chains; ++i)
      sums[i] = sums[i] * y + x;
  for (int i = 0; i < chains; ++i)
    for (int lane = 0; lane < lanes; ++lane)
      *sink += sums[i][lane];
  return 2.0 * lanes * chains * double(steps);
}

template <int bytes> [[gnu::always_inline]] inline float sum(const float *memory, size_t count) {
  using V = typename Vector<bytes>::Type;
  constexpr int chains = 8, lanes = bytes / 4;
  V sums[chains] = {};
  for (size_t at = 0; at < count; at += size_t(chains) * lanes)
    for (int i = 0; i < chains; ++i)
      sums[i] += *reinterpret_cast<const V *>(memory + at + i * lanes);
  float total = 0;
  for (int i = 0; i < chains; ++i)
    for (int lane = 0; lane < lanes; ++lane)
      total += sums[i][lane];
  return total;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] double fma512(long steps, const float *seed, float *sink) {
  return multiplyAdd<64, 16>(steps, seed, sink);
}
[[gnu::target("avx2,fma")]] double fma256(long steps, const float *seed, float *sink) {
  return multiplyAdd<32, 12>(steps, seed, sink);
}
[[gnu::target("avx512f")]] float sum512(const float *memory, size_t count) { return sum<64>(memory, count); }
[[gnu::target("avx2")]] float sum256(const float *memory, size_t count) { return sum<32>(memory, count); }

[[gnu::target("avx512f,avx512vnni")]] double dotIntegers512(long steps, const float *seed, float *sink) {
  constexpr int chains = 16;
  const __m512i x = _mm512_castps_si512(_mm512_loadu_ps(seed)), y = _mm512_castps_si512(_mm512_loadu_ps(seed + 16));
  __m512i sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_set1_epi32(i);
  for (long step = 0; step < steps; ++step)
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm512_dpbusd_epi32(sums[i], x, y);
  for (int i = 0; i < chains; ++i)
    *sink += float(_mm512_reduce_add_epi32(sums[i]));
  return 128.0 * chains * double(steps);
}

[[gnu::target("avx2,avxvnni")]] double dotIntegers256(long steps, const float *seed, float *sink) {
  constexpr int chains = 12;
  const __m256i x = _mm256_castps_si256(_mm256_loadu_ps(seed)), y = _mm256_castps_si256(_mm256_loadu_ps(seed + 8));
  __m256i sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm256_set1_epi32(i);
  for (long step = 0; step < steps; ++step)
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm256_dpbusd_avx_epi32(sums[i], x, y);
  for (int i = 0; i < chains; ++i)
    *sink += float(_mm256_extract_epi32(sums[i], 0));
  return 64.0 * chains * double(steps);
}

[[gnu::target("avx512f,avx512bf16")]] double dotBrains512(long steps, const float *seed, float *sink) {
  constexpr int chains = 16;
  const __m512bh x = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(seed), _mm512_loadu_ps(seed + 16)),
                 y = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(seed + 16), _mm512_loadu_ps(seed + 32));
  __m512 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm512_set1_ps(float(i));
  for (long step = 0; step < steps; ++step)
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm512_dpbf16_ps(sums[i], x, y);
  for (int i = 0; i < chains; ++i)
    *sink += _mm512_reduce_add_ps(sums[i]);
  return 64.0 * chains * double(steps);
}

/// All eight AMX tiles have 16 rows of 64 bytes: six accumulators and two operands.
struct alignas(64) TileConfiguration {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

[[gnu::target("amx-tile")]] void loadTiles(const float *seed) {
  const TileConfiguration configuration;
  _tile_loadconfig(&configuration);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_loadd(6, seed, 0); // the same 16 numbers in all rows
  _tile_loadd(7, seed + 16, 0);
}

[[gnu::target("amx-tile")]] float releaseTiles() {
  float sums[256];
  _tile_stored(0, sums, 64);
  _tile_release();
  return sums[0];
}

[[gnu::target("amx-tile,amx-bf16")]] double multiplyTilesOfBrains(long steps, const float *seed, float *sink) {
  loadTiles(seed);
  for (long step = 0; step < steps; ++step) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  *sink += releaseTiles();
  return 2.0 * 16 * 16 * 32 * 6 * double(steps);
}

[[gnu::target("amx-tile,amx-int8")]] double multiplyTilesOfIntegers(long steps, const float *seed, float *sink) {
  loadTiles(seed);
  for (long step = 0; step < steps; ++step) {
    _tile_dpbsud(0, 6, 7);
    _tile_dpbsud(1, 6, 7);
    _tile_dpbsud(2, 6, 7);
    _tile_dpbsud(3, 6, 7);
    _tile_dpbsud(4, 6, 7);
    _tile_dpbsud(5, 6, 7);
  }
  *sink += releaseTiles();
  return 2.0 * 16 * 16 * 64 * 6 * double(steps);
}

bool hasAvx512() { return __builtin_cpu_supports("avx512f"); }
bool hasFma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool hasVnni512() { return hasAvx512() && __builtin_cpu_supports("avx512vnni"); }
bool hasVnni256() { return hasFma() && __builtin_cpu_supports("avxvnni"); }
bool hasBf16() { return hasAvx512() && __builtin_cpu_supports("avx512bf16"); }
/// Linux saves tiles for a process that has asked (ARCH_REQ_XCOMP_PERM of XFEATURE_XTILEDATA), and refuses where the
/// processor has none.
bool hasTiles() { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }
#endif

double fma128(long steps, const float *seed, float *sink) { return multiplyAdd<16, 12>(steps, seed, sink); }
bool always() { return true; }

} // namespace

const std::vector<RateKernel> &rateKernels() {
  static const std::vector<RateKernel> kernels = {
#if defined(__x86_64__)
      {"f32 FMA, 512 bit", "f32", hasAvx512, fma512},
      {"f32 FMA, 256 bit", "f32", hasFma, fma256},
      {"bf16 dot products, 512 bit", "bf16", hasBf16, dotBrains512},
      {"bf16 tile matmul", "bf16", hasTiles, multiplyTilesOfBrains},
      {"int8 tile matmul", "i8", hasTiles, multiplyTilesOfIntegers},
      {"int8 dot products, 512 bit", "i8", hasVnni512, dotIntegers512},
      {"int8 dot products, 256 bit", "i8", hasVnni256, dotIntegers256},
#endif
      {"f32 multiply-add, 128 bit", "f32", always, fma128}};
  return kernels;
}

float sumFloats(const float *memory, size_t count) {
#if defined(__x86_64__)
  if (hasAvx512())
    return sum512(memory, count);
  if (hasFma())
    return sum256(memory, count);
#endif
  return sum<16>(memory, count);
}

} // namespace rapt::bench
