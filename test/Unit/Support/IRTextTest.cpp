//===- IRTextTest.cpp - Bounds on MLIR text before it is parsed -----------------===//
#include "lib/Support/IRText.h"
#include "gtest/gtest.h"

using namespace rapt;

namespace {
std::string complaint(const std::string &text) {
  Status status = checkIRText(text);
  return status ? "" : status.error().message;
}

std::string nested(unsigned depth) { return std::string(depth, '[') + std::string(depth, ']'); }
} // namespace

TEST(IRText, CountsBracketsOutsideStringsCommentsArrowsAndComparisons) {
  EXPECT_EQ(complaint(nested(256)), "");
  EXPECT_EQ(complaint(nested(257)), "brackets nest 257 deep, at most 256 are accepted");
  const std::string many(300, '(');
  EXPECT_EQ(complaint("\"" + many + "\" // " + many + "\n\"\\\"" + many + "\""), "");
  std::string arrows, comparisons;
  for (int i = 0; i < 300; ++i) {
    arrows += "( -> ";
    comparisons += "( d0 >= 0, d0 <= 5 ";
  }
  EXPECT_EQ(complaint(arrows), "brackets nest 300 deep, at most 256 are accepted");
  EXPECT_EQ(complaint(comparisons), "brackets nest 300 deep, at most 256 are accepted");
}

TEST(IRText, BoundsNumbersOfResults) {
  EXPECT_EQ(complaint("return %x#4095 : i32"), "");
  EXPECT_EQ(complaint("return %x #0000000004095 : i32"), "");
  EXPECT_EQ(complaint("return %x#4096 : i32"), "names result 4096 of an operation; at most 4095 is accepted");
  EXPECT_EQ(complaint("return %x#2147483648 : i32"),
            "names result 2147483648 of an operation; at most 4095 is accepted");
  EXPECT_EQ(complaint("return %x // \n #18446744073709551617 : i32"),
            "names result 18446744073709551617 of an operation; at most 4095 is accepted");
  EXPECT_EQ(complaint("\"%x#2147483648\""), "");
  // Each use alone is accepted, but the parser would allocate 4095 values for each of them.
  std::string many, uses;
  for (int i = 0; i < 10000; ++i)
    many += "%" + std::to_string(i) + "#4095 ";
  EXPECT_NE(complaint(many).find("of all uses together are accepted"), std::string::npos);
  // All results of the largest operation.
  for (int i = 0; i <= 4095; ++i)
    uses += "%x#" + std::to_string(i) + ", ";
  EXPECT_EQ(complaint(uses), "");
}

TEST(IRText, BoundsAliasesByWhatTheyStandFor) {
  auto doubling = [](const std::string &sigil, const std::string &open, const std::string &comma,
                     const std::string &close, int levels) {
    std::string text = sigil + "a0 = " + open + close + "\n";
    for (int i = 1; i <= levels; ++i) {
      std::string before = sigil + "a" + std::to_string(i - 1);
      text += sigil + "a" + std::to_string(i) + " = " + open + before + comma + before + close + "\n";
    }
    return text + "module {}\n";
  };
  EXPECT_EQ(complaint(doubling("#", "[", ",", "]", 16)), "");
  EXPECT_NE(complaint(doubling("#", "[", ",", "]", 40)).find("with its aliases written out the text has"),
            std::string::npos);
  EXPECT_NE(complaint(doubling("!", "tuple<", ", ", ">", 40)).find("aliases"), std::string::npos);
  EXPECT_NE(complaint(doubling("!", "(", "\n) ->\n (", ")", 200)).find("aliases"), std::string::npos);
  // A chain nests as deep as it is long.
  std::string chain = "#a0 = []\n";
  for (int i = 1; i < 300; ++i)
    chain += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + "]";
  EXPECT_EQ(complaint(chain), "brackets nest 300 deep, at most 256 are accepted");
}

TEST(IRText, WhatFollowsADefinitionIsNoPartOfIt) {
  std::string body, uses;
  for (int i = 0; i < 10000; ++i) {
    body += "  %" + std::to_string(i) + " = \"op\"() {a = 1} : () -> tensor<4xf32>\n";
    uses += "  \"op\"() {a = #map, t = !t} : () -> !t\n";
  }
  for (const char *last : {"#map = affine_map<(d0) -> (d0)>\n!t = tensor<4xf32>\n",
                           "!t = () ->\n tensor<4xf32>\n#map = 5 :\n i32\n", "!t = i32 #map = unit\n"})
    EXPECT_EQ(complaint(last + ("func.func @f() {\n" + body) + "}\n" + "func.func @g() {\n" + uses + "}\n"), "");
}

TEST(IRText, BoundsExpressionsAndShapes) {
  auto times = [](int n, const std::string &part) {
    std::string text;
    while (n-- > 0)
      text += part;
    return text;
  };
  EXPECT_EQ(complaint("affine_map<(d0) -> (" + times(256, "d0 + ") + "d0)>"), "");
  const std::string tooLong = "an expression has more than 256 operators";
  EXPECT_EQ(complaint("affine_map<(d0) -> (" + times(257, "d0 + ") + "d0)>"), tooLong);
  EXPECT_EQ(complaint("affine_map<(d0) -> (" + times(257, "-") + "d0)>"), tooLong);
  EXPECT_EQ(complaint("affine_map<(d0) -> (d0" + times(129, " mod 3 floordiv 2") + ")>"), tooLong);
  EXPECT_EQ(complaint("affine.apply [" + times(257, "%i * ") + "2]"), tooLong);
  // Signs of numbers and arrows are no operators of one expression.
  EXPECT_EQ(complaint(times(300, "%c = arith.constant -1 : i32\n")), "");
  EXPECT_EQ(complaint(times(300, "-1, ")), "");
  EXPECT_EQ(complaint(times(300, "() -> ")), "");
  EXPECT_EQ(complaint("tensor<" + times(256, "1x") + "f32>"), "");
  EXPECT_EQ(complaint("tensor<" + times(257, "1x") + "f32>"), "a shape has 257 dims, at most 256 are accepted");
  EXPECT_EQ(complaint("tensor<?" + times(258, "x1") + "xf32>"), "a shape has 258 dims, at most 256 are accepted");
}
