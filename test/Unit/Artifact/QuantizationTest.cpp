// Groups against a naive implementation: one column after another, codes rounded by the mathematical library, bytes
// placed one by one.
#include "lib/Artifact/Quantization.h"
#include "lib/Support/Float16.h"
#include "test/Unit/VectorWidths.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

#pragma clang fp contract(off)

using namespace rapt;
using namespace rapt::artifact;

namespace {

constexpr int64_t width = panelWidth;
using Column = std::vector<float>;

float roundToBf16(float x) { return bf16ToF32(f32ToBf16(x)); }

/// Scale and zero of a column, and codes by them.
struct NaiveGrid {
  float scale, zero;
  int bits;

  float inverse() const { return std::fabs(scale) >= 0x1p-126f && std::fabs(scale) <= 0x1p126f ? 1.f / scale : 0.f; }
  float usedScale() const { return inverse() == 0 ? 0.f : scale; }
  float codeOf(float x) const {
    const float code = std::nearbyint(std::clamp(x * inverse(), -1000.f, 1000.f) + zero);
    return bits == 8 ? std::clamp(code, 1.f, 255.f) : std::clamp(code, 0.f, 15.f);
  }
  float errorOf(const Column &column) const {
    float sum = 0;
    for (float x : column) {
      const float d = (codeOf(x) - zero) * usedScale() - x;
      sum += d * d;
    }
    return sum;
  }
};

std::vector<NaiveGrid> candidates(const Column &column, const Quantization &how) {
  float least = 0, most = 0;
  for (float x : column) {
    least = std::min(least, x);
    most = std::max(most, x);
  }
  const float farthest = -least >= most ? least : most;
  std::vector<NaiveGrid> grids;
  if (how.bits == 8) { // the next value of bf16 away from zero
    float scale = roundToBf16(std::fabs(farthest) / 127.f);
    if (scale < std::fabs(farthest) / 127.f)
      scale = std::bit_cast<float>(std::bit_cast<uint32_t>(scale) + 0x10000);
    grids.push_back({scale, 128.f, 8});
  } else if (!how.zeroPoints) {
    for (float steps : {8.f, 6.75f, 7.f, 7.25f, 7.5f, 7.75f, 8.25f, 8.5f, 8.75f, 9.f})
      grids.push_back({roundToBf16(farthest / -steps), 8.f, 4});
  } else {
    for (float part : {1.f, 0.76f, 0.8f, 0.84f, 0.88f, 0.92f, 0.96f})
      for (float move : {0.f, -1.f, 1.f}) {
        const float scale = roundToBf16(most * (part / 15.f) - least * (part / 15.f)), middle = most / 2 + least / 2;
        const float zero = scale > 0 ? std::nearbyint(7.5f - middle / scale) + move : 8.f;
        grids.push_back({scale, std::clamp(zero, 0.f, 15.f), 4});
      }
  }
  return grids;
}

NaiveGrid bestGrid(const Column &column, const Quantization &how) {
  std::vector<NaiveGrid> grids = candidates(column, how);
  size_t best = 0;
  float least = grids[0].errorOf(column);
  for (size_t i = 1; i < grids.size(); ++i)
    if (const float error = grids[i].errorOf(column); error < least) {
      best = i;
      least = error;
    }
  return grids[best];
}

/// Columns of many kinds: of every magnitude, with ties, of zeros, one-sided, and of any bits.
Column drawColumn(std::mt19937 &random, int64_t rows, int kind) {
  std::normal_distribution<float> normal(kind == 1 ? 0.5f : 0.f, 0.1f);
  Column column(static_cast<size_t>(rows));
  for (float &x : column) {
    x = normal(random);
    if (kind == 2)
      x *= 1e-37f; // scales that are not normal
    else if (kind == 3)
      x *= 3e38f; // and errors beyond f32
    else if (kind == 4)
      x = std::bit_cast<float>(uint32_t(random()) & 0xbfffffff);
    else if (kind == 5)
      x = std::nearbyint(x * 80) / 8; // ties
    else if (kind == 6)
      x = 0;
    else if (kind == 7)
      x = random() % 9 ? 0.f : std::fabs(x);
  }
  return column;
}

/// Where the code of an element lies among the codes of a group of a panel: the byte, and the bits to shift by.
std::pair<int64_t, int> placeInPanel(int64_t row, int64_t column, int bits) {
  const int64_t inWord = 32 / bits;
  return {(row / inWord * width + column) * 4 + row % 4, bits == 4 && row % 8 >= 4 ? 4 : 0};
}

/// The bytes of a group, by panels, or by rows one after another.
std::vector<std::byte> naiveBytes(const std::vector<Column> &columns, int64_t groupRows, const Quantization &how,
                                  bool isByRows) {
  const int64_t rowBytes = how.rowGroupBytes(groupRows), codeBytes = how.codeBytes(groupRows);
  std::vector<std::byte> bytes(size_t(isByRows ? width * rowBytes : how.groupBytes(groupRows)));
  for (int64_t column = 0; column < width; ++column) {
    const Column &values = columns[column];
    const NaiveGrid grid = bestGrid(values, how);
    for (int64_t row = 0; row < groupRows; ++row) {
      const auto code = uint8_t(row < int64_t(values.size()) ? grid.codeOf(values[row]) : grid.zero);
      auto [place, shift] = placeInPanel(row, column, how.bits);
      if (isByRows) {
        place = column * rowBytes + row * how.bits / 8;
        shift = how.bits == 4 && row % 2 ? 4 : 0;
      }
      bytes[place] |= std::byte(code << shift);
    }
    const uint16_t scale = f32ToBf16(grid.usedScale());
    std::byte *end = bytes.data() + (isByRows ? column * rowBytes + how.rowCodeBytes(groupRows) : codeBytes);
    std::memcpy(isByRows ? end : end + 2 * column, &scale, sizeof scale);
    if (how.zeroPoints)
      end[isByRows ? 2 : 64 + column] = std::byte(grid.zero);
  }
  return bytes;
}

std::vector<float> panelOf(const std::vector<Column> &columns) {
  std::vector<float> panel(columns[0].size() * width);
  for (int64_t column = 0; column < width; ++column)
    for (size_t row = 0; row < columns[column].size(); ++row)
      panel[row * width + column] = columns[column][row];
  return panel;
}

} // namespace

