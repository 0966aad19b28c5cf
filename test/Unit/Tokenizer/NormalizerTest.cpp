//===- NormalizerTest.cpp - Rewriting text before it is cut ------------------===//
#include "lib/Tokenizer/Normalizer.h"
#include "test/Unit/Tokenizer/Samples.h"
#include <random>

using namespace rapt;
using namespace rapt::test;

static std::string normal(const std::string &json, std::string_view text) {
  auto value = json::parse(json);
  auto list = readNormalizers(*value, "normalizer");
  EXPECT_TRUE(list) << (list ? "" : list.error().message);
  auto result = list ? normalize(*list, text) : Expected<std::string>(Error{"unread"});
  return result ? *result : result.error().message;
}

TEST(Normalizer, KnowsTheKinds) {
  EXPECT_EQ(normal("null", "Àe\u0301"), "Àe\u0301");
  EXPECT_EQ(normal(R"({"type": "NFC"})", "e\u0301"), "é");
  EXPECT_EQ(
      normal(
          R"({"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]})",
          "ÀÉ"),
      "ae");
  EXPECT_EQ(normal(R"({"type": "Strip", "strip_left": true, "strip_right": false})", "\u3000 a "), "a ");
  EXPECT_EQ(normal(R"({"type": "Strip"})", " \t\n "), "");
  EXPECT_EQ(normal(R"({"type": "Prepend", "prepend": "▁"})", "a"), "▁a");
  EXPECT_EQ(normal(R"({"type": "Prepend", "prepend": "▁"})", ""), "");
  EXPECT_EQ(normal(R"({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "_"})", "a  b   c d"), "a_b_c d");
  EXPECT_EQ(normal(R"({"type": "Replace", "pattern": {"String": "``"}, "content": "\""})", "``a``"), "\"a\"");
  EXPECT_EQ(normal(R"({"type": "ByteLevel"})", "é "), "Ã©Ġ");
  EXPECT_EQ(normal(R"({"type": "Nmt"})", "a\x01\x7F\u008F\tb\u200B\uFEFFc\u2581\uFFFD\u200A"), "a b  c  \u200A");
}

TEST(Normalizer, CleansTextAsBertDoes) {
  using namespace std::string_view_literals;
  auto bert = [](const std::string &members, std::string_view text) {
    return normal(R"({"type": "BertNormalizer")" + members + "}", text);
  };
  // Controls go, of which U+0085 is one; tabs and all white space become blanks.
  EXPECT_EQ(bert("", "a\0\x01\u0085\uFFFD\u200D\uE000b\t\r\n\u3000c"sv), "ab    c");
  EXPECT_EQ(bert("", "ab中\U0002B820\U0002B920é"), "ab 中 \U0002B820 \U0002B920 e");
  EXPECT_EQ(bert("", "ÀÉ Σ\u0130ſ"), "ae σiſ");
  EXPECT_EQ(bert(R"(, "strip_accents": false)", "ÀÉ"), "àé");
  EXPECT_EQ(bert(R"(, "lowercase": false)", "ÀÉ"), "ÀÉ");
  EXPECT_EQ(bert(R"(, "lowercase": false, "strip_accents": true)", "ÀÉ"), "AE");
  EXPECT_EQ(bert(R"(, "strip_accents": null)", "ÀÉ"), "ae");
  EXPECT_EQ(bert(R"(, "handle_chinese_chars": false)", "a中"), "a中");
  EXPECT_EQ(bert(R"(, "clean_text": false)", "a\tb\u200D"), "a\tb\u200D");
  // Marks of later versions of Unicode than 8.0 stay (U+0AFA is of 10.0).
  EXPECT_EQ(bert("", "e\u0301\u0AFA"), "e\u0AFA");
}

/// The table of one of the project's vectors: U+FB01 -> "fi", U+3000 -> " ", "a" + U+030A -> U+E5, a tab -> nothing.
static std::string smallMap() {
  const OwnVector own = loadOwn("unigram");
  const json::Value &normalizers = *own.root.find("tokenizer")->find("normalizer")->find("normalizers");
  return *normalizers.asArray()->front().find("precompiled_charsmap")->asString();
}

TEST(Normalizer, AppliesPrecompiledMaps) {
  const std::string map = R"({"type": "Precompiled", "precompiled_charsmap": ")" + smallMap() + "\"}";
  EXPECT_EQ(normal(map, "oﬁx\u3000y"), "ofix y");
  EXPECT_EQ(normal(map, "a\u030A"), "å");
  EXPECT_EQ(normal(map, "a"), "a");
  EXPECT_EQ(normal(map, "\tb"), "b");
  // A cluster of at most five bytes is replaced by what its beginning stands for; a longer one is not.
  EXPECT_EQ(normal(map, "ﬁ\u0301"), "fi");
  EXPECT_EQ(normal(map, "ﬁ\u0301\u0301"), "fi\u0301\u0301");
  EXPECT_EQ(normal(map, "a\u030A\u0301"), "å");
  EXPECT_EQ(normal(map, ""), "");
  // SentencePiece goes from left to right.
  const std::string longest =
      R"({"type": "Precompiled", "longest_match": true, "precompiled_charsmap": ")" + smallMap() + "\"}";
  EXPECT_EQ(normal(longest, "oﬁ\u0301x\u3000\ty"), "ofi\u0301x y");
  EXPECT_EQ(normal(longest, "aa\u030A\u0301"), "aå\u0301");
  EXPECT_EQ(normal(longest, ""), "");
}

