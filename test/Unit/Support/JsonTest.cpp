#include "lib/Support/Json.h"
#include <gtest/gtest.h>

using namespace rapt;

static std::string errorOf(std::string_view text, json::Limits limits = {}) {
  auto value = json::parse(text, limits);
  return value ? "" : value.error().message;
}
static bool has(const std::string &text, std::string_view part) { return text.find(part) != text.npos; }

TEST(Json, RoundTripsExactly) {
  std::string text = R"({"a":1,"b":[1.0,2.5,-3,18446744073709551615,9223372036854775807],"c":"xA\n","d":null,"e":{}})";
  auto value = json::parse(text);
  ASSERT_TRUE(bool(value)) << value.error().message;
  EXPECT_EQ(json::write(*value), text);
  EXPECT_EQ(value->find("b")->asArray()->at(0).asInteger(), 1);
  EXPECT_EQ(value->find("b")->asArray()->at(1).asInteger(), std::nullopt);
  EXPECT_EQ(value->find("b")->asArray()->at(3).asInteger(), std::nullopt);
  EXPECT_EQ(value->find("b")->asArray()->at(3).asUnsigned(), UINT64_MAX);
  EXPECT_EQ(value->find("z"), nullptr);
}

TEST(Json, RefusesWhatIsNotJson) {
  EXPECT_TRUE(has(errorOf(R"({"a":{"k":1,"k":2}})"), "\"k\" occurs twice"));
  EXPECT_TRUE(has(errorOf(R"({"x": NaN})"), "NaN and Infinity are not JSON"));
  EXPECT_TRUE(has(errorOf(R"([-Infinity])"), "NaN and Infinity are not JSON"));
  EXPECT_TRUE(has(errorOf("{} x"), "byte 3"));
  EXPECT_TRUE(has(errorOf(std::string_view("{}\0", 3)), "line 1, column 3 (byte 2): a NUL byte"));
  EXPECT_TRUE(has(errorOf("{\n \"\u00e4\": 1,,\n}"), "line 2, column 9"));
  EXPECT_TRUE(has(errorOf("\"\xff\""), "ill-formed UTF-8"));
  EXPECT_TRUE(has(errorOf("1e999"), "1e999"));
  EXPECT_TRUE(has(errorOf("[1]", {.depth = 4, .bytes = 2}), "3 bytes, more than the 2 allowed"));
  EXPECT_NE(errorOf(""), "");
}

TEST(Json, BoundsNesting) {
  EXPECT_EQ(errorOf("[[[[]]]]", {.depth = 4}), "");
  EXPECT_TRUE(has(errorOf("[[[[[]]]]]", {.depth = 4}), "more than 4 levels"));
  EXPECT_TRUE(has(errorOf(std::string(1000000, '[')), "more than 64 levels"));
}

TEST(Json, AcceptsByteOrderMarkAndHugeNumbers) {
  auto value = json::parse("\xEF\xBB\xBF{\"model_max_length\": 1000000000000000019884624838656}");
  ASSERT_TRUE(bool(value));
  EXPECT_EQ(value->find("model_max_length")->asNumber(), 1e30);
}

TEST(Json, PrintableHidesControlCharacters) {
  EXPECT_EQ(json::printable("a\x1b[31m\n\xff\xc3\xa9"), "a\\x1b[31m\\x0a\\xff\xc3\xa9");
  EXPECT_EQ(json::printable("\xc2\x9b"), "\\xc2\\x9b");
  std::string shown = json::printable(std::string(1 << 20, 'n'));
  EXPECT_LT(shown.size(), 300u);
  EXPECT_TRUE(has(shown, "(1048576 bytes)"));
}

TEST(Json, TextsThatItCanHold) {
  for (const char *text : {"", "a\n\x7f", "\xc3\xa9", "\xe2\x96\x81", "\xf0\x9f\xa6\x99", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(json::isUtf8(text)) << text;
  // A byte of a character alone, its front alone, longer than need be, half a pair, above U+10FFFF.
  for (const char *text : {"\xa9", "a\xc3", "\xe2\x96", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    EXPECT_FALSE(json::isUtf8(text)) << json::printable(text);
}