TEST(Quantization, GroupsAsDefined) {
  std::mt19937 random(3);
  for (const Quantization how : {Quantization{8, 0, false}, Quantization{8, 32, false}, Quantization{4, 32, false},
                                 Quantization{4, 64, true}, Quantization{4, 128, false}})
    for (int64_t rows : {1, 7, 31, 32, 33, 61, 128}) {
      if (how.group && rows > how.group)
        continue;
      SCOPED_TRACE(std::to_string(how.bits) + " bits, group " + std::to_string(how.group) + ", rows " +
                   std::to_string(rows));
      std::vector<Column> columns;
      for (int64_t column = 0; column < width; ++column)
        columns.push_back(drawColumn(random, rows, int((column + rows) % 8)));
      const std::vector<float> panel = panelOf(columns);
      const int64_t groupRows = how.groupRows(rows);
      const std::vector<std::byte> inPanel = naiveBytes(columns, groupRows, how, false),
                                   byRows = naiveBytes(columns, groupRows, how, true);
      test::forEachVectorWidth([&] {
        QuantizedGroup group;
        ASSERT_EQ(quantize(panel.data(), rows, how, group), -1);
        std::vector<std::byte> bytes(inPanel.size(), std::byte(0xcc));
        writeGroup(group, rows, groupRows, how, bytes.data());
        EXPECT_TRUE(bytes == inPanel);
        bytes.assign(byRows.size(), std::byte(0xcc));
        writeRowGroups(group, rows, groupRows, how, bytes.data());
        EXPECT_TRUE(bytes == byRows);
        for (int64_t column = 0; column < width; ++column) {
          QuantizationError error;
          for (int64_t row = 0; row < rows; ++row)
            error.add(group.value(row, column), columns[column][row]);
          EXPECT_DOUBLE_EQ(group.errors[column].error, error.error);
          EXPECT_DOUBLE_EQ(group.errors[column].norm, error.norm);
        }
      });
    }
}

TEST(Quantization, TheFirstColumnThatIsNotFiniteIsTold) {
  test::forEachVectorWidth([] {
    for (const float value : {NAN, -NAN, INFINITY, -INFINITY})
      for (int64_t column = 0; column < width; ++column) {
        std::vector<float> panel(33 * width, 1.f);
        panel[32 * width + column] = panel[7 * width + width - 1] = value;
        QuantizedGroup group;
        EXPECT_EQ(quantize(panel.data(), 33, {8, 0, false}, group), column);
      }
  });
}
