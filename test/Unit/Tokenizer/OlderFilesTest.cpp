//===- OlderFilesTest.cpp - vocab.json and merges.txt ----------------------===//
#include "test/Unit/Tokenizer/Samples.h"

using namespace rapt;
using namespace rapt::test;
using Ids = std::vector<int32_t>;

static const char *const kVocabulary = R"({"a": 0, "b": 1, "Ġ": 2, "Ġa": 3, "ab": 4, "<|endoftext|>": 5})";
static const char *const kMerges = "#version: 0.2\nĠ a\na b\n";

static Expected<std::unique_ptr<Tokenizer>> loadOlder(std::string_view vocabulary, std::string_view merges,
                                                      std::string_view config = "", std::string_view added = "") {
  TokenizerFiles files;
  files.vocabulary = vocabulary;
  files.merges = merges;
  files.tokenizerConfig = config;
  files.addedTokens = added;
  return Tokenizer::create(files);
}

TEST(OlderFiles, MakeAGpt2Tokenizer) {
  auto tokenizer = loadOlder(kVocabulary, kMerges);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(idsOf(**tokenizer, "ab a<|endoftext|>"), (Ids{4, 3, 5}));
  EXPECT_EQ(*(*tokenizer)->decode({4, 3, 5}, false), "ab a<|endoftext|>");
  EXPECT_EQ((*tokenizer)->specialIds().end, 5);
  EXPECT_EQ((*tokenizer)->specialIds().begin, 5);
  EXPECT_EQ((*tokenizer)->framing().single.size(), 1u);
}

TEST(OlderFiles, ObeyTheConfiguration) {
  auto spaced =
      loadOlder(kVocabulary, kMerges, R"({"add_prefix_space": true, "add_bos_token": true})", R"({"<x>": 6})");
  ASSERT_TRUE(spaced) << spaced.error().message;
  EXPECT_EQ(idsOf(**spaced, "a<x>"), (Ids{5, 3, 6}));
}

TEST(OlderFiles, AreRefusedWhereTheyDoNotFit) {
  auto error = [](auto &&...files) {
    auto tokenizer = loadOlder(files...);
    return tokenizer ? std::string() : tokenizer.error().message;
  };
  EXPECT_EQ(error("", ""),
            "tokenizer.json: is missing, and so is vocab.json; save the tokenizer again with a version of "
            "transformers that writes tokenizer.json");
  EXPECT_NE(error(kVocabulary, "").find("and so is merges.txt"), std::string::npos);
  EXPECT_EQ(error(kVocabulary, "a b\na b c\n"), "merges.txt: line 2 ('a b c') is not two tokens separated by a space");
  EXPECT_EQ(error(kVocabulary, "b a\n"),
            "merges.txt: merge 0 ('b' + 'a') needs token 'ba', which the vocabulary lacks");
  EXPECT_NE(error(kVocabulary, kMerges, R"({"tokenizer_class": "CLIPTokenizer"})").find("not 'CLIPTokenizer'"),
            std::string::npos);
  EXPECT_NE(error(kVocabulary, "a \xFF\n").find("merges.txt: invalid UTF-8 at byte 2"), std::string::npos);
}
