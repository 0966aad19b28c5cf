//===- Quantization.cpp - Quantized weights in groups --------------------------===//
#include "lib/Artifact/Quantization.h"
#include "lib/Support/Float16.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace rapt::artifact {

namespace {

#pragma clang fp contract(off)

constexpr int64_t width = QuantizedGroup::width;

/// To the nearest whole number, ties to even, of |x| < 2^22: without a library call, so that loops vectorize.
float nearest(float x) {
  const float shift = 12582912.f; // 1.5 * 2^23
  return (x + shift) - shift;
}

float toBf16(float x) { return bf16ToF32(f32ToBf16(x)); }

/// The next value of bf16 away from zero, or x where it is one.
float awayToBf16(float x) { return std::bit_cast<float>((std::bit_cast<uint32_t>(x) + 0xffff) & 0xffff0000); }

/// Scale, its inverse and zero of each column.
struct Grid {
  float scale[width], inverse[width], zero[width];

  void set(int64_t column, float newScale, float newZero) {
    scale[column] = newScale;
    // A scale that is not normal has no inverse: such weights count as zeros.
    const bool isNormal = std::fabs(newScale) >= 0x1p-126f && std::fabs(newScale) <= 0x1p126f;
    inverse[column] = isNormal ? 1.f / newScale : 0.f;
    if (!isNormal)
      scale[column] = 0.f;
    zero[column] = newZero;
  }
};

/// Largest code, and least: 8 bits leave 0 out, so that they are symmetric.
struct Range {
  float least, most;
};

float codeOf(float x, const Grid &grid, int64_t column, Range range) {
  const float code = nearest(std::min(std::max(x * grid.inverse[column], -1000.f), 1000.f) + grid.zero[column]);
  return std::min(std::max(code, range.least), range.most);
}

/// Squared errors of each column on a grid.
void measure(const float *panel, int64_t rows, const Grid &grid, Range range, float (&errors)[width]) {
  std::fill(std::begin(errors), std::end(errors), 0.f);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < width; ++column) {
      const float x = panel[row * width + column];
      const float d = (codeOf(x, grid, column, range) - grid.zero[column]) * grid.scale[column] - x;
      errors[column] += d * d;
    }
}

/// The candidate grid with the least error in each column, the first of equals.
class BestGrid {
public:
  BestGrid(const float *panel, int64_t rows, Range range) : panel(panel), rows(rows), range(range) {}
  void consider(const Grid &grid) {
    float errors[width];
    measure(panel, rows, grid, range, errors);
    for (int64_t column = 0; column < width; ++column) {
      // The first counts even if its error is beyond f32.
      if (!isFirst && !(errors[column] < least[column]))
        continue;
      least[column] = errors[column];
      best.scale[column] = grid.scale[column];
      best.inverse[column] = grid.inverse[column];
      best.zero[column] = grid.zero[column];
    }
    isFirst = false;
  }
  Grid best{};

private:
  const float *panel;
  int64_t rows;
  Range range;
  bool isFirst = true;
  float least[width] = {};
};

/// Least, largest, and the one farthest from zero, of each column.
struct Extremes {
  float least[width] = {}, most[width] = {}, farthest[width] = {};

  Extremes(const float *panel, int64_t rows) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < width; ++column) {
        const float x = panel[row * width + column];
        least[column] = std::min(least[column], x);
        most[column] = std::max(most[column], x);
      }
    for (int64_t column = 0; column < width; ++column)
      farthest[column] = -least[column] >= most[column] ? least[column] : most[column];
  }
};

/// 8 bits: 127 steps from zero to the farthest element. 4 bits: the farthest element gets code 0, about 8 steps from
/// zero; fewer or more steps, which cut it off or leave codes of the other side unused, are tried.
Grid symmetricGrid(const float *panel, int64_t rows, int bits, Range range) {
  const Extremes extremes(panel, rows);
  if (bits == 8) {
    Grid grid;
    for (int64_t column = 0; column < width; ++column)
      grid.set(column, awayToBf16(std::fabs(extremes.farthest[column]) / 127.f), 128.f);
    return grid;
  }
  BestGrid search(panel, rows, range);
  for (float steps : {8.f, 6.75f, 7.f, 7.25f, 7.5f, 7.75f, 8.25f, 8.5f, 8.75f, 9.f}) {
    Grid grid;
    for (int64_t column = 0; column < width; ++column)
      grid.set(column, toBf16(extremes.farthest[column] / -steps), 8.f);
    search.consider(grid);
  }
  return search.best;
}

