//===- Quantization.cpp - Quantized weights in groups --------------------------===//
#include "lib/Artifact/Quantization.h"
#include "lib/Artifact/Transposition.h"
#include "lib/Support/Float16.h"
#include "lib/Support/WideVectors.h"
#include <cmath>
#include <cstring>

namespace rapt::artifact {

namespace {

#pragma clang fp contract(off)
#define INLINE [[gnu::always_inline]]

constexpr int64_t width = QuantizedGroup::width;

/// Largest code, and least: 8 bits leave 0 out, so that they are symmetric.
struct Range {
  float least, most;
};

/// Neighboring columns of a panel. They are two vectors of `bytes`, as chains of sums wait for each other.
template <int bytes> class Columns {
  using Floats = float __attribute__((vector_size(bytes)));
  using Words = int32_t __attribute__((vector_size(bytes)));
  using Doubles = double __attribute__((vector_size(2 * bytes)));
  using Bytes = uint8_t __attribute__((vector_size(bytes / 4)));
  static constexpr int64_t lanes = bytes / 4, vectors = 2;

public:
  static constexpr int64_t count = vectors * lanes;
  static_assert(width % count == 0);

  INLINE Columns(const float *panel, int64_t rows, int64_t first, Range range)
      : panel(panel + first), rows(rows), first(first), range(range) {}

  /// Least, largest, and the one farthest from zero, of each column. Returns the first column that holds NaN or
  /// infinity, or -1.
  INLINE int findExtremes() {
    Words largest[vectors] = {};
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < vectors; ++i) {
        Floats x;
        load(x, row, i);
        const Words magnitude = reinterpret_cast<Words>(x) & 0x7fffffff;
        least[i] = x < least[i] ? x : least[i];
        most[i] = most[i] < x ? x : most[i];
        largest[i] = magnitude > largest[i] ? magnitude : largest[i];
      }
    for (int64_t i = 0; i < vectors; ++i)
      farthest[i] = -least[i] >= most[i] ? least[i] : most[i];
    for (int64_t i = 0; i < count; ++i)
      if (largest[i / lanes][i % lanes] >= 0x7f800000)
        return int(first + i);
    return -1;
  }

  /// 8 bits: 127 steps from zero to the farthest element.
  INLINE void setSymmetric8() {
    for (int64_t i = 0; i < vectors; ++i) {
      const Words magnitude = reinterpret_cast<Words>(farthest[i]) & 0x7fffffff;
      // The next value of bf16 away from zero, or the quotient where it is one.
      const Words away = reinterpret_cast<Words>(reinterpret_cast<Floats>(magnitude) / 127.f) + 0xffff;
      best.set(i, reinterpret_cast<Floats>(away & int32_t(0xffff0000)), Floats{} + 128.f);
    }
  }

  /// 4 bits: the farthest element gets code 0, about 8 steps from zero; fewer or more steps, which cut it off or leave
  /// codes of the other side unused, are tried.
  INLINE void searchSymmetric4() {
    for (float steps : {8.f, 6.75f, 7.f, 7.25f, 7.5f, 7.75f, 8.25f, 8.5f, 8.75f, 9.f}) {
      Grid grid;
      for (int64_t i = 0; i < vectors; ++i) {
        Floats scale = farthest[i] / -steps;
        roundToBf16(scale);
        grid.set(i, scale, Floats{} + 8.f);
      }
      consider(grid);
    }
  }

  /// 4 bits with a zero: 15 steps over the range of the group, or over less of it.
  INLINE void searchWithZero() {
    for (float part : {1.f, 0.76f, 0.8f, 0.84f, 0.88f, 0.92f, 0.96f})
      for (float move : {0.f, -1.f, 1.f}) {
        Grid grid;
        for (int64_t i = 0; i < vectors; ++i) {
          Floats scale = most[i] * (part / 15.f) - least[i] * (part / 15.f);
          roundToBf16(scale);
          const Floats middle = most[i] / 2 + least[i] / 2;
          const Floats nearest = ((7.5f - middle / scale) + wholeFrom) - wholeFrom;
          Floats zero = scale > 0 ? nearest + move : Floats{} + 8.f;
          zero = zero < 0 ? Floats{} : zero;
          zero = 15 < zero ? Floats{} + 15.f : zero;
          grid.set(i, scale, zero);
        }
        consider(grid);
      }
  }

