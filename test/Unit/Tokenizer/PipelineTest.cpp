//===- PipelineTest.cpp - Normalisers, pre-tokenizers, frames --------------===//
#include "lib/Tokenizer/PreTokenizer.h"
#include "test/Unit/Tokenizer/Samples.h"

using namespace rapt;
using namespace rapt::test;
using Pieces = std::vector<std::string>;

static Pieces piecesOf(const std::string &json, std::string_view text) {
  auto value = json::parse(json);
  EXPECT_TRUE(value) << (value ? "" : value.error().message);
  auto stages = readPreTokenizers(*value, "pre_tokenizer");
  EXPECT_TRUE(stages) << (stages ? "" : stages.error().message);
  Pieces pieces;
  if (stages) {
    auto keep = [&](Piece piece) {
      pieces.emplace_back(piece.text);
      return Status();
    };
    EXPECT_TRUE(preTokenize(*stages, {text, true}, keep));
  }
  return pieces;
}

static Pieces split(const std::string &behavior, const std::string &more, std::string_view text) {
  return piecesOf(R"({"type": "Split", "pattern": {"String": "-"}, "behavior": ")" + behavior + "\"" + more + "}",
                  text);
}

// The examples of Hugging Face's documentation of SplitDelimiterBehavior.
TEST(PreTokenizer, SplitsInFiveWays) {
  EXPECT_EQ(split("Removed", "", "the-final--countdown"), (Pieces{"the", "final", "countdown"}));
  EXPECT_EQ(split("Isolated", "", "the-final--countdown"), (Pieces{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(split("MergedWithPrevious", "", "the-final--countdown"), (Pieces{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(split("MergedWithNext", "", "the-final--countdown"), (Pieces{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(split("Contiguous", "", "the-final--countdown"), (Pieces{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(split("Removed", R"(, "invert": true)", "a-b--"), (Pieces{"-", "-", "-"}));
  EXPECT_EQ(split("MergedWithPrevious", "", "-a-"), (Pieces{"-", "a-"}));
  EXPECT_EQ(split("MergedWithNext", "", "-a-"), (Pieces{"-a", "-"}));
}

TEST(PreTokenizer, KnowsTheKinds) {
  EXPECT_EQ(piecesOf(R"({"type": "Digits", "individual_digits": true})", "a12½b"), (Pieces{"a", "1", "2", "½", "b"}));
  EXPECT_EQ(piecesOf(R"({"type": "Digits", "individual_digits": false})", "a12½b"), (Pieces{"a", "12½", "b"}));
  EXPECT_EQ(piecesOf(R"({"type": "Punctuation"})", "a,b¿¡c"), (Pieces{"a", ",", "b", "¿", "¡", "c"}));
  EXPECT_EQ(piecesOf(R"({"type": "Punctuation", "behavior": "Contiguous"})", "b?!c"), (Pieces{"b", "?!", "c"}));
  EXPECT_EQ(piecesOf(R"({"type": "Whitespace"})", "Hey friend!  How's_it"),
            (Pieces{"Hey", "friend", "!", "How", "'", "s_it"}));
  EXPECT_EQ(piecesOf(R"({"type": "WhitespaceSplit"})", " a\tb\u3000c! "), (Pieces{"a", "b", "c!"}));
  EXPECT_EQ(piecesOf(R"({"type": "CharDelimiterSplit", "delimiter": "_"})", "a_b__c"), (Pieces{"a", "b", "c"}));
  EXPECT_EQ(piecesOf(R"({"type": "BertPreTokenizer"})", "Hey, you!"), (Pieces{"Hey", ",", "you", "!"}));
  EXPECT_EQ(piecesOf("null", "as it is"), (Pieces{"as it is"}));
}

TEST(PreTokenizer, ByteLevelSplitsByDefaultAndSpellsBytes) {
  EXPECT_EQ(piecesOf(R"({"type": "ByteLevel", "add_prefix_space": false})", "a é"), (Pieces{"a", "ĠÃ©"}));
  EXPECT_EQ(piecesOf(R"({"type": "ByteLevel"})", "a b"), (Pieces{"Ġa", "Ġb"})); // add_prefix_space is true by default
  EXPECT_EQ(piecesOf(R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": false})", "a b"),
            (Pieces{"aĠb"}));
}

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
}

static Frame frameOf(const std::string &json, const std::string &config = "") {
  auto tokenizer = load(sampleJson("\"post_processor\": " + json + ", "), config);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? (*tokenizer)->frame() : Frame{};
}

TEST(PostProcessor, PutsSpecialTokensAround) {
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(frameOf("null").prefix, Ids());
  EXPECT_EQ(frameOf(R"({"type": "ByteLevel", "trim_offsets": false})").prefix, Ids());
  const std::string single =
      R"({"type": "TemplateProcessing", "pair": [], "single": [{"SpecialToken": {"id": "X", "type_id": 0}},
      {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "Y", "type_id": 0}}],
      "special_tokens": {"X": {"id": "X", "ids": [1, 2], "tokens": ["b", "c"]}, "Y": {"id": "Y", "ids": [3], "tokens": ["ab"]}}})";
  EXPECT_EQ(frameOf(single).prefix, (Ids{1, 2}));
  EXPECT_EQ(frameOf(single).suffix, (Ids{3}));
  const std::string bert = R"({"type": "BertProcessing", "sep": ["b", 1], "cls": ["a", 0]})";
  EXPECT_EQ(frameOf(bert).prefix, (Ids{0}));
  EXPECT_EQ(frameOf(bert).suffix, (Ids{1}));
  Frame both = frameOf(R"({"type": "Sequence", "processors": [)" + bert + ", " + single + "]}");
  EXPECT_EQ(both.prefix, (Ids{1, 2, 0}));
  EXPECT_EQ(both.suffix, (Ids{1, 3}));
}

TEST(PostProcessor, LlamaClassesObeyTheirConfiguration) {
  using Ids = std::vector<int32_t>;
  const std::string class_ = R"("tokenizer_class": "LlamaTokenizerFast", "bos_token": "a", "eos_token": "b")";
  EXPECT_EQ(frameOf("null", "{" + class_ + "}").prefix, (Ids{0}));
  EXPECT_EQ(frameOf("null", "{" + class_ + R"(, "add_bos_token": false, "add_eos_token": true})").prefix, Ids());
  EXPECT_EQ(frameOf("null", "{" + class_ + R"(, "add_bos_token": false, "add_eos_token": true})").suffix, (Ids{1}));
  EXPECT_EQ(frameOf("null", R"({"tokenizer_class": "GPT2Tokenizer", "bos_token": "a", "add_bos_token": true})").prefix,
            Ids());
  EXPECT_EQ(loadError(sampleJson(), R"({"tokenizer_class": "LlamaTokenizer"})"),
            "tokenizer_config.json: add_bos_token is true, but bos_token is no token of the vocabulary");
}
