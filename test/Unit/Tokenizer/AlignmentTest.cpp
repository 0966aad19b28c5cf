//===- AlignmentTest.cpp - Where in a text its tokens come from -------------===//
#include "test/Unit/Tokenizer/Samples.h"
#include <algorithm>
#include <chrono>

using namespace rapt;
using namespace rapt::test;

/// "bytes" of each token, with the number of its word where it is not that of the token before.
static std::vector<std::string> spansOf(const std::string &json, const std::string &text) {
  auto tokenizer = load(json);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  if (!tokenizer)
    return {};
  EncodeOptions options;
  options.wantSpans = true;
  auto encoding = (*tokenizer)->encodeTyped(text, options);
  EXPECT_TRUE(encoding) << (encoding ? "" : encoding.error().message);
  std::vector<std::string> result;
  int32_t word = -1;
  for (const TokenSpan &span : encoding->spans) {
    EXPECT_LE(span.bytes.end, text.size());
    std::string shown = span.source ? text.substr(span.bytes.begin, span.bytes.end - span.bytes.begin) : "none";
    result.push_back((span.word != word ? std::to_string(span.word) + ":" : "") + shown);
    word = span.word;
  }
  EXPECT_EQ(encoding->spans.size(), encoding->ids.size());
  return result;
}

using Spans = std::vector<std::string>;

static const std::string kWordPiece = R"({"type": "WordPiece", "vocab": {"[UNK]": 0, "cafe": 1, "##s": 2, "i": 3,
    "un": 4, "##aff": 5, ".": 6, "[M]": 7, "##i": 8, "\u0307": 9}})";
static const std::string kBert = R"("normalizer": {"type": "BertNormalizer", "lowercase": true},
    "pre_tokenizer": {"type": "BertPreTokenizer"}, "decoder": {"type": "WordPiece"},
    "added_tokens": [{"id": 7, "content": "[M]", "special": true}], )";

TEST(Alignment, OfNormalizedWords) {
  const std::string bert = sampleJson(kBert, kWordPiece);
  EXPECT_EQ(spansOf(bert, "Caf\u00e9s un\u0301aff."), (Spans{"0:Caf\u00e9", "s", "1:un\u0301", "aff", "2:."}));
  EXPECT_EQ(spansOf(bert, " zzz\t\u4e2dI [M] i"), (Spans{"0:zzz", "1:\u4e2d", "2:I", "3:[M]", "4:i"}));
  EXPECT_EQ(spansOf(bert, ""), Spans{});
  // Characters that are dropped.
  EXPECT_EQ(spansOf(bert, "\u200du\u00adnaff"), (Spans{"0:u\u00adn", "aff"}));
}

TEST(Alignment, OfTheTextsAndTokensOfAPair) {
  const std::string template_ =
      R"("post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
      "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "[M]", "type_id": 0}},
               {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"[M]": {"id": "[M]", "ids": [7],
      "tokens": ["[M]"]}}}, )";
  auto tokenizer = load(sampleJson(kBert + template_, kWordPiece));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EncodeOptions options;
  options.wantSpans = true;
  auto encoding = (*tokenizer)->encodePair("i unaff", " cafe [M]", options);
  ASSERT_TRUE(encoding);
  EXPECT_EQ(encoding->ids, (std::vector<int32_t>{3, 4, 5, 7, 1, 7}));
  std::vector<int32_t> sources, words;
  for (const TokenSpan &span : encoding->spans)
    sources.push_back(span.source), words.push_back(span.word);
  EXPECT_EQ(sources, (std::vector<int32_t>{1, 1, 1, 0, 2, 2}));
  EXPECT_EQ(words, (std::vector<int32_t>{0, 1, 1, -1, 0, 1}));
  EXPECT_EQ(encoding->spans[4].bytes.begin, 1u);
  EXPECT_EQ(encoding->spans[5].bytes.end, 9u);
}

