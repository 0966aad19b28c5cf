//===- PreTokenizerTest.cpp - Cutting text into pieces ----------------------===//
#include "lib/Tokenizer/PreTokenizer.h"
#include "test/Unit/Tokenizer/Samples.h"

using namespace rapt;
using namespace rapt::test;
using Pieces = std::vector<std::string>;

static Pieces piecesOf(const std::string &json, std::string_view text, size_t front = 1) {
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
    EXPECT_TRUE(preTokenize(*stages, {text, front}, keep));
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
  EXPECT_EQ(piecesOf(R"({"type": "Whitespace"})", "m² ½a e\u0301_\u200Dx"),
            (Pieces{"m", "²", "½", "a", "e\u0301_\u200Dx"}));
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

// Only a piece with the first character of the input is the first, or with what a stage put before it.
TEST(PreTokenizer, MetaspaceTellsTheFirstPiece) {
  const std::string first = R"({"type": "Metaspace", "prepend_scheme": "first"})";
  EXPECT_EQ(piecesOf(first, "a b"), (Pieces{"▁a", "▁b"}));
  EXPECT_EQ(piecesOf(first, "a b", 0), (Pieces{"a", "▁b"})); // its front was stripped
  auto sequence = [&](const std::string &stage) {
    return R"({"type": "Sequence", "pretokenizers": [)" + stage + ", " + first + "]}";
  };
  EXPECT_EQ(piecesOf(sequence(R"({"type": "WhitespaceSplit"})"), "a b"), (Pieces{"▁a", "b"}));
  EXPECT_EQ(piecesOf(sequence(R"({"type": "WhitespaceSplit"})"), " a"), (Pieces{"a"}));
  EXPECT_EQ(piecesOf(sequence(R"({"type": "Punctuation"})"), "!a", 2), (Pieces{"▁!", "▁a"}));
  EXPECT_EQ(piecesOf(sequence(R"({"type": "ByteLevel", "add_prefix_space": true})"), "ab"), (Pieces{"▁Ġab"}));
}
