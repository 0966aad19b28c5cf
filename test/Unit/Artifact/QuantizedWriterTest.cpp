// Quantized rows against quantized panels of the transpose: the same groups, at other bytes.
#include "lib/Artifact/QuantizedWriter.h"
#include "MemoryReader.h"
#include "lib/Artifact/Transposition.h"
#include "lib/Support/Float16.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace rapt;
using namespace rapt::artifact;

namespace {

/// A quantized matrix of the tensor "w" [rows, columns], in panels or, transposed, by rows of its columns.
struct Matrix {
  Parameter parameter;
  int64_t depth; ///< along which groups lie, padded
  std::vector<std::byte> bytes;
  QuantizationError error;

  Matrix(const TensorReader &reader, const Quantization &how, bool isByRows, int64_t period) {
    const Shape stored = reader.find("w")->shape;
    parameter.name = "w";
    parameter.quantization = how;
    parameter.shape = isByRows ? Shape{stored[1], stored[0]} : stored;
    parameter.sources = {{"w", stored}};
    if (isByRows)
      parameter.sources[0].transforms = {Transpose{{1, 0}}};
    parameter.layout.kind = isByRows ? Layout::RowMajor : Layout::Panels;
    (isByRows ? parameter.layout.columnGroup : parameter.layout.rowGroup) = period;
    parameter.layout.k = isByRows ? 1 : 32 / how.bits;
    const PackedExtents extents = packedExtents(parameter);
    depth = isByRows ? extents.columns : extents.rows;
    bytes.resize(extents.bytes);
  }

  Status write(const TensorReader &reader, uint64_t window) {
    RAPT_ASSIGN_OR_RETURN(QuantizedWriter writer, QuantizedWriter::create(parameter, reader));
    Scratch scratch;
    for (uint64_t at = 0; at < bytes.size(); at += window)
      RAPT_RETURN_IF_ERROR(
          writer.write(0, at, std::span(bytes).subspan(at, std::min(window, bytes.size() - at)), scratch, error));
    return {};
  }

  /// The number that element (k, n) stands for.
  double at(int64_t k, int64_t n) const {
    const Quantization &how = parameter.quantization;
    const bool isByRows = parameter.layout.kind == Layout::RowMajor;
    const int64_t group = k / how.groupRows(depth), i = k % how.groupRows(depth), lane = isByRows ? 0 : n % 32;
    const int64_t line = isByRows ? n : n / 32, codes = isByRows ? how.rowCodeBytes(depth) : how.codeBytes(depth);
    const std::byte *data = bytes.data() + (line * how.groups(depth) + group) *
                                               (isByRows ? how.rowGroupBytes(depth) : how.groupBytes(depth));
    const int64_t inWord = 32 / how.bits; // rows of a panel that a word of 32 bits holds
    const int64_t place = isByRows ? i * how.bits / 8 : (i / inWord * 32 + lane) * 4 + i % 4;
    const bool isHigh = how.bits == 4 && (isByRows ? i % 2 : i % 8 / 4);
    const int code = int(data[place]) >> (isHigh ? 4 : 0) & (how.bits == 4 ? 15 : 255);
    uint16_t scale;
    std::memcpy(&scale, data + codes + 2 * lane, sizeof scale);
    const int zero = how.zeroPoints ? int(data[codes + (isByRows ? 2 : 64 + lane)]) : int(how.zero());
    return double(bf16ToF32(scale)) * (code - zero);
  }
};

MemoryReader readerOf(std::mt19937 &random, int64_t rows, int64_t columns) {
  std::normal_distribution<float> normal(0.f, 0.1f);
  std::vector<std::byte> bytes(size_t(rows * columns * 4));
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float value = normal(random);
    std::memcpy(bytes.data() + 4 * i, &value, sizeof value);
  }
  MemoryReader reader;
  reader.add("w", {DType::F32, {rows, columns}}, std::move(bytes));
  return reader;
}

} // namespace

