//===- WordLevelTest.cpp - A token a word ------------------------------------===//
//
// Ids follow the definition of the tokenizers library: the piece's own token, else that of
// unk_token, else an error.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Tokenizer/Samples.h"

using namespace rapt;
using namespace rapt::test;
using Ids = std::vector<int32_t>;

static std::string wordLevel(const std::string &more = R"("pre_tokenizer": {"type": "Whitespace"}, )",
                             const std::string &model = R"("type": "WordLevel", "unk_token": "[UNK]", )") {
  return sampleJson(more, "{" + model + R"("vocab": {"[UNK]": 0, "the": 1, "cat": 2, ".": 3, "The": 4, "sat": 5,
      "über": 6, "the cat": 7, "c": 8, "a": 9, "<unk>": 10, "12": 11}})");
}

static Ids encode(const std::string &json, const std::string &text) {
  auto tokenizer = load(json);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? idsOf(**tokenizer, text) : Ids{-1};
}

TEST(WordLevel, AWordIsATokenOrUnknown) {
  EXPECT_EQ(encode(wordLevel(), "The cat sat."), (Ids{4, 2, 5, 3}));
  EXPECT_EQ(encode(wordLevel(), "the  dog\nsat über12 12"), (Ids{1, 0, 5, 0, 11}));
  EXPECT_EQ(encode(wordLevel(), "cats ca"), (Ids{0, 0}));
  EXPECT_EQ(encode(wordLevel(), "   "), (Ids{}));
  EXPECT_EQ(encode(wordLevel(), std::string(5000, 'a') + " a"), (Ids{0, 9}));
}

TEST(WordLevel, TakesWhatThePreTokenizerCuts) {
  EXPECT_EQ(encode(wordLevel(""), "the cat"), (Ids{7}));
  EXPECT_EQ(encode(wordLevel(R"("pre_tokenizer": {"type": "WhitespaceSplit"}, )"), "the cat."), (Ids{1, 0}));
  EXPECT_EQ(encode(wordLevel(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "."}, "behavior": "Isolated",
      "invert": false}, )"),
                   "cab"),
            (Ids{8, 9, 0}));
  EXPECT_EQ(
      encode(wordLevel(R"("normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"}, )"), "The CAT"),
      (Ids{1, 2}));
}

TEST(WordLevel, UnknownTokenByItsName) {
  EXPECT_EQ(encode(wordLevel("", R"("type": "WordLevel", )"), "dog"), (Ids{10}));
  EXPECT_EQ(encode(wordLevel("", R"("unk_token": "a", )"), "dog"), (Ids{9})); // a file of old versions, without a type
  auto tokenizer = load(wordLevel("", R"("type": "WordLevel", "unk_token": "none", )"));
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ((*tokenizer)->encode("dog").error().message,
            "the word 'dog' is not in the vocabulary, and neither is unk_token 'none'");
}

TEST(WordLevel, DecodesWithSpaces) {
  auto tokenizer = load(wordLevel());
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(*(*tokenizer)->decode(Ids{4, 2, 5, 3}), "The cat sat .");
}

TEST(WordLevel, TellsWhatIsWrong) {
  EXPECT_EQ(loadError(wordLevel("", R"("type": "WordLevel", "surprise": 1, )")),
            "tokenizer.json: model: the member 'surprise' is not understood");
  EXPECT_EQ(loadError(sampleJson("", R"({"type": "WordLevel"})")), "tokenizer.json: model: has no vocab");
  EXPECT_EQ(loadError(sampleJson("", R"({"vocab": {"a": 0}})")), "tokenizer.json: model: has no type");
}