TEST(Normalizer, RefusesDamagedMaps) {
  auto error = [](const std::string &map) {
    auto list =
        readNormalizers(*json::parse(R"({"type": "Precompiled", "precompiled_charsmap": ")" + map + "\"}"), "n");
    return list ? std::string() : list.error().message;
  };
  EXPECT_EQ(error(smallMap()), "");
  EXPECT_EQ(error("a*bc"), "n.precompiled_charsmap: is not base64");
  EXPECT_EQ(error("abc"), "n.precompiled_charsmap: is not base64");
  EXPECT_EQ(error(""), "n.precompiled_charsmap: says that its index has 0 bytes, and has 0 in all");
  EXPECT_EQ(error("/////w=="), "n.precompiled_charsmap: says that its index has 4294967295 bytes, and has 4 in all");
  EXPECT_EQ(error("BAAAAAAAAAD/"), "n.precompiled_charsmap: the replacements are not valid UTF-8 at byte 0");
  // Whatever the units say, nothing outside of the table is read.
  const std::string original = smallMap();
  std::mt19937 random(23);
  for (int round = 0; round < 300; ++round) {
    std::string mutated = original;
    for (int edits = 0; edits < 6; ++edits)
      mutated[8 + random() % 600] = "ABCDEFGHIJKLMNOPabcdefgh0123456789+/"[random() % 36];
    const std::string flag = round % 2 ? R"("longest_match": true, )" : "";
    auto list = readNormalizers(
        *json::parse(R"({"type": "Precompiled", )" + flag + R"("precompiled_charsmap": ")" + mutated + "\"}"), "n");
    if (!list)
      continue;
    if (auto text = normalize(*list, "oﬁx\u3000y a\u030A \t é"); !text)
      EXPECT_NE(text.error().message.find("leads outside of it"), std::string::npos) << text.error().message;
  }
}

/// The front of what `json` makes of a text, whose first `front` bytes stand for its first character.
static std::string frontOf(const std::string &json, std::string_view text, size_t front = 1) {
  auto list = readNormalizers(*json::parse(json), "normalizer");
  EXPECT_TRUE(list) << (list ? "" : list.error().message);
  auto result = normalize(*list, text, front);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result->substr(0, front);
}

TEST(Normalizer, TellsWhereTheTextBegins) {
  EXPECT_EQ(frontOf(R"({"type": "NFD"})", "éa", 2), "e\u0301");
  EXPECT_EQ(frontOf(R"({"type": "StripAccents"})", "\u0301a", 2), "");
  EXPECT_EQ(frontOf(R"({"type": "BertNormalizer"})", "中a", 3), " 中 ");
  EXPECT_EQ(frontOf(R"({"type": "Strip"})", "a "), "a");
  EXPECT_EQ(frontOf(R"({"type": "Strip"})", " a"), "");
  EXPECT_EQ(frontOf(R"({"type": "Strip"})", " "), "");
  EXPECT_EQ(frontOf(R"({"type": "Strip", "strip_left": false})", " a"), " ");
  EXPECT_EQ(frontOf(R"({"type": "Prepend", "prepend": "▁"})", "ab"), "▁a");
  EXPECT_EQ(frontOf(R"({"type": "Prepend", "prepend": "▁"})", "ab", 0), "");
  auto replace = [](const std::string &pattern) {
    return R"({"type": "Replace", "pattern": {)" + pattern + R"(}, "content": "xyz"})";
  };
  EXPECT_EQ(frontOf(replace(R"("String": "a")"), "aba"), "xyz");
  EXPECT_EQ(frontOf(replace(R"("String": "b")"), "aba"), "a");
  EXPECT_EQ(frontOf(replace(R"("String": "ab")"), "aba"), ""); // the content stands for the b
  EXPECT_EQ(frontOf(replace(R"("String": "ab")"), "aba", 2), "xyz");
  EXPECT_EQ(frontOf(replace(R"("Regex": "^")"), "ab"), "xyza");
  EXPECT_EQ(frontOf(replace(R"("Regex": "^")"), "ab", 0), "xyz");
  const std::string map = R"({"type": "Precompiled", "precompiled_charsmap": ")" + smallMap() + "\"}";
  EXPECT_EQ(frontOf(map, "ﬁb", 3), "fi");
  EXPECT_EQ(frontOf(map, "\t\tab"), "a"); // the first character that is not dropped
  EXPECT_EQ(frontOf(map, "\t\t"), "");
  EXPECT_EQ(frontOf(map, "ab", 0), "");
}

// Each stage multiplies: nothing may make a short text fill the memory.
TEST(Normalizer, BoundsWhatRewritingMakes) {
  auto sequence = [](int stages) {
    std::string list;
    for (int stage = 0; stage < stages; ++stage)
      list += std::string(stage ? ", " : "") +
              R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aaaaaaaaaaaaaaaa"})";
    return R"({"type": "Sequence", "normalizers": [)" + list + "]}";
  };
  EXPECT_EQ(normal(sequence(2), "a"), std::string(256, 'a'));
  EXPECT_NE(normal(sequence(32), "a").find("makes more than"), std::string::npos);
  auto many = readNormalizers(*json::parse(sequence(33)), "normalizer");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message, "normalizer.normalizers[32]: is normalizer number 33; the limit is 32");
}