TEST(Alignment, OfBytesAndMarkedBlanks) {
  const std::string bytes = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "\u0120": 2, "\u0120a": 3, "\u00c3": 4,
      "\u00a9": 5, "ab": 6}, "merges": ["\u0120 a", "a b"]})";
  const std::string byteLevel = R"("pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true},
      "decoder": {"type": "ByteLevel"}, )";
  EXPECT_EQ(spansOf(sampleJson(byteLevel, bytes), "ab  a"), (Spans{"0:a", "b", "1: ", "2:a"}));
  // Two tokens of one character stand for all of it.
  EXPECT_EQ(spansOf(sampleJson(byteLevel, bytes), " b\u00e9"), (Spans{"0: ", "b", "\u00e9", "\u00e9"}));
  const std::string marked = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "\u2581": 2, "\u2581a": 3},
      "merges": ["\u2581 a"]})";
  const std::string metaspace = R"("pre_tokenizer": {"type": "Metaspace"}, "decoder": {"type": "Metaspace"}, )";
  EXPECT_EQ(spansOf(sampleJson(metaspace, marked), "ab a"), (Spans{"0:a", "b", "1:a"}));
}

// Where normalizing depends on more than a character and its marks, a span is larger, not wrong.
TEST(Alignment, IsAsLargeAsWhatIsKnown) {
  const std::string joined = R"("normalizer": {"type": "Replace", "pattern": {"String": "aa"}, "content": "b"},
      "pre_tokenizer": {"type": "Split", "pattern": {"String": "c"}, "behavior": "Isolated"}, )";
  EXPECT_EQ(spansOf(sampleJson(joined), "abc"), (Spans{"0:ab", "1:c"}));
  EXPECT_EQ(spansOf(sampleJson(joined), "aac"), (Spans{"0:aac", "1:aac"}));
  EXPECT_EQ(spansOf(sampleJson(R"("normalizer": {"type": "NFC"}, )",
                               R"({"type": "BPE", "vocab": {"a": 0, "\u00e9": 1}, "merges": []})"),
                    "ae\u0301a"),
            (Spans{"0:a", "e\u0301", "a"}));
}

// A run of blanks whose tokens are not its bytes, and words behind one that are not found: a quadratic search of these
// would take minutes.
TEST(Alignment, IsFoundInLinearTime) {
  const std::string bytes = R"({"type": "BPE", "unk_token": "?", "byte_fallback": true, "vocab": {"?": 0, "<0x0A>": 1,
      "\u2581": 2, "a": 3}, "merges": []})";
  const std::string older = R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend",
      "prepend": "\u2581"}, {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
      "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"},
      "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]}, )";
  const std::string marked = R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
      {"type": "Metaspace"}]}, "decoder": {"type": "Metaspace"}, )";
  std::string words = "a" + std::string(100'000, ' ');
  for (int word = 0; word < 50'000; ++word)
    words += "a ";
  words += "\u00e9";
  std::string unknown = words;
  std::replace(unknown.begin() + 1, unknown.end(), 'a', 'q');
  auto count = [](const std::string &json, const std::string &text) {
    EncodeOptions options;
    options.wantSpans = true;
    auto encoding = (*load(json))->encodeTyped(text, options);
    EXPECT_TRUE(encoding) << (encoding ? "" : encoding.error().message);
    return encoding->spans.size();
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(count(sampleJson(older, bytes), std::string(100'000, '\n')), 100'001u);
  EXPECT_EQ(count(sampleJson(marked, bytes), words), 100'004u);
  EXPECT_EQ(count(sampleJson(marked, bytes), unknown), 100'004u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
}

// In a text with several authors only some write special tokens, also across a border; all else is one text.
TEST(Parts, HaveSpecialTokensWhereTheyMay) {
  const std::string json = sampleJson(R"("added_tokens": [{"id": 6, "content": "<s>", "special": true},
      {"id": 7, "content": "<u>", "special": false}], )",
                                      R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "<": 3, "s": 4, ">": 5},
      "merges": ["a b"]})");
  auto tokenizer = load(json);
  ASSERT_TRUE(tokenizer);
  auto encode = [&](const std::vector<TextPart> &parts) { return *(*tokenizer)->encodeParts(parts); };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(encode({{"<s>a"}, {"b", true}}), (Ids{6, 2}));
  EXPECT_EQ(encode({{"<s>"}, {"<s>", true}, {"<s>"}}), (Ids{6, 3, 4, 5, 6}));
  EXPECT_EQ(encode({{"<s"}, {">", true}}), (Ids{3, 4, 5}));
  EXPECT_EQ(encode({{"", true}, {"<s>"}, {"<u>", true}}), (Ids{6, 7}));
  EXPECT_EQ(encode({}), Ids{});
}