  /// The codes on the best grid, and how far they are from the elements.
  INLINE void encode(QuantizedGroup &group) const {
    const Cut cut(best, range);
    Doubles errors[vectors] = {}, norms[vectors] = {};
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < vectors; ++i) {
        Floats x, code;
        load(x, row, i);
        round(x, best, cut, i, code);
        const Bytes codes = __builtin_convertvector(reinterpret_cast<Words>(code), Bytes);
        std::memcpy(group.codes.data() + row * width + first + i * lanes, &codes, sizeof codes);
        const Doubles value = __builtin_convertvector(x, Doubles);
        const Doubles error =
            __builtin_convertvector(code - cut.zero[i], Doubles) * __builtin_convertvector(best.scale[i], Doubles) -
            value;
        errors[i] += error * error;
        norms[i] += value * value;
      }
    for (int64_t i = 0; i < count; ++i) {
      group.errors[first + i] = {errors[i / lanes][i % lanes], norms[i / lanes][i % lanes]};
      group.scales[first + i] = best.scale[i / lanes][i % lanes];
      group.zeros[first + i] = uint8_t(best.zero[i / lanes][i % lanes]);
    }
  }

private:
  /// A whole number below 2^22 in magnitude plus this is exact, with the number in its low bits, and any other sum is
  /// rounded to the nearest such number, ties to even.
  static constexpr float wholeFrom = 12582912.f; // 1.5 * 2^23

  /// Scale, its inverse and zero of each column.
  struct Grid {
    Floats scale[vectors], inverse[vectors], zero[vectors];

    INLINE void set(int64_t i, const Floats &newScale, const Floats &newZero) {
      // A scale that is not normal, or above 2^126, has no inverse: such weights count as zeros.
      const Words magnitude = reinterpret_cast<Words>(newScale) & 0x7fffffff;
      const Words isNormal = (magnitude >= 0x00800000) & (magnitude <= 0x7e800000);
      inverse[i] = isNormal ? 1.f / newScale : Floats{};
      scale[i] = isNormal ? newScale : Floats{};
      zero[i] = newZero;
    }
  };

  /// Where a grid ends, relative to its zero, and its zero as codes are rounded.
  struct Cut {
    Floats low[vectors], high[vectors], zero[vectors];

    INLINE Cut(const Grid &grid, Range range) {
      for (int64_t i = 0; i < vectors; ++i) {
        low[i] = range.least - grid.zero[i];
        high[i] = range.most - grid.zero[i];
        zero[i] = grid.zero[i] + wholeFrom;
      }
    }
  };

  INLINE void load(Floats &x, int64_t row, int64_t i) const { std::memcpy(&x, panel + row * width + i * lanes, bytes); }

  INLINE static void roundToBf16(Floats &x) {
    const Words bits = reinterpret_cast<Words>(x);
    x = reinterpret_cast<Floats>((bits + 0x7fff + (bits >> 16 & 1)) & int32_t(0xffff0000));
  }

  /// The code plus `wholeFrom`. What is beyond all codes is cut off before it is rounded, which gives the same as after
  /// it, as zeros are whole numbers.
  INLINE static void round(const Floats &x, const Grid &grid, const Cut &cut, int64_t i, Floats &code) {
    Floats y = x * grid.inverse[i];
    y = y < cut.low[i] ? cut.low[i] : y;
    y = cut.high[i] < y ? cut.high[i] : y;
    code = (y + grid.zero[i]) + wholeFrom;
  }

  /// Takes the grid for those columns in which its squared error is less than that of all before.
  INLINE void consider(const Grid &grid) {
    const Cut cut(grid, range);
    Floats sums[vectors] = {};
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = 0; i < vectors; ++i) {
        Floats x, code;
        load(x, row, i);
        round(x, grid, cut, i, code);
        const Floats error = (code - cut.zero[i]) * grid.scale[i] - x;
        sums[i] += error * error;
      }
    for (int64_t i = 0; i < vectors; ++i) {
      // The first counts even if its error is beyond f32.
      const Words isBetter = (sums[i] < leastError[i]) | (isFirst ? -1 : 0);
      leastError[i] = isBetter ? sums[i] : leastError[i];
      best.scale[i] = isBetter ? grid.scale[i] : best.scale[i];
      best.inverse[i] = isBetter ? grid.inverse[i] : best.inverse[i];
      best.zero[i] = isBetter ? grid.zero[i] : best.zero[i];
    }
    isFirst = false;
  }

  const float *panel;
  int64_t rows, first;
  Range range;
  Floats least[vectors] = {}, most[vectors] = {}, farthest[vectors] = {}, leastError[vectors] = {};
  Grid best = {};
  bool isFirst = true;
};