/// 4 bits with a zero: 15 steps over the range of the group, or over less of it.
Grid gridWithZero(const float *panel, int64_t rows, Range range) {
  const Extremes extremes(panel, rows);
  BestGrid search(panel, rows, range);
  for (float part : {1.f, 0.76f, 0.8f, 0.84f, 0.88f, 0.92f, 0.96f})
    for (float shift : {0.f, -1.f, 1.f}) {
      Grid grid;
      for (int64_t column = 0; column < width; ++column) {
        const float scale = toBf16(extremes.most[column] * (part / 15.f) - extremes.least[column] * (part / 15.f));
        const float middle = (extremes.most[column] / 2 + extremes.least[column] / 2);
        const float zero = scale > 0 ? nearest(7.5f - middle / scale) + shift : 8.f;
        grid.set(column, scale, std::min(std::max(zero, 0.f), 15.f));
      }
      search.consider(grid);
    }
  return search.best;
}

int firstNotFinite(const float *panel, int64_t rows) {
  uint32_t largest[width] = {};
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < width; ++column)
      largest[column] =
          std::max(largest[column], std::bit_cast<uint32_t>(panel[row * width + column]) & uint32_t(0x7fffffff));
  for (int64_t column = 0; column < width; ++column)
    if (largest[column] >= 0x7f800000)
      return int(column);
  return -1;
}

} // namespace

int quantize(const float *panel, int64_t rows, const Quantization &how, QuantizedGroup &group) {
  if (int column = firstNotFinite(panel, rows); column >= 0)
    return column;
  const Range range = how.bits == 8 ? Range{1.f, 255.f} : Range{0.f, 15.f};
  const Grid grid = how.zeroPoints ? gridWithZero(panel, rows, range) : symmetricGrid(panel, rows, how.bits, range);
  group.codes.resize(size_t(rows * width));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < width; ++column)
      group.codes[row * width + column] = uint8_t(int(codeOf(panel[row * width + column], grid, column, range)));
  for (int64_t column = 0; column < width; ++column) {
    group.scales[column] = grid.scale[column];
    group.zeros[column] = uint8_t(grid.zero[column]);
  }
  return -1;
}

void writeGroup(const QuantizedGroup &group, int64_t rows, int64_t groupRows, const Quantization &how,
                std::byte *target) {
  const int64_t inWord = 32 / how.bits; // rows of a word of 32 bits
  auto *codes = reinterpret_cast<uint8_t *>(target);
  for (int64_t first = 0; first < groupRows; first += inWord)
    for (int64_t column = 0; column < width; ++column) {
      auto code = [&](int64_t row) -> uint32_t {
        return row < rows ? group.codes[row * width + column] : group.zeros[column];
      };
      for (int64_t i = 0; i < 4; ++i) {
        uint32_t byte = code(first + i);
        if (how.bits == 4)
          byte |= code(first + 4 + i) << 4;
        *codes++ = uint8_t(byte);
      }
    }
  for (int64_t column = 0; column < width; ++column) {
    const uint16_t scale = f32ToBf16(group.scales[column]);
    std::memcpy(codes + 2 * column, &scale, sizeof scale);
  }
  if (!how.zeroPoints)
    return;
  std::memset(codes + 64, 0, 64);
  std::memcpy(codes + 64, group.zeros, width);
}

void writeRowGroup(const QuantizedGroup &group, int64_t column, int64_t depth, int64_t groupDepth,
                   const Quantization &how, std::byte *target) {
  auto code = [&](int64_t i) -> uint8_t { return i < depth ? group.codes[i * width + column] : group.zeros[column]; };
  for (int64_t i = 0; i < groupDepth; i += 8 / how.bits)
    *target++ = std::byte(how.bits == 8 ? code(i) : uint8_t(code(i) | code(i + 1) << 4));
  const uint16_t scale = f32ToBf16(group.scales[column]);
  std::memcpy(target, &scale, sizeof scale);
  if (how.zeroPoints)
    target[sizeof scale] = std::byte(group.zeros[column]);
}

double QuantizationError::relative() const { return norm > 0 ? std::sqrt(error / norm) : 0; }

} // namespace rapt::artifact
