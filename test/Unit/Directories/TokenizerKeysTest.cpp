//===- TokenizerKeysTest.cpp - tokenizer_config.json over tokenizer.json ------===//
//
// For each key of tokenizer_config.json that is obeyed: a tokenizer.json, the ids
// of a text without the key, and those with it, which transformers has.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/DirectoryKeys.h"
#include "lib/Tokenizer/Tokenizer.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace rapt;
using Ids = std::vector<int32_t>;

// Words in both cases, with and without accents; [CLS] A [SEP].
static const char *const bert = R"({
  "added_tokens": [{"id": 2, "content": "[CLS]", "special": true}, {"id": 3, "content": "[SEP]", "special": true}],
  "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": false, "strip_accents": false,
                 "lowercase": false},
  "pre_tokenizer": {"type": "BertPreTokenizer"},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
    {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[SEP]", "type_id": 0}}], "pair": [],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2]}, "[SEP]": {"id": "[SEP]", "ids": [3]}}},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": {"[PAD]": 0,
    "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "Caf\u00e9": 5, "caf\u00e9": 6, "Cafe": 7, "cafe": 8,
    "\u6587": 9}}})";

// Bytes and two words; nothing around a text.
static const char *const bytes = R"({
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", "add_prefix_space": false}]},
  "decoder": {"type": "ByteLevel"},
  "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}},
    {"SpecialToken": {"id": "!", "type_id": 0}}], "pair": [], "special_tokens": {"!": {"id": "!", "ids": [5]}}},
  "added_tokens": [{"id": 6, "content": "<x>", "special": false, "normalized": false}],
  "model": {"type": "BPE", "unk_token": null, "vocab": {"h": 0, "i": 1, "\u0120": 2, "hi": 3, "\u0120hi": 4, "!": 5,
    "<": 7, "x": 8, ">": 9, "<b>": 10, "<e>": 11}, "merges": ["h i", "\u0120 hi"]}})";

namespace {
struct Case {
  const char *key;
  std::string value;
  const char *tokenizer;
  std::string more; ///< of tokenizer_config.json, without the key: "\"tokenizer_class\": ..., "
  const char *text;
  Ids without, with;
};
} // namespace

static const std::string ofBert = R"("tokenizer_class": "BertTokenizerFast", )",
                         ofGpt2 = R"("tokenizer_class": "GPT2Tokenizer", "bos_token": "<b>", "eos_token": "<e>", )";

static const Case cases[] = {
    // BertTokenizer.__init__ of version 5; BertTokenizerFast.__init__ of version 4.
    {"do_lower_case", "true", bert, ofBert, "Caf\u00e9", {2, 5, 3}, {2, 6, 3}},
    {"strip_accents", "true", bert, ofBert, "Caf\u00e9", {2, 5, 3}, {2, 7, 3}},
    {"tokenize_chinese_chars", "true", bert, ofBert, "\u6587cafe", {2, 1, 3}, {2, 9, 8, 3}},
    // GPT2Tokenizer.__init__: the pre-tokenizer.
    {"add_prefix_space", "true", bytes, ofGpt2, "hi", {3, 5}, {4, 5}},
    // TokenizersBackend.update_post_processor.
    {"add_bos_token", "true", bytes, ofGpt2, "hi", {3, 5}, {10, 3}},
    {"add_eos_token", "true", bytes, ofGpt2, "hi", {3, 5}, {3, 11}},
    // AddedVocabulary::add_tokens gives a known token the new properties.
    {"added_tokens_decoder",
     R"({"6": {"content": "<x>", "lstrip": true}})",
     bytes,
     ofGpt2,
     "hi <x>",
     {3, 2, 6, 5},
     {3, 6, 5}},
    {"additional_special_tokens", R"(["hi"])", bytes, ofGpt2, " hi", {4, 5}, {2, 3, 5}},
    {"extra_special_tokens", R"({"word": {"content": "hi", "lstrip": true}})", bytes, ofGpt2, " hi", {4, 5}, {3, 5}},
    {"split_special_tokens",
     "true",
     bytes,
     ofGpt2 + R"("additional_special_tokens": ["<x>"], )",
     "<x>",
     {6, 5},
     {7, 8, 9, 5}},
    // GPTNeoXTokenizer.__init__ updates the post-processor whatever is given.
    {"tokenizer_class", R"("GPTNeoXTokenizer")", bytes, "", "hi", {3, 5}, {3}},
};

