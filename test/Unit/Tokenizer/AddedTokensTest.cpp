#include "test/Unit/Tokenizer/Samples.h"

using namespace rapt;
using namespace rapt::test;
using Ids = std::vector<int32_t>;

/// The sample with one added token, id 6; `flags` are further members of its entry.
static std::unique_ptr<Tokenizer> withToken(const std::string &content, const std::string &flags = "",
                                            const std::string &more = "") {
  auto tokenizer =
      load(sampleJson(more + R"("added_tokens": [{"id": 6, "content": ")" + content + "\"" + flags + "}], "));
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

TEST(AddedTokens, AreCutBeforeMerges) {
  EXPECT_EQ(idsOf(*withToken("bc"), "abcab"), (Ids{0, 6, 3}));
  EXPECT_EQ(idsOf(*withToken("bc"), "bcbc"), (Ids{6, 6}));
  EXPECT_EQ(idsOf(*withToken("bc"), ""), Ids());
}

TEST(AddedTokens, TheLongestAtTheLeftmostPlaceWins) {
  auto tokenizer = load(sampleJson(R"("added_tokens": [{"id": 6, "content": "bc"}, {"id": 7, "content": "bcab"},
      {"id": 8, "content": "ca"}, {"id": 9, "content": "b"}], )",
                                   R"({"type": "BPE", "vocab": {"a": 0, "c": 2}, "merges": []})"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(idsOf(**tokenizer, "abcabca"), (Ids{0, 7, 8}));
  EXPECT_EQ(idsOf(**tokenizer, "bca"), (Ids{6, 0}));
  EXPECT_EQ(idsOf(**tokenizer, "bb"), (Ids{9, 9}));
}

TEST(AddedTokens, ObeyStripAndSingleWord) {
  EXPECT_EQ(idsOf(*withToken("<m>", R"(, "lstrip": true)"), "a  <m>  b"), (Ids{0, 6, 5, 5, 1}));
  EXPECT_EQ(idsOf(*withToken("<m>", R"(, "rstrip": true)"), "a  <m>  b"), (Ids{0, 5, 5, 6, 1}));
  EXPECT_EQ(idsOf(*withToken("<m>", R"(, "lstrip": true, "rstrip": true)"), " <m> <m> "), (Ids{6, 6}));
  auto word = withToken("cc", R"(, "single_word": true)");
  EXPECT_EQ(idsOf(*word, "acc cc ccb cc"), (Ids{0, 2, 2, 5, 6, 5, 2, 2, 1, 5, 6}));
}

// As in Hugging Face's tokenizers 0.23, whose search does not leave out the spaces that a token takes.
TEST(AddedTokens, StandInTheSpacesOfTheOneBefore) {
  auto load = [](const std::string &flags) {
    return withToken("<m>", R"(, "rstrip": true}, {"id": 7, "content": "  ")" + flags);
  };
  EXPECT_EQ(idsOf(*load(""), "a<m>  b"), (Ids{0, 6, 7, 1}));
  EXPECT_EQ(idsOf(*load(""), "<m>   b"), (Ids{6, 7, 5, 1}));
  EXPECT_EQ(idsOf(*load(R"(, "rstrip": true)"), "<m>     b"), (Ids{6, 7, 7, 1}));
  EXPECT_EQ(idsOf(*load(R"(, "lstrip": true)"), "<m>  b"), (Ids{6, 1}));
}

TEST(AddedTokens, NormalizedOnesAreSoughtAfterNormalization) {
  const std::string lower = R"("normalizer": {"type": "Lowercase"}, )";
  EXPECT_EQ(idsOf(*withToken("BC", R"(, "normalized": true)", lower), "aBcBC"), (Ids{0, 6, 6}));
  EXPECT_EQ(idsOf(*withToken("BC", R"(, "normalized": false)", lower), "abcBC"), (Ids{4, 6}));
}

// As Hugging Face's tokenizers 0.23 do it, but for a special token: they show it even if it is to be skipped.
TEST(AddedTokens, NormalizedOnesAreDecodedAsNormalized) {
  const std::string marked = R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "Lowercase"},
      {"type": "Prepend", "prepend": "_"}]}, "decoder": {"type": "Replace", "pattern": {"String": "_"}, "content": " "}, )";
  EXPECT_EQ(*withToken("BC", R"(, "normalized": true)", marked)->decode({0, 6, 1}), "a bcb");
  EXPECT_EQ(*withToken("BC", R"(, "normalized": false)", marked)->decode({0, 6, 1}), "aBCb");
  auto special = withToken("BC", R"(, "normalized": true, "special": true)", marked);
  EXPECT_EQ(*special->decode({0, 6, 1}, false), "a bcb");
  EXPECT_EQ(*special->decode({0, 6, 1}, true), "ab");
  EXPECT_EQ(special->tokenBytes(6), "BC");
}

TEST(AddedTokens, SpecialOnesCanBePlainText) {
  auto tokenizer = withToken("ca", R"(, "special": true)");
  EXPECT_EQ(idsOf(*tokenizer, "abca"), (Ids{3, 6}));
  EncodeOptions plain;
  plain.parseSpecialTokens = false;
  EXPECT_EQ(*tokenizer->encode("abca", plain), (Ids{4, 0}));
  EXPECT_EQ(*tokenizer->decode({0, 6, 2}, false), "a ca c");
  EXPECT_EQ(*tokenizer->decode({0, 6, 2}, true), "a c");
}

TEST(AddedTokens, ConfigurationsAddTheirs) {
  auto tokenizer = load(sampleJson(), R"({"eos_token": "abc", "pad_token": {"content": "zz"},
      "added_tokens_decoder": {"6": {"content": "zz", "special": true}, "3": {"content": "ab"}},
      "model_max_length": 1000000000000000019884624838656})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->specialIds().end, 4);
  EXPECT_EQ((*tokenizer)->specialIds().padding, 6);
  EXPECT_EQ((*tokenizer)->vocabularySize(), 7);
  EXPECT_TRUE((*tokenizer)->isSpecial(4) && (*tokenizer)->isSpecial(6) && !(*tokenizer)->isSpecial(3));
  EXPECT_EQ(idsOf(**tokenizer, "abcazz"), (Ids{4, 0, 6}));
}
