//===- SegmentsTest.cpp - Cutting a stack of layers into loops ----------------===//
#include "lib/Import/Module/LayerStack.h"
#include <gtest/gtest.h>

using rapt::importing::findSegments;
using rapt::importing::Segment;

namespace {

using Segments = std::vector<Segment>;

/// Segments of layers written as letters, one for each kind.
Segments segmentsOf(const std::string &layers) {
  std::vector<unsigned> kinds(layers.begin(), layers.end());
  llvm::SmallVector<Segment> found = findSegments(kinds);
  return {found.begin(), found.end()};
}

std::string repeated(const std::string &text, int count) {
  std::string result;
  while (count-- > 0)
    result += text;
  return result;
}

/// Every layer is in one segment, in order, and has the kind of its index in the period.
void expectCovered(const std::string &layers) {
  int64_t next = 0;
  for (const Segment &segment : segmentsOf(layers)) {
    ASSERT_EQ(segment.first, next) << layers;
    ASSERT_GE(segment.period, 1);
    ASSERT_GE(segment.count, 1);
    next += segment.period * segment.count;
    ASSERT_LE(next, int64_t(layers.size())) << layers;
    for (int64_t layer = segment.first; layer < next; ++layer)
      EXPECT_EQ(layers[layer], layers[segment.first + (layer - segment.first) % segment.period]) << layers;
  }
  EXPECT_EQ(next, int64_t(layers.size())) << layers;
}

TEST(Segments, NoLayers) { EXPECT_EQ(segmentsOf(""), Segments()); }

TEST(Segments, OneLayer) { EXPECT_EQ(segmentsOf("a"), (Segments{{0, 1, 1}})); }

TEST(Segments, EqualLayersAreOneLoop) { EXPECT_EQ(segmentsOf(repeated("a", 48)), (Segments{{0, 1, 48}})); }

TEST(Segments, ManyLayers) { EXPECT_EQ(segmentsOf(repeated("a", 100000)), (Segments{{0, 1, 100000}})); }

TEST(Segments, AlternatingKinds) { EXPECT_EQ(segmentsOf(repeated("ab", 13)), (Segments{{0, 2, 13}})); }

TEST(Segments, PeriodAndRest) {
  EXPECT_EQ(segmentsOf(repeated("lllllg", 4) + "ll"), (Segments{{0, 6, 4}, {24, 1, 2}}));
}

TEST(Segments, DenseLayersFirst) { EXPECT_EQ(segmentsOf("d" + repeated("m", 26)), (Segments{{0, 1, 1}, {1, 1, 26}})); }

TEST(Segments, NothingRepeats) { EXPECT_EQ(segmentsOf("abc"), (Segments{{0, 1, 1}, {1, 1, 1}, {2, 1, 1}})); }

TEST(Segments, PeriodsAreBounded) {
  std::string period;
  for (char letter = 0; letter < 65; ++letter)
    period += letter;
  EXPECT_EQ(segmentsOf(repeated(period.substr(0, 64), 2)), (Segments{{0, 64, 2}}));
  EXPECT_EQ(segmentsOf(repeated(period, 2)).size(), 130u);
}

TEST(Segments, CoverEveryStackOnce) {
  for (unsigned bits = 0; bits < 1u << 11; ++bits) {
    std::string layers;
    for (unsigned layer = 0; layer < 11; ++layer)
      layers += bits >> layer & 1 ? 'b' : 'a';
    expectCovered(layers);
  }
}

} // namespace