static Expected<std::unique_ptr<Tokenizer>> load(const char *tokenizer, const std::string &config,
                                                 std::string_view map = {}) {
  TokenizerFiles files;
  files.tokenizerJson = tokenizer;
  files.tokenizerConfig = config;
  files.specialTokensMap = map;
  return Tokenizer::create(files);
}

TEST(TokenizerKeys, ReplacePartsOfTokenizerJson) {
  for (const Case &one : cases) {
    SCOPED_TRACE(one.key);
    auto ids = [&](const std::string &config) {
      auto tokenizer = load(one.tokenizer, config);
      EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
      return tokenizer ? *(*tokenizer)->encode(one.text) : Ids();
    };
    EXPECT_EQ(ids("{" + one.more + R"("name_or_path": "x"})"), one.without);
    EXPECT_EQ(ids("{" + one.more + "\"" + one.key + "\": " + one.value + "}"), one.with);
  }
}

/// A class that rebuilds no part leaves tokenizer.json as it is.
TEST(TokenizerKeys, AreThoseOfTheirClass) {
  // __init__ of the byte-level classes: add_prefix_space=False.
  std::string spaced = bytes;
  spaced.replace(spaced.find(R"("add_prefix_space": false)"), 25, R"("add_prefix_space": true)");
  EXPECT_EQ(*(*load(spaced.c_str(), "{}"))->encode("hi"), (Ids{4, 5}));
  EXPECT_EQ(*(*load(spaced.c_str(), R"({"tokenizer_class": "GPT2Tokenizer"})"))->encode("hi"), (Ids{3, 5}));
  const std::string other = R"({"tokenizer_class": "PreTrainedTokenizerFast", "do_lower_case": true,
                                "add_prefix_space": true})";
  EXPECT_EQ(*(*load(bert, other))->encode("Caf\u00e9"), (Ids{2, 5, 3}));
  EXPECT_EQ(*(*load(bytes, other))->encode("hi"), (Ids{3, 5}));
  // BERT frames texts itself.
  EXPECT_EQ(*(*load(bert, "{" + ofBert + R"("add_bos_token": true, "bos_token": "cafe"})"))->encode("cafe"),
            (Ids{2, 8, 3}));
  // A class without the token leaves it out.
  EXPECT_EQ(*(*load(bytes, R"({"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": true})"))->encode("hi"),
            (Ids{3}));
}

// Pieces that make "it ' s" of the ids 0 to 4.
static const char *const wordPieces =
    R"({"decoder": {"type": "WordPiece", "cleanup": false}, "model": {"type": "WordPiece", "unk_token": "it",
        "vocab": {"it": 0, "'": 1, "s": 2, "fine": 3, ".": 4}}})";
static const char *const unigram =
    R"({"decoder": {"type": "Metaspace"}, "model": {"type": "Unigram", "unk_id": 0,
        "vocab": [["\u2581it", 0], ["\u2581'", 0], ["\u2581s", 0], ["\u2581fine", 0], ["\u2581.", 0]]}})";
static const char *const bytePairs =
    R"({"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "merges": [],
        "vocab": {"it": 0, "\u0120'": 1, "\u0120s": 2, "\u0120fine": 3, "\u0120.": 4}}})";

/// TokenizersBackend._decode and PythonBackend._decode.
TEST(TokenizerKeys, CleanTextsUp) {
  auto text = [](const char *tokenizer, const std::string &config) {
    auto loaded = load(tokenizer, config);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return loaded ? *(*loaded)->decode({0, 1, 2, 3, 4}) : std::string();
  };
  const std::string cleans = R"({"clean_up_tokenization_spaces": true})", whole = "it ' s fine .", clean = "it's fine.";
  for (const char *tokenizer : {wordPieces, unigram}) {
    EXPECT_EQ(text(tokenizer, "{}"), whole);
    EXPECT_EQ(text(tokenizer, R"({"clean_up_tokenization_spaces": false})"), whole);
    EXPECT_EQ(text(tokenizer, cleans), clean);
  }
  EXPECT_EQ(text(bytePairs, cleans), whole);
  EXPECT_EQ(text(bytePairs, R"({"clean_up_tokenization_spaces": true,
                                "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": true})"),
            clean);
  EXPECT_EQ(text(bytePairs, R"({"clean_up_tokenization_spaces": true, "tokenizer_class": "MarianTokenizer"})"), clean);
}

