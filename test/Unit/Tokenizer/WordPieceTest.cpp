//===- WordPieceTest.cpp - BERT's model, its files and its decoder ----------===//
#include "lib/Tokenizer/PieceTrie.h"
#include "test/Unit/Tokenizer/Samples.h"
#include <chrono>

using namespace rapt;
using namespace rapt::test;
using Ids = std::vector<int32_t>;

static std::string wordPiece(const std::string &more = "", const std::string &vocabulary = R"("[UNK]": 0, "un": 1,
    "##aff": 2, "##able": 3, "a": 4, "##a": 5, "aff": 6, "##é": 7, "unaff": 8, "##": 9)") {
  return sampleJson("", R"({"type": "WordPiece", )" + more + R"("vocab": {)" + vocabulary + "}}");
}

static Ids encode(const std::string &json, const std::string &text) {
  auto tokenizer = load(json);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? idsOf(**tokenizer, text) : Ids{-1};
}

TEST(WordPiece, TakesTheLongestPieceFirst) {
  EXPECT_EQ(encode(wordPiece(), "unaffable"), (Ids{8, 3}));
  EXPECT_EQ(encode(wordPiece(), "unaé"), (Ids{1, 5, 7}));
  EXPECT_EQ(encode(wordPiece(), "una"), (Ids{1, 5}));
  // One piece that is missing makes the whole word unknown.
  EXPECT_EQ(encode(wordPiece(), "unx"), (Ids{0}));
  EXPECT_EQ(encode(wordPiece(), "ablea"), (Ids{0}));
}

TEST(WordPiece, ObeysItsOptions) {
  EXPECT_EQ(encode(wordPiece(R"("max_input_chars_per_word": 3, )"), "aaé"), (Ids{4, 5, 7}));
  EXPECT_EQ(encode(wordPiece(R"("max_input_chars_per_word": 3, )"), "aaaé"), (Ids{0}));
  EXPECT_EQ(encode(wordPiece(), std::string(100, 'a')).size(), 100u);
  EXPECT_EQ(encode(wordPiece(), std::string(101, 'a')), (Ids{0}));
  EXPECT_EQ(encode(wordPiece(R"("unk_token": "a", )"), "x"), (Ids{4}));
  EXPECT_EQ(encode(wordPiece(R"("continuing_subword_prefix": "", )", R"("[UNK]": 0, "a": 1, "ab": 2)"), "aabab"),
            (Ids{1, 2, 2}));
  EXPECT_EQ(encode(wordPiece(R"("continuing_subword_prefix": "@", )", R"("[UNK]": 0, "a": 1)"), "aa"), (Ids{0}));
  // Files of old versions name no type.
  EXPECT_EQ(encode(sampleJson("", R"({"unk_token": "[UNK]", "continuing_subword_prefix": "##",
      "max_input_chars_per_word": 100, "vocab": {"[UNK]": 0, "a": 1, "##b": 2}})"),
                   "ab"),
            (Ids{1, 2}));
}

TEST(WordPiece, TellsWhatIsWrong) {
  auto tokenizer = load(wordPiece("", R"("a": 0)"));
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ((*tokenizer)->encode("xy").error().message,
            "the word 'xy' is not in the vocabulary, and neither is unk_token '[UNK]'");
  EXPECT_EQ(loadError(wordPiece(R"("surprise": 1, )")),
            "tokenizer.json: model: the member 'surprise' is not understood");
  EXPECT_EQ(loadError(sampleJson("", R"({"type": "WordPiece"})")), "tokenizer.json: model: has no vocab");
  EXPECT_NE(loadError(wordPiece("", "\"" + std::string(600, 'a') + "\": 0")).find("has 600 bytes; the limit is 512"),
            std::string::npos);
}

// The cost of a word is bounded by the longest piece, however long words may be.
TEST(WordPiece, LongWordsTakeLinearTime) {
  const std::string model = wordPiece(R"("max_input_chars_per_word": 100000000, )",
                                      R"("[UNK]": 0, "a": 1, "##a": 2, "##)" + std::string(500, 'a') + "b\": 3");
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(encode(model, std::string(200'000, 'a')).size(), 200'000u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

static const char *const kLines =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\r\n##able\nnice\n,\ncafe\ncafé\nNice\n中\nnice\n";

static Expected<std::unique_ptr<Tokenizer>> loadLines(std::string_view lines, std::string_view config = "") {
  TokenizerFiles files;
  files.wordPieces = lines;
  files.tokenizerConfig = config;
  return Tokenizer::create(files);
}

TEST(WordPieceFile, MakesABertTokenizer) {
  auto tokenizer = loadLines(kLines);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(idsOf(**tokenizer, "Unable, NICE café中[MASK]"), (Ids{2, 5, 6, 8, 13, 9, 12, 4, 3}));
  auto pair = (*tokenizer)->encodePair("nice", "zz");
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->ids, (Ids{2, 13, 3, 1, 3}));
  EXPECT_EQ(pair->types, (Ids{0, 0, 0, 1, 1}));
  EXPECT_EQ((*tokenizer)->specialIds().unknown, 1);
  EXPECT_EQ((*tokenizer)->specialIds().padding, 0);
  EXPECT_TRUE((*tokenizer)->isSpecial(2) && !(*tokenizer)->isSpecial(5));
  EXPECT_EQ(*(*tokenizer)->decode({2, 5, 6, 8, 13, 3}), "unable, nice");
  EXPECT_EQ((*tokenizer)->tokenBytes(6), "able");
}

TEST(WordPieceFile, ObeysTheConfiguration) {
  auto cased = loadLines(kLines, R"({"tokenizer_class": "BertTokenizer", "do_lower_case": false})");
  ASSERT_TRUE(cased) << cased.error().message;
  EXPECT_EQ(idsOf(**cased, "Nice café", false), (Ids{11, 10}));
  auto accents = loadLines(kLines, R"({"strip_accents": false, "tokenize_chinese_chars": false})");
  EXPECT_EQ(idsOf(**accents, "Nice CAFÉ a中", false), (Ids{13, 10, 1}));
  auto named = loadLines("<u>\n<c>\n<s>\na\n", R"({"unk_token": "<u>", "cls_token": "<c>", "sep_token": "<s>"})");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(idsOf(**named, "a z"), (Ids{1, 3, 0, 2}));
}

TEST(WordPieceFile, IsRefusedWhereItDoesNotFit) {
  auto error = [](std::string_view lines, std::string_view config = "") {
    auto tokenizer = loadLines(lines, config);
    return tokenizer ? std::string() : tokenizer.error().message;
  };
  EXPECT_EQ(error("a\nb\n"), "vocab.txt: token '[SEP]' has no id");
  EXPECT_EQ(error("a\n\xFF\n"), "vocab.txt: invalid UTF-8 at byte 2");
  EXPECT_EQ(error("<!DOCTYPE html>"), "vocab.txt: is an HTML page, not text; the download failed");
  EXPECT_EQ(error(kLines, R"({"tokenizer_class": "BertJapaneseTokenizer"})"),
            "tokenizer_config.json: vocab.txt can be read for BertTokenizer, not for 'BertJapaneseTokenizer'; save the "
            "tokenizer again as a fast one");
  EXPECT_NE(error(kLines, R"({"do_basic_tokenize": false})").find("do_basic_tokenize is false"), std::string::npos);
}
