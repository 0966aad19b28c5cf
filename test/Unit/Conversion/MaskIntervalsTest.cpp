//===- MaskIntervalsTest.cpp - Blocks that intervals of a mask tell, against each element --===//
#include "lib/Conversion/MaskIntervals.h"
#include "dialect/Attn/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;

namespace {

/// Whether a formula keeps of key j for query i of head h, where the element of the extra operand of queries is
/// `of[i]`, and that of keys `of[j]`.
using Formula = bool (*)(int64_t h, int64_t i, int64_t j, ArrayRef<int64_t> of);

constexpr int64_t kPositions = 96, kQueries = 7, kKeys = 8;

class Mask {
public:
  /// A region with the body `text`, whose arguments are %h, %i, %j, and %e0 and %e1, i32 elements of queries and keys.
  explicit Mask(const std::string &text) {
    context.loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>("func.func @mask(%b: index, %h: index, %i: index, %j: index, %e0: i32, "
                                         "%e1: i32) -> i1 {\n" +
                                             text + "return %keep : i1\n}",
                                         &context);
  }

  Region &region() { return (*module->getOps<func::FuncOp>().begin()).getBody(); }

private:
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

Interval rangeOf(ArrayRef<int64_t> numbers) {
  return {*std::min_element(numbers.begin(), numbers.end()), *std::max_element(numbers.begin(), numbers.end())};
}

/// The blocks that the mask drops or keeps whole, and those of which the intervals told that.
struct Counts {
  int dropped = 0, toldDropped = 0, whole = 0, toldWhole = 0;
};

Counts count(const std::string &text, Formula formula, ArrayRef<int64_t> elements) {
  Mask mask(text);
  Counts counts;
  for (int64_t h : {0, 3})
    for (int64_t q = 0; q + kQueries <= kPositions; q += kQueries)
      for (int64_t k = 0; k + kKeys <= kPositions; k += kKeys) {
        int64_t kept = 0;
        for (int64_t i = q; i < q + kQueries; ++i)
          for (int64_t j = k; j < k + kKeys; ++j)
            kept += formula(h, i, j, elements);
        MaskArgument arguments[] = {{Interval{int64_t(0), int64_t(0)}},     {Interval{h, h}},
                                    {Interval{q, q + kQueries - 1}},        {Interval{k, k + kKeys - 1}},
                                    {rangeOf(elements.slice(q, kQueries))}, {rangeOf(elements.slice(k, kKeys))}};
        const Kept told = keptBy(mask.region(), arguments, nullptr);
        EXPECT_TRUE(!isNumber(told.some, 0) || kept == 0) << text << " block " << q << ", " << k;
        EXPECT_TRUE(!isNumber(told.all, 1) || kept == kQueries * kKeys) << text << " block " << q << ", " << k;
        counts.dropped += kept == 0, counts.toldDropped += isNumber(told.some, 0);
        counts.whole += kept == kQueries * kKeys, counts.toldWhole += isNumber(told.all, 1);
      }
  return counts;
}

/// Documents of several lengths, one of a single token.
SmallVector<int64_t> documents() {
  SmallVector<int64_t> ids;
  int64_t id = 5;
  for (int64_t length : {20, 1, 30, 13, 32})
    ids.append(length, id++);
  return ids;
}

const std::string causal = "%causal = arith.cmpi sle, %j, %i : index\n";
const std::string distance = "%d = arith.subi %i, %j : index\n";
std::string number(const std::string &name, int64_t value) {
  return "%" + name + " = arith.constant " + std::to_string(value) + " : index\n";
}

struct Case {
  const char *name;
  std::string text;
  Formula formula;
};

/// Joined comparisons of q and kv with numbers, and of elements: nothing is missed.
TEST(MaskIntervals, AreExactForComparisons_A23) {
  const Case cases[] = {
      {"causal", "%keep = arith.cmpi sge, %i, %j : index\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i; }},
      {"window",
       causal + distance + number("w", 10) +
           "%near = arith.cmpi slt, %d, %w : index\n%keep = arith.andi %causal, %near : i1\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i && i - j < 10; }},
      {"window of both sides",
       distance + number("w", 10) + number("z", -10) +
           "%l = arith.cmpi slt, %d, %w : index\n%r = arith.cmpi sgt, %d, %z : index\n"
           "%keep = arith.andi %l, %r : i1\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return std::abs(i - j) < 10; }},
      {"prefix",
       causal + number("p", 20) + "%early = arith.cmpi slt, %j, %p : index\n%keep = arith.ori %causal, %early : i1\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i || j < 20; }},
      {"window and first keys",
       causal + distance + number("w", 10) + number("g", 3) +
           "%near = arith.cmpi slt, %d, %w : index\n%first = arith.cmpi slt, %j, %g : index\n"
           "%some = arith.ori %near, %first : i1\n%keep = arith.andi %some, %causal : i1\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i && (i - j < 10 || j < 3); }},
      {"not causal", causal + "%true = arith.constant true\n%keep = arith.xori %causal, %true : i1\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j > i; }},
      {"chunks",
       number("c", 16) + "%x = arith.divui %i, %c : index\n%y = arith.divsi %j, %c : index\n"
                         "%keep = arith.cmpi eq, %x, %y : index\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return i / 16 == j / 16; }},
      {"documents", "%keep = arith.cmpi eq, %e0, %e1 : i32\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t> of) { return of[i] == of[j]; }},
      {"lengths",
       "%n = arith.extsi %e0 : i32 to i64\n%m = arith.index_cast %n : i64 to index\n"
       "%keep = arith.cmpi slt, %j, %m : index\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t> of) { return j < of[i]; }},
      {"window of a head",
       causal + distance + number("c", 5) + number("s", 4) +
           "%more = arith.muli %h, %c : index\n%w = arith.addi %more, %s : index\n"
           "%near = arith.cmpi sle, %d, %w : index\n%keep = arith.andi %near, %causal : i1\n",
       [](int64_t h, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i && i - j <= 5 * h + 4; }},
      {"choice",
       causal + number("m", 48) +
           "%late = arith.cmpi sge, %j, %m : index\n%false = arith.constant false\n"
           "%keep = arith.select %late, %false, %causal : i1\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i && j < 48; }},
      {"larger of two",
       number("p", 20) + "%last = arith.maxsi %i, %p : index\n%keep = arith.cmpi sle, %j, %last : index\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= std::max<int64_t>(i, 20); }},
      {"scaled positions",
       number("two", 2) + number("minus", -3) +
           "%x = arith.muli %i, %two : index\n%y = arith.muli %minus, %j : index\n%z = arith.addi %x, %y : index\n"
           "%keep = arith.cmpi sge, %z, %minus : index\n",
       [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return 2 * i - 3 * j >= -3; }},
  };
  const SmallVector<int64_t> ids = documents();
  for (const Case &mask : cases) {
    const Counts counts = count(mask.text, mask.formula, ids);
    EXPECT_GT(counts.dropped + counts.whole, 0) << mask.name;
    EXPECT_EQ(counts.toldDropped, counts.dropped) << mask.name;
    EXPECT_EQ(counts.toldWhole, counts.whole) << mask.name;
  }
}

/// Regions in which a position is used twice: sound, and most blocks are told.
TEST(MaskIntervals, AreSoundForOthers) {
  const SmallVector<int64_t> ids = documents();
  const Counts dilated = count(
      causal + distance + number("four", 4) + number("zero", 0) +
          "%rest = arith.remsi %d, %four : index\n"
          "%each = arith.cmpi eq, %rest, %zero : index\n"
          "%keep = arith.andi %each, %causal : i1\n",
      [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i && (i - j) % 4 == 0; }, ids);
  EXPECT_EQ(dilated.toldDropped, dilated.dropped);
  const Counts begin = count(
      causal + number("c", 16) +
          "%rest = arith.remui %i, %c : index\n%begin = arith.subi %i, %rest : index\n"
          "%late = arith.cmpi sge, %j, %begin : index\n%keep = arith.andi %late, %causal : i1\n",
      [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i && j >= i / 16 * 16; }, ids);
  EXPECT_GT(begin.toldDropped, begin.dropped * 3 / 4);
  // Bits of positions have no intervals; a comparison beside them does.
  const Counts bits = count(
      causal + "%x = arith.xori %i, %j : index\n" + number("one", 1) +
          "%odd = arith.andi %x, %one : index\n%same = arith.cmpi ne, %odd, %one : index\n"
          "%keep = arith.andi %same, %causal : i1\n",
      [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= i && (i ^ j) % 2 == 0; }, ids);
  EXPECT_EQ(bits.toldDropped, bits.dropped);
}

/// Arithmetic that wraps, in 32 or 64 bits, has no intervals.
TEST(MaskIntervals, AreSoundWhereNumbersWrap) {
  const SmallVector<int64_t> ids = documents();
  const Counts narrow = count(
      "%big = arith.constant 2147483640 : i32\n%sum = arith.addi %e1, %big : i32\n"
      "%keep = arith.cmpi sgt, %sum, %e0 : i32\n",
      [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t> of) {
        return int32_t(uint32_t(of[j]) + 2147483640u) > of[i];
      },
      ids);
  EXPECT_EQ(narrow.toldDropped + narrow.toldWhole, 0);
  const Counts wide = count(
      number("big", std::numeric_limits<int64_t>::max() - 40) +
          "%sum = arith.addi %j, %big : index\n%keep = arith.cmpi sgt, %sum, %i : index\n",
      [](int64_t, int64_t i, int64_t j, ArrayRef<int64_t>) { return j <= 40; }, ids);
  EXPECT_EQ(wide.toldDropped + wide.toldWhole, 0);
}

} // namespace