TEST(TokenizerKeys, NameTokensOfARole) {
  auto config = [](const char *role) { return "{\"" + std::string(role) + "_token\": {\"content\": \"cafe\"}}"; };
  EXPECT_EQ((*load(bert, config("bos")))->specialIds().begin, 8);
  EXPECT_EQ((*load(bert, config("eos")))->specialIds().end, 8);
  EXPECT_EQ((*load(bert, config("unk")))->specialIds().unknown, 8);
  EXPECT_EQ((*load(bert, config("pad")))->specialIds().padding, 8);
  EXPECT_EQ((*load(bert, config("mask")))->specialIds().mask, 8);
  for (const char *role : {"sep", "cls"})
    EXPECT_TRUE((*load(bert, config(role)))->isSpecial(8)) << role;
  // The class's, where nothing names one.
  auto tokenizer = load(bert, R"({"tokenizer_class": "BertTokenizer"})");
  EXPECT_EQ((*tokenizer)->specialIds().mask, 4);
  EXPECT_EQ((*tokenizer)->specialIds().padding, 0);
  EXPECT_TRUE((*tokenizer)->isSpecial(4));
  EXPECT_FALSE((*load(bert, "{}"))->specialIds().mask);
}

/// A token that the vocabulary lacks gets the next id.
TEST(TokenizerKeys, AddTokensWithoutAnId) {
  auto tokenizer = load(bytes, R"({"extra_special_tokens": ["<new>", "<newer>"]})");
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->tokenId("<new>"), 12);
  EXPECT_EQ((*tokenizer)->tokenId("<newer>"), 13);
  EXPECT_EQ((*tokenizer)->vocabularySize(), 14);
  auto wrong = load(bytes, R"({"extra_special_tokens": [{"content": "<new>", "lstrip": 1}]})");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("tokenizer_config.json: extra_special_tokens"), std::string::npos);
}

/// added_tokens.json beside tokenizer.json, without added_tokens_decoder.
TEST(TokenizerKeys, AddTheTokensOfAnotherFile) {
  auto loaded = [](const char *config, const char *added) {
    TokenizerFiles files;
    files.tokenizerJson = bytes, files.tokenizerConfig = config, files.addedTokens = added;
    return Tokenizer::create(files);
  };
  const char *added = R"({"<y>": 40, "<x>": 6, "<z>": 20, "hi": 3, "<s>": 21})";
  auto tokenizer = loaded(R"({"bos_token": "<s>"})", added);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->tokenId("<z>"), 12);
  EXPECT_EQ((*tokenizer)->tokenId("<s>"), 13);
  EXPECT_EQ((*tokenizer)->tokenId("<y>"), 14);
  EXPECT_EQ(*(*tokenizer)->encode("<y><x>"), (Ids{14, 6, 5}));
  EXPECT_TRUE((*tokenizer)->isSpecial(13));
  EXPECT_FALSE((*tokenizer)->isSpecial(14));
  EXPECT_EQ((*loaded(R"({"added_tokens_decoder": {}})", added))->tokenId("<y>"), std::nullopt);
  auto wrong = loaded("{}", R"({"<y>": -1})");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "added_tokens.json: the id of token '<y>' is not an id");
}

/// Each key of the table has a case here, or a test elsewhere that says which.
TEST(TokenizerKeys, AreAllTested) {
  // Models of SentencePiece: SentencePieceTest.cpp and test/Import/t5; vocab.txt: OlderFilesTest.cpp; templates:
  // ChatTemplateTest.cpp; the length of sentences: test/Import/bert/sentence.test; padding: test/Execute/pairs.py.
  std::set<std::string_view> tested = {"clean_up_tokenization_spaces",
                                       "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
                                       "padding_side",
                                       "language_codes",
                                       "chat_template",
                                       "do_basic_tokenize",
                                       "extra_ids",
                                       "separate_vocabs",
                                       "src_lang",
                                       "source_lang",
                                       "target_lang",
                                       "keep_accents",
                                       "legacy",
                                       "split_by_punct",
                                       "model_max_length"};
  for (const Case &one : cases)
    tested.insert(one.key);
  for (const char *role : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"})
    tested.insert(role);
  for (const DirectoryKey &key : directoryKeys())
    if (key.file == "tokenizer_config.json" && key.use == DirectoryKey::Use::Obeyed)
      EXPECT_EQ(tested.erase(key.name), 1u) << key.name;
  for (std::string_view key : tested)
    ADD_FAILURE() << key << " is not in the table";
}
