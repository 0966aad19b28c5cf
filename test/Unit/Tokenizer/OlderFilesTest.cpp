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

/// vocab.json and merges.txt of a vector's model, with the added tokens in the vocabulary, as families write them.
static std::pair<std::string, std::string> olderFilesOf(const json::Value &tokenizer) {
  const json::Value &model = *tokenizer.find("model");
  json::Object vocabulary = *model.find("vocab")->asObject();
  for (const json::Value &token : *tokenizer.find("added_tokens")->asArray())
    if (!model.find("vocab")->find(*token.find("content")->asString()))
      vocabulary.emplace_back(*token.find("content")->asString(), *token.find("id"));
  std::string merges = "#version: 0.2\n";
  for (const json::Value &merge : *model.find("merges")->asArray())
    merges += *merge.asString() + "\n";
  return {json::write(json::Value(std::move(vocabulary))), merges};
}

/// Each class gives the ids of the tokenizer.json that transformers makes of its files.
TEST(OlderFiles, EqualTheTokenizerJsonOfTheirClass) {
  struct Case {
    const char *vector, *config;
  };
  const Case cases[] = {
      {"gpt-2", R"({"tokenizer_class": "GPT2Tokenizer"})"},
      {"gpt-2", R"({"tokenizer_class": "CodeGenTokenizer"})"},
      {"gpt-2", ""},
      {"opt", R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token": "</s>", "eos_token": "</s>",
                  "pad_token": "<pad>", "unk_token": "</s>"})"},
      {"roberta", R"({"tokenizer_class": "RobertaTokenizer", "cls_token": "<|start|>", "sep_token": "<|end|>"})"},
      {"roberta", R"({"tokenizer_class": "BartTokenizer", "cls_token": "<|start|>", "sep_token": "<|end|>"})"},
      {"qwen-2", R"({"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|end|>", "pad_token": "<|start|>"})"},
      {"clip", R"({"tokenizer_class": "CLIPTokenizer"})"}};
  for (const Case &one : cases) {
    SCOPED_TRACE(std::string(one.vector) + one.config);
    OwnVector own = loadOwn(one.vector);
    auto [vocabulary, merges] = olderFilesOf(*own.root.find("tokenizer"));
    auto tokenizer = loadOlder(vocabulary, merges, one.config);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    for (const json::Value &item : *own.root.find("cases")->asArray()) {
      const std::string &text = *item.find("text")->asString();
      EXPECT_EQ(idsOf(**tokenizer, text), idsOf(*own.tokenizer, text)) << text;
      if (std::string_view(one.vector) == "roberta" && item.find("pair")) {
        const std::string &second = *item.find("pair")->asString();
        EXPECT_EQ((*tokenizer)->encodePair(text, second)->ids, own.tokenizer->encodePair(text, second)->ids);
      }
    }
  }
}

/// Old directories name no class: the three tokens around and in a masked text tell a RoBERTa.
TEST(OlderFiles, TellARobertaByItsTokens) {
  auto tokenizer = loadOlder(R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "Ġ": 6, "Ġa": 7, "ab": 8,
                                 "<mask>": 9})",
                             kMerges, R"({"model_max_length": 512})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(idsOf(**tokenizer, "ab <mask> a"), (Ids{0, 8, 9, 7, 2}));
  const SpecialTokenIds &ids = (*tokenizer)->specialIds();
  EXPECT_EQ(ids.begin, 0);
  EXPECT_EQ(ids.end, 2);
  EXPECT_EQ(ids.unknown, 3);
  EXPECT_EQ(ids.padding, 1);
  EXPECT_EQ(ids.mask, 9);
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
  EXPECT_NE(error(kVocabulary, kMerges, R"({"tokenizer_class": "LEDTokenizer"})").find("not 'LEDTokenizer'"),
            std::string::npos);
  EXPECT_EQ(error(kVocabulary, kMerges, R"({"tokenizer_class": "BartTokenizer"})"),
            "vocab.json: has no token '<s>', which stands around a text");
  // Translators whose words are SentencePiece's; older directories of Marian name no class.
  for (const char *config :
       {R"({"tokenizer_class": "MarianTokenizer"})", R"({"source_lang": "en", "target_lang": "de"})"})
    EXPECT_EQ(error(kVocabulary, "", config),
              "tokenizer_config.json: the vocab.json of 'MarianTokenizer' belongs to SentencePiece models, which are "
              "missing; add them (source.spm and target.spm of Marian, sentencepiece.bpe.model of M2M-100)");
  EXPECT_NE(error(kVocabulary, "", R"({"tokenizer_class": "M2M100Tokenizer"})").find("'M2M100Tokenizer' belongs"),
            std::string::npos);
  EXPECT_NE(error(kVocabulary, "a \xFF\n").find("merges.txt: invalid UTF-8 at byte 2"), std::string::npos);
}
