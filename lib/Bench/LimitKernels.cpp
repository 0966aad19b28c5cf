// Loops that reach the machine's limits: independent multiply-adds, and sums of memory. They are C++ on the compiler's
// vector types, with one version per instruction set; dot products of integers and of bf16, and AMX, are intrinsics.
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

/// Reads `streams` parts of the memory beside each other, and with `ahead` asks for what lies so many bytes further on,
/// not to be kept in caches.
template <int bytes, int streams, int ahead>
[[gnu::always_inline]] inline float sum(const float *memory, size_t count) {
  using V = typename Vector<bytes>::Type;
  constexpr int chains = 8 / streams, lanes = bytes / 4, line = 64;
  const size_t part = count / streams;
  V sums[8] = {};
  for (size_t at = 0; at < part; at += size_t(chains) * lanes)
    for (int stream = 0; stream < streams; ++stream) {
      const float *from = memory + size_t(stream) * part + at;
      for (int offset = 0; ahead && offset < chains * bytes; offset += line)
        __builtin_prefetch(reinterpret_cast<const char *>(from) + ahead + offset, 0, 0);
      for (int i = 0; i < chains; ++i)
        sums[stream * chains + i] += *reinterpret_cast<const V *>(from + i * lanes);
    }
  float total = 0;
  for (const V &sum : sums)
    for (int lane = 0; lane < lanes; ++lane)
      total += sum[lane];
  return total;
}

constexpr int kilobyte = 1024;

#if defined(__x86_64__)
[[gnu::target("avx512f")]] double fma512(long steps, const float *seed, float *sink) {
  return multiplyAdd<64, 16>(steps, seed, sink);
}
[[gnu::target("avx2,fma")]] double fma256(long steps, const float *seed, float *sink) {
  return multiplyAdd<32, 12>(steps, seed, sink);
}
template <int streams, int ahead> [[gnu::target("avx512f")]] float sum512(const float *memory, size_t count) {
  return sum<64, streams, ahead>(memory, count);
}
template <int streams, int ahead> [[gnu::target("avx2")]] float sum256(const float *memory, size_t count) {
  return sum<32, streams, ahead>(memory, count);
}

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

/// A value that the compiler takes for another one each time, so that it multiplies it again. No instruction.
[[gnu::target("avx2"), gnu::always_inline]] inline __m256i anew(__m256i value) {
  __asm__ volatile("" : "+x"(value));
  return value;
}

/// Exact without VNNI: sums of two multiplications of 16 bits fit 32.
[[gnu::target("avx2")]] double multiplyPairs256(long steps, const float *seed, float *sink) {
  constexpr int chains = 12;
  const __m256i x = _mm256_castps_si256(_mm256_loadu_ps(seed)), y = _mm256_castps_si256(_mm256_loadu_ps(seed + 8));
  __m256i sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm256_set1_epi32(i);
  for (long step = 0; step < steps; ++step)
    for (int i = 0; i < chains; ++i)
      sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(anew(x), y));
  for (int i = 0; i < chains; ++i)
    *sink += float(_mm256_extract_epi32(sums[i], 0));
  return 32.0 * chains * double(steps);
}

/// Groups of 32 codes of 4 bits times rows of 8 bits, exact without VNNI: codes without a sign times rows are summed in
/// 16 bits, eight times, then in 32 bits with what the codes' zero adds, and as floats times the scales of row and
/// column.
[[gnu::target("avx2,fma")]] double multiplyGroups256(long steps, const float *seed, float *sink) {
  constexpr int chains = 6, pairsOfGroup = 8;
  const __m256i codes = _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(seed)), _mm256_set1_epi8(15)),
                rows = _mm256_castps_si256(_mm256_loadu_ps(seed + 8)), ones = _mm256_set1_epi16(1),
                zeros = _mm256_set1_epi32(-8 * int(100 * seed[16]));
  const __m256 scale = _mm256_loadu_ps(seed + 24), columnScale = _mm256_loadu_ps(seed + 32);
  __m256 sums[chains];
  for (int i = 0; i < chains; ++i)
    sums[i] = _mm256_set1_ps(float(i));
  for (long step = 0; step < steps; ++step) {
    __m256i words[chains];
    for (int pair = 0; pair < pairsOfGroup; ++pair)
      for (int i = 0; i < chains; ++i) {
        const __m256i pairs = _mm256_maddubs_epi16(anew(codes), rows);
        words[i] = pair == 0 ? pairs : _mm256_add_epi16(words[i], pairs);
      }
    for (int i = 0; i < chains; ++i) {
      const __m256i integers = _mm256_add_epi32(_mm256_madd_epi16(words[i], ones), zeros);
      const __m256 scales = _mm256_mul_ps(scale, _mm256_castsi256_ps(anew(_mm256_castps_si256(columnScale))));
      sums[i] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(integers), scales, sums[i]);
    }
  }
  for (int i = 0; i < chains; ++i)
    *sink += _mm256_cvtss_f32(sums[i]);
  return 64.0 * pairsOfGroup * chains * double(steps);
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

template <int streams, int ahead> float sum128(const float *memory, size_t count) {
  return sum<16, streams, ahead>(memory, count);
}

} // namespace

const std::vector<RateKernel> &rateKernels() {
  static const std::vector<RateKernel> kernels = {
#if defined(__x86_64__)
      {"f32 FMA, 512 bit", "f32", {"avx512f"}, hasAvx512, fma512},
      {"f32 FMA, 256 bit", "f32", {"avx2", "fma"}, hasFma, fma256},
      {"bf16 dot products, 512 bit", "bf16", {"avx512bf16"}, hasBf16, dotBrains512},
      {"bf16 tile matmul", "bf16", {"amx-bf16"}, hasTiles, multiplyTilesOfBrains},
      {"int8 tile matmul", "i8", {"amx-int8"}, hasTiles, multiplyTilesOfIntegers},
      {"int8 dot products, 512 bit", "i8", {"avx512vnni"}, hasVnni512, dotIntegers512},
      {"int8 dot products, 256 bit", "i8", {"avxvnni"}, hasVnni256, dotIntegers256},
      {"int8 pairs, 256 bit", "i8", {"avx2"}, hasFma, multiplyPairs256},
      {"int4 groups of 32, 256 bit", "i4", {"avx2", "fma"}, hasFma, multiplyGroups256},
#endif
      {"f32 multiply-add, 128 bit", "f32", {}, always, fma128}};
  return kernels;
}

const std::vector<ReadKernel> &readKernels() {
  static const std::vector<ReadKernel> kernels = {
#if defined(__x86_64__)
      {"512 bit", {"avx512f"}, hasAvx512, sum512<1, 0>},
      {"512 bit, four streams", {"avx512f"}, hasAvx512, sum512<4, 0>},
      {"512 bit, four streams, prefetched", {"avx512f"}, hasAvx512, sum512<4, kilobyte>},
      {"256 bit", {"avx2"}, hasFma, sum256<1, 0>},
      {"256 bit, four streams", {"avx2"}, hasFma, sum256<4, 0>},
      {"256 bit, four streams, prefetched", {"avx2"}, hasFma, sum256<4, kilobyte>},
#endif
      {"128 bit", {}, always, sum128<1, 0>},
      {"128 bit, four streams", {}, always, sum128<4, 0>}};
  return kernels;
}

} // namespace rapt::bench