struct Quantize {
  template <int bytes>
  INLINE static int run(const float *panel, int64_t rows, const Quantization &how, QuantizedGroup &group) {
    const int64_t inWord = 32 / how.bits, padded = (rows + inWord - 1) / inWord * inWord;
    group.codes.resize(size_t(padded * width));
    for (int64_t first = 0; first < width; first += Columns<bytes>::count) {
      Columns<bytes> columns(panel, rows, first, how.bits == 8 ? Range{1.f, 255.f} : Range{0.f, 15.f});
      if (int column = columns.findExtremes(); column >= 0)
        return column;
      if (how.zeroPoints)
        columns.searchWithZero();
      else if (how.bits == 4)
        columns.searchSymmetric4();
      else
        columns.setSymmetric8();
      columns.encode(group);
    }
    for (int64_t row = rows; row < padded; ++row)
      std::memcpy(group.codes.data() + row * width, group.zeros, width);
    return -1;
  }
};

/// How codes of one column lie in a word of 32 bits.
enum class Order : uint8_t {
  Rows,  ///< neighbors side by side
  Panels ///< 4 bits: the first four are the low halves of the bytes
};

/// The words of 32 columns, [words][32].
template <Order order> struct ArrangeWords {
  template <int bytes> INLINE static int run(const uint8_t *codes, int64_t words, int64_t bits, std::byte *target) {
    constexpr int64_t lanes = bytes / 4;
    using Words = uint32_t __attribute__((vector_size(bytes)));
    using Bytes = uint8_t __attribute__((vector_size(lanes)));
    const int64_t inWord = 32 / bits;
    for (int64_t word = 0; word < words; ++word)
      for (int64_t first = 0; first < width; first += lanes) {
        Words all = {};
        for (int64_t i = 0; i < inWord; ++i) {
          Bytes row;
          std::memcpy(&row, codes + (word * inWord + i) * width + first, sizeof row);
          const auto place = uint32_t(order == Order::Rows || bits == 8 ? i * bits : i % 4 * 8 + i / 4 * 4);
          all |= __builtin_convertvector(row, Words) << place;
        }
        std::memcpy(target + (word * width + first) * 4, &all, sizeof all);
      }
    return 0;
  }
};

/// Words of `groupRows` rows, of which those behind `rows` are zeros.
template <Order order>
void arrange(const QuantizedGroup &group, int64_t rows, int64_t groupRows, int64_t bits, std::byte *target) {
  const int64_t inWord = 32 / bits, words = (rows + inWord - 1) / inWord;
  if (bits == 4)
    runWide<ArrangeWords<order>>(group.codes.data(), words, std::integral_constant<int64_t, 4>(), target);
  else
    runWide<ArrangeWords<order>>(group.codes.data(), words, std::integral_constant<int64_t, 8>(), target);
  uint32_t zeros[width];
  for (int64_t column = 0; column < width; ++column)
    zeros[column] = group.zeros[column] * (bits == 4 ? 0x11111111u : 0x01010101u);
  for (int64_t word = words; word < groupRows / inWord; ++word)
    std::memcpy(target + word * sizeof zeros, zeros, sizeof zeros);
}

} // namespace

int quantize(const float *panel, int64_t rows, const Quantization &how, QuantizedGroup &group) {
  return runWide<Quantize>(panel, rows, how, group);
}

void writeGroup(const QuantizedGroup &group, int64_t rows, int64_t groupRows, const Quantization &how,
                std::byte *target) {
  arrange<Order::Panels>(group, rows, groupRows, how.bits, target);
  target += groupRows * width * how.bits / 8;
  for (int64_t column = 0; column < width; ++column) {
    const uint16_t scale = f32ToBf16(group.scales[column]);
    std::memcpy(target + 2 * column, &scale, sizeof scale);
  }
  if (!how.zeroPoints)
    return;
  std::memset(target + 64, 0, 64);
  std::memcpy(target + 64, group.zeros, width);
}

void writeRowGroups(const QuantizedGroup &group, int64_t depth, int64_t groupDepth, const Quantization &how,
                    std::byte *target) {
  const int64_t words = groupDepth * how.bits / 32, groupBytes = how.rowGroupBytes(groupDepth);
  std::vector<std::byte> codes(size_t(words * width * 4));
  arrange<Order::Rows>(group, depth, groupDepth, how.bits, codes.data());
  transpose(codes.data(), width * 4, target, size_t(groupBytes), size_t(words), width, 4);
  for (int64_t column = 0; column < width; ++column) {
    std::byte *end = target + column * groupBytes + words * 4;
    const uint16_t scale = f32ToBf16(group.scales[column]);
    std::memcpy(end, &scale, sizeof scale);
    if (how.zeroPoints)
      end[sizeof scale] = std::byte(group.zeros[column]);
  }
}

double QuantizationError::relative() const { return norm > 0 ? std::sqrt(error / norm) : 0; }

} // namespace rapt::artifact
