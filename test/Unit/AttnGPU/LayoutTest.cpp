//===- LayoutTest.cpp - Layouts of fragments against the tables of the PTX ISA ----------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "gtest/gtest.h"
#include <map>

using namespace mlir;
using namespace rapt::attn_gpu;

namespace {

class LayoutTest : public testing::Test {
protected:
  LayoutTest() { context.loadDialect<AttnGPUDialect>(); }

  FragmentLayoutInterface mma(MatmulOperand operand) { return MmaLayoutAttr::get(&context, operand); }
  FragmentLayoutInterface wgmma(MatmulOperand operand) { return WgmmaLayoutAttr::get(&context, operand); }
  FragmentType fragment(int64_t rows, int64_t columns, FragmentLayoutInterface layout) {
    const Type element = layout.isPacked() ? Type(BFloat16Type::get(&context)) : Type(Float32Type::get(&context));
    return FragmentType::get(&context, rows, columns, element, layout);
  }

  MLIRContext context;
};

/// Each element of a fragment is held exactly once.
void expectCovered(FragmentType type) {
  std::map<std::pair<int64_t, int64_t>, int> times;
  for (int64_t thread = 0; thread < type.getLayout().getAtom().threads; ++thread)
    for (int64_t index = 0; index < type.getElements(); ++index) {
      const Coordinates at = type.getElement(thread, index);
      ASSERT_TRUE(at.row >= 0 && at.row < type.getRows() && at.column >= 0 && at.column < type.getColumns());
      ++times[{at.row, at.column}];
    }
  EXPECT_EQ(int64_t(times.size()), type.getRows() * type.getColumns());
  for (const auto &[at, count] : times)
    EXPECT_EQ(count, 1) << at.first << ", " << at.second;
}

TEST_F(LayoutTest, everyElementIsHeldOnce) {
  for (MatmulOperand operand : {MatmulOperand::a, MatmulOperand::b, MatmulOperand::acc})
    for (int64_t rows : {16, 32, 64})
      for (int64_t columns : {16, 64, 128})
        expectCovered(fragment(rows, columns, mma(operand)));
  for (MatmulOperand operand : {MatmulOperand::a, MatmulOperand::acc})
    for (int64_t rows : {64, 128})
      for (int64_t columns : {16, 64, 176})
        expectCovered(fragment(rows, columns, wgmma(operand)));
}

// Section "Matrix Fragments for mma.m16n8k16 with floating point type" of the PTX ISA, formula by formula.
TEST_F(LayoutTest, warpsHoldWhatMmaReads) {
  const FragmentType a = fragment(16, 16, mma(MatmulOperand::a)), b = fragment(16, 8, mma(MatmulOperand::b)),
                     acc = fragment(16, 8, mma(MatmulOperand::acc));
  for (int64_t lane = 0; lane < 32; ++lane) {
    const int64_t group = lane >> 2, inGroup = lane % 4;
    for (int64_t i = 0; i < 8; ++i) {
      const bool isUpper = (i >= 0 && i < 2) || (i >= 4 && i < 6);
      const Coordinates wanted{isUpper ? group : group + 8, inGroup * 2 + (i & 1) + (i < 4 ? 0 : 8)};
      EXPECT_EQ(a.getElement(lane, i), wanted);
    }
    for (int64_t i = 0; i < 4; ++i) {
      const Coordinates ofB{inGroup * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
      EXPECT_EQ(b.getElement(lane, i), ofB);
      const Coordinates ofAcc{i < 2 ? group : group + 8, inGroup * 2 + (i & 1)};
      EXPECT_EQ(acc.getElement(lane, i), ofAcc);
    }
  }
}

// "Register fragments of wgmma.mma_async.m64nNk16": register i of D is in columns 8 (i / 4).
TEST_F(LayoutTest, warpgroupsHoldWhatWgmmaReads) {
  const FragmentType a = fragment(64, 32, wgmma(MatmulOperand::a)), acc = fragment(64, 24, wgmma(MatmulOperand::acc));
  for (int64_t thread = 0; thread < 128; ++thread) {
    const int64_t row = thread / 32 * 16 + thread % 32 / 4, pair = thread % 4 * 2;
    for (int64_t i = 0; i < 12; ++i) {
      const Coordinates wanted{row + 8 * (i / 2 % 2), 8 * (i / 4) + pair + i % 2};
      EXPECT_EQ(acc.getElement(thread, i), wanted);
    }
    for (int64_t i = 0; i < 16; ++i) {
      const Coordinates wanted{row + 8 * (i / 2 % 2), 16 * (i / 8) + 8 * (i / 4 % 2) + pair + i % 2};
      EXPECT_EQ(a.getElement(thread, i), wanted);
    }
  }
}

TEST_F(LayoutTest, accumulatorsAreTheNextMatmulsFirstOperand) {
  const bool isWarpgroup[] = {false, true};
  for (bool group : isWarpgroup) {
    auto layout = [&](MatmulOperand operand) { return group ? wgmma(operand) : mma(operand); };
    const FragmentType from = fragment(64, 128, layout(MatmulOperand::acc)),
                       to = fragment(64, 128, layout(MatmulOperand::a));
    const auto indices = relabel(from, to);
    ASSERT_TRUE(indices);
    for (int64_t thread = 0; thread < from.getLayout().getAtom().threads; ++thread)
      for (int64_t index = 0; index < to.getElements(); ++index)
        EXPECT_EQ(to.getElement(thread, index), from.getElement(thread, (*indices)[index]));
  }
}

TEST_F(LayoutTest, fragmentsOfOtherThreadsAreNotRelabeled) {
  const FragmentType acc = fragment(64, 64, mma(MatmulOperand::acc));
  EXPECT_FALSE(relabel(acc, fragment(64, 64, mma(MatmulOperand::b))));
  EXPECT_FALSE(relabel(acc, fragment(64, 64, wgmma(MatmulOperand::a))));
  EXPECT_FALSE(relabel(acc, fragment(64, 128, mma(MatmulOperand::a))));
}

TEST_F(LayoutTest, rowVectorsHaveTheRowsOfTheElements) {
  for (FragmentLayoutInterface layout : {mma(MatmulOperand::acc), wgmma(MatmulOperand::acc)}) {
    const FragmentType type = fragment(128, 16, layout);
    const SmallVector<int64_t> distances = RowVectorType::get(&context, 128, layout).getDistances();
    std::map<int64_t, int> lanesOfRow;
    for (int64_t thread = 0; thread < layout.getAtom().threads; ++thread) {
      const int64_t first = type.getElement(thread, 0).row;
      for (int64_t distance : distances)
        ++lanesOfRow[first + distance];
      for (int64_t index = 0; index < type.getElements(); ++index)
        EXPECT_TRUE(llvm::is_contained(distances, type.getElement(thread, index).row - first));
    }
    EXPECT_EQ(lanesOfRow.size(), 128u);
    for (const auto &[row, lanes] : lanesOfRow)
      EXPECT_EQ(lanes, 4) << row;
  }
}

} // namespace