/// Windows of 64 bytes cut groups; depths that no group fills, and periods that are padded each, have zeros behind
/// them.
TEST(QuantizedWriter, RowsHoldWhatPanelsHold) {
  std::mt19937 random(7);
  for (const Quantization how : {Quantization{8, 0, false}, Quantization{8, 32, false}, Quantization{4, 64, false},
                                 Quantization{4, 32, true}, Quantization{4, 128, true}})
    for (const int64_t period : {0, 20}) {
      SCOPED_TRACE(std::to_string(how.bits) + " bits, group " + std::to_string(how.group));
      const int64_t rows = 20 * int64_t(1 + random() % 12), columns = int64_t(1 + random() % 99);
      const MemoryReader reader = readerOf(random, rows, columns);
      Matrix panels(reader, how, /*isByRows=*/false, period), byRows(reader, how, /*isByRows=*/true, period);
      ASSERT_TRUE(panels.write(reader, panels.bytes.size()));
      ASSERT_TRUE(byRows.write(reader, 64 * (1 + random() % 20)));
      for (int64_t n = 0; n < columns; ++n)
        for (int64_t i = 0; i < rows; ++i) {
          const int64_t k = period ? i / period * 32 + i % period : i;
          ASSERT_EQ(panels.at(k, n), byRows.at(k, n)) << "at " << k << ", " << n;
        }
      EXPECT_GT(panels.error.relative(), 0);
      EXPECT_NEAR(panels.error.relative(), byRows.error.relative(), 1e-12);
    }
}

/// Panels are made some at a time, of sources by rows and by columns, each from another number of them on.
TEST(QuantizedWriter, PanelsDoNotDependOnWindowsAndSources) {
  std::mt19937 random(7);
  const int64_t rows = 701, columns = 197;
  MemoryReader byRows = readerOf(random, rows, columns), byColumns;
  std::vector<std::byte> transposed(size_t(rows * columns * 4));
  transpose(byRows.bytesOf("w").data(), size_t(columns) * 4, transposed.data(), size_t(rows) * 4, size_t(rows),
            size_t(columns), 4);
  byColumns.add("w", {DType::F32, {columns, rows}}, std::move(transposed));
  for (const Quantization how : {Quantization{8, 0, false}, Quantization{4, 32, true}}) {
    SCOPED_TRACE(std::to_string(how.bits) + " bits");
    Matrix whole(byRows, how, /*isByRows=*/false, 0), cut(byRows, how, false, 0);
    cut.parameter.sources = {{"w", {columns, rows}, {Transpose{{1, 0}}}}};
    ASSERT_TRUE(whole.write(byRows, whole.bytes.size()));
    ASSERT_TRUE(cut.write(byColumns, 64 * 641));
    EXPECT_TRUE(whole.bytes == cut.bytes);
    EXPECT_NEAR(whole.error.relative(), cut.error.relative(), 1e-12);
    ASSERT_TRUE(cut.write(byColumns, cut.bytes.size()));
    EXPECT_TRUE(whole.bytes == cut.bytes);
  }
}

TEST(QuantizedWriter, RowsNameTheTensorThatIsNotFinite) {
  std::mt19937 random(7);
  MemoryReader reader = readerOf(random, 40, 50);
  const float infinite = INFINITY;
  std::memcpy(reader.bytesOf("w").data() + 4 * (39 * 50 + 49), &infinite, sizeof infinite);
  Matrix matrix(reader, {8, 32, false}, /*isByRows=*/true, 0);
  Status status = matrix.write(reader, matrix.bytes.size());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "parameter 'w': tensor 'w' holds NaN or infinity, which cannot be quantized");
}

TEST(QuantizedWriter, RowsAreOfAMatrixWithoutInterleave) {
  std::mt19937 random(7);
  const MemoryReader reader = readerOf(random, 40, 50);
  Matrix matrix(reader, {8, 32, false}, /*isByRows=*/true, 0);
  matrix.parameter.layout.k = 4;
  Status status = matrix.write(reader, matrix.bytes.size());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "parameter 'w': no layout of 8 bits in groups of 32");
}
