//===- PostProcessorTest.cpp - Special tokens, pairs and types --------------===//
#include "test/Unit/Tokenizer/Samples.h"

using namespace rapt;
using namespace rapt::test;
using Ids = std::vector<int32_t>;

/// Ids and types of "a" or of "a" and "c" (ids 0 and 2), with a post-processor.
static Encoding framed(const std::string &json, bool pair, const std::string &config = "", bool special = true) {
  auto tokenizer = load(sampleJson("\"post_processor\": " + json + ", "), config);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  if (!tokenizer)
    return {};
  EncodeOptions options;
  options.addSpecialTokens = special;
  auto encoding = pair ? (*tokenizer)->encodePair("a", "c", options) : (*tokenizer)->encodeTyped("a", options);
  EXPECT_TRUE(encoding) << (encoding ? "" : encoding.error().message);
  EXPECT_TRUE(pair || idsOf(**tokenizer, "a", special) == encoding->ids);
  return encoding ? *encoding : Encoding{};
}

static const std::string kTemplate =
    R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "X", "type_id": 0}},
    {"Sequence": {"id": "A", "type_id": 3}}, {"SpecialToken": {"id": "Y", "type_id": 2}}],
    "pair": [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "Y", "type_id": 1}},
    {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"X": {"id": "X", "ids": [1, 2], "tokens": ["b", "c"]}, "Y": {"id": "Y", "ids": [3], "tokens": ["ab"]}}})";
static const std::string kBert = R"({"type": "BertProcessing", "sep": ["b", 1], "cls": ["ab", 3]})";
static const std::string kRoberta =
    R"({"type": "RobertaProcessing", "sep": ["b", 1], "cls": ["ab", 3], "trim_offsets": true, "add_prefix_space": false})";

static void expect(const Encoding &encoding, const Ids &ids, const Ids &types) {
  EXPECT_EQ(encoding.ids, ids);
  EXPECT_EQ(encoding.types, types);
}

TEST(PostProcessor, WithoutOneTextsFollowEachOther) {
  for (const char *json : {"null", R"({"type": "ByteLevel", "trim_offsets": false})"}) {
    expect(framed(json, false), {0}, {0});
    expect(framed(json, true), {0, 2}, {0, 1});
  }
}

TEST(PostProcessor, FollowsTemplates) {
  expect(framed(kTemplate, false), {1, 2, 0, 3}, {0, 0, 3, 2});
  expect(framed(kTemplate, true), {2, 3, 0}, {1, 1, 0});
  // Without special tokens the template still sets types and order.
  expect(framed(kTemplate, false, "", false), {0}, {3});
  expect(framed(kTemplate, true, "", false), {2, 0}, {1, 0});
}

TEST(PostProcessor, FramesAsBertAndRobertaDo) {
  expect(framed(kBert, false), {3, 0, 1}, {0, 0, 0});
  expect(framed(kBert, true), {3, 0, 1, 2, 1}, {0, 0, 0, 1, 1});
  expect(framed(kBert, true, "", false), {0, 2}, {0, 1});
  expect(framed(kRoberta, false), {3, 0, 1}, {0, 0, 0});
  expect(framed(kRoberta, true), {3, 0, 1, 1, 2, 1}, {0, 0, 0, 0, 0, 0});
  expect(framed(kRoberta, true, "", false), {0, 2}, {0, 0});
}

TEST(PostProcessor, EachFramesWhatTheOneBeforeItMade) {
  const std::string both = R"({"type": "Sequence", "processors": [)" + kBert + ", " + kTemplate + "]}";
  expect(framed(both, false), {1, 2, 3, 0, 1, 3}, {0, 0, 3, 3, 3, 2});
  expect(framed(both, true), {2, 1, 3, 3, 0, 1}, {1, 1, 1, 0, 0, 0});
}

TEST(PostProcessor, PairsNeedATemplate) {
  std::string single = kTemplate;
  single.replace(single.find("\"pair\": ["), std::string("\"pair\": [").size(), "\"pair\": [], \"unused\": [");
  EXPECT_NE(loadError(sampleJson("\"post_processor\": " + single + ", ")).find("the member 'unused' is not understood"),
            std::string::npos);
  auto tokenizer = load(sampleJson(
      R"("post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [], "special_tokens": {}}, )"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_FALSE((*tokenizer)->canEncodePairs());
  EXPECT_EQ((*tokenizer)->encodePair("a", "b").error().message,
            "the tokenizer's post-processor does not say how two texts are put together");
  EXPECT_EQ(idsOf(**tokenizer, "ab"), (Ids{3}));
}

TEST(PostProcessor, RefusesTemplatesItDoesNotUnderstand) {
  auto error = [](const std::string &single, const std::string &table = "{}") {
    return loadError(sampleJson(R"("post_processor": {"type": "TemplateProcessing", "single": [)" + single +
                                R"(], "special_tokens": )" + table + "}, "));
  };
  const std::string text = R"({"Sequence": {"id": "A", "type_id": 0}})",
                    where = "tokenizer.json: post_processor.single";
  EXPECT_EQ(error(text), "");
  EXPECT_EQ(error(""), where + ": the template must hold the sequence A once, and no other");
  EXPECT_EQ(error(text + ", " + text), where + ": the template must hold the sequence A once, and no other");
  EXPECT_EQ(error(R"({"Sequence": {"id": "C"}})"),
            where + ": a part of the template is neither a special token nor the sequence A or B");
  EXPECT_EQ(error(R"({"Sequence": {"id": "A", "type_id": -1}})"), where + ": the type_id of a part is not a type");
  EXPECT_EQ(error(text + R"(, {"SpecialToken": {"id": "X", "type_id": 0}})"),
            where + ": a special token of the template has no ids in special_tokens");
  EXPECT_EQ(error(text + R"(, {"SpecialToken": {"id": "X", "type_id": 0}})", R"({"X": {"ids": [99]}})"),
            where + ": the id 99 is no token of the vocabulary");
  std::string many = text;
  for (int times = 0; times < 256; ++times)
    many += R"(, {"SpecialToken": {"id": "X"}})";
  EXPECT_EQ(error(many, R"({"X": {"ids": [1]}})"), where + ": the template has 257 parts; the limit is 256");
}

TEST(PostProcessor, LlamaClassesObeyTheirConfiguration) {
  const std::string class_ = R"("tokenizer_class": "LlamaTokenizerFast", "bos_token": "ab", "eos_token": "b")";
  const std::string onlyEnd = "{" + class_ + R"(, "add_bos_token": false, "add_eos_token": true})";
  const std::string both = "{" + class_ + R"(, "add_eos_token": true})";
  expect(framed("null", false, "{" + class_ + "}"), {3, 0}, {0, 0});
  expect(framed("null", false, onlyEnd), {0, 1}, {0, 0});
  expect(framed("null", true, onlyEnd), {0, 1, 2, 1}, {0, 0, 1, 1});
  expect(framed("null", true, both), {3, 0, 1, 3, 2, 1}, {0, 0, 0, 1, 1, 1});
  expect(framed("null", true, both, false), {0, 2}, {0, 1});
  expect(framed("null", false, R"({"tokenizer_class": "GPT2Tokenizer", "bos_token": "a", "add_bos_token": true})"),
         {0, 0}, {0, 0});
  EXPECT_EQ(loadError(sampleJson(), R"({"tokenizer_class": "LlamaTokenizer"})"),
            "tokenizer_config.json: add_bos_token is true, but bos_token is no token of the vocabulary");
}
