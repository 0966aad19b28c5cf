//===- SwizzleTest.cpp - Offsets of tiles in shared memory against brute force ----------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "gtest/gtest.h"
#include <set>

using namespace mlir;
using namespace rapt::attn_gpu;

namespace {

class SwizzleTest : public testing::Test {
protected:
  SwizzleTest() { context.loadDialect<AttnGPUDialect>(); }
  TileType tile(int64_t rows, int64_t columns, int64_t span) {
    return TileType::get(&context, rows, columns, BFloat16Type::get(&context), span);
  }

  MLIRContext context;
};

TEST_F(SwizzleTest, everyElementHasBytesOfItsOwn) {
  for (int64_t span : {32, 64, 128}) {
    const TileType type = tile(24, 128, span);
    std::set<int64_t> offsets;
    for (int64_t row = 0; row < 24; ++row)
      for (int64_t column = 0; column < 128; ++column) {
        const int64_t offset = type.getOffset(row, column);
        EXPECT_TRUE(offset >= 0 && offset < type.getBytes() && offset % 2 == 0);
        offsets.insert(offset);
      }
    EXPECT_EQ(offsets.size(), 24u * 128u) << span;
  }
}

// CUDA driver API, CU_TENSOR_MAP_SWIZZLE_*: chunks of 16 bytes in a pattern of 8, 4 and 2 lines of 128 bytes.
TEST_F(SwizzleTest, chunksAreWhereTmaWritesThem) {
  for (int64_t span : {32, 64, 128}) {
    const TileType type = tile(64, span / 2, span); // one box
    for (int64_t row = 0; row < 64; ++row)
      for (int64_t chunk = 0; chunk < span / 16; ++chunk) {
        const int64_t line = row * span / 128, pattern = line % (span / 16);
        EXPECT_EQ(type.getOffset(row, chunk * 8), row * span + (chunk ^ pattern) * 16) << span;
      }
  }
}

// A phase of ldmatrix reads 16 bytes of each of 8 consecutive rows; it takes one access where the 32 banks differ.
TEST_F(SwizzleTest, phasesOfLdmatrixHaveNoBankConflicts) {
  const TileType type = tile(64, 128, 128);
  for (int64_t row = 0; row < 64; row += 8)
    for (int64_t column = 0; column < 128; column += 8) {
      std::set<int64_t> banks;
      for (int64_t i = 0; i < 8; ++i)
        for (int64_t word = 0; word < 4; ++word)
          banks.insert((type.getOffset(row + i, column) / 4 + word) % 32);
      EXPECT_EQ(banks.size(), 32u) << row << ", " << column;
    }
}

TEST_F(SwizzleTest, partsHaveTheOffsetsOfTheirTile) {
  const TileType whole = tile(192, 128, 128);
  const auto part = TileType::get(&context, 64, 64, BFloat16Type::get(&context), whole.getSwizzle(), 192);
  for (int64_t row = 0; row < 64; ++row)
    for (int64_t column = 0; column < 64; ++column)
      EXPECT_EQ(whole.getOffset(128, 64) + part.getOffset(row, column), whole.getOffset(128 + row, 64 + column));
}

} // namespace
