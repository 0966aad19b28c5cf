//===- UnigramTest.cpp - The likeliest cut -----------------------------------===//
#include "test/Unit/Tokenizer/Samples.h"
#include <chrono>
#include <cmath>
#include <map>
#include <random>

using namespace rapt;
using namespace rapt::test;
using Ids = std::vector<int32_t>;

static std::string unigram(const std::string &pieces, const std::string &more = R"("unk_id": 0, )") {
  return sampleJson("", R"({"type": "Unigram", )" + more + R"("vocab": [)" + pieces + "]}");
}

static Ids encode(const std::string &json, const std::string &text) {
  auto tokenizer = load(json);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? idsOf(**tokenizer, text) : Ids{-1};
}

static const std::string kPieces = R"(["<unk>", 0], ["a", 0], ["b", 0], ["c", 0], ["d", 0], ["cd", 1], ["ab", 2],
    ["abc", 5], ["abcd", 10])";

TEST(Unigram, TakesTheCutWithTheLargestSum) {
  EXPECT_EQ(encode(unigram(kPieces), "abcdacdxx"), (Ids{8, 1, 5, 0}));
  EXPECT_EQ(encode(unigram(R"(["<unk>", 0], ["a", -1], ["b", -1], ["ab", -2.5])"), "ab"), (Ids{1, 2}));
  // Among equals the longest last piece stays, as it was found first.
  EXPECT_EQ(encode(unigram(R"(["<unk>", 0], ["a", -1], ["b", -1], ["ab", -2])"), "ab"), (Ids{3}));
}

TEST(Unigram, FusesUnknownCharacters) {
  EXPECT_EQ(encode(unigram(kPieces), "xéx"), (Ids{0}));
  EXPECT_EQ(encode(unigram(kPieces), "xaé日b"), (Ids{0, 1, 0, 2}));
  // A character that only a longer piece holds costs the penalty.
  EXPECT_EQ(encode(unigram(R"(["<unk>", 0], ["a", -1], ["ab", -12])"), "ab"), (Ids{2}));
  EXPECT_EQ(encode(unigram(R"(["<unk>", 0], ["a", -1], ["ab", -12], ["zz", -3])"), "aba"), (Ids{2, 1}));
}

TEST(Unigram, FallsBackToBytes) {
  const std::string pieces = R"(["<unk>", 0], ["a", -1], ["<0xC3>", -2], ["<0xA9>", -2])";
  const std::string fallback = R"("unk_id": 0, "byte_fallback": true, )";
  EXPECT_EQ(encode(unigram(pieces, fallback), "aéa"), (Ids{1, 2, 3, 1}));
  EXPECT_EQ(encode(unigram(pieces), "aéa"), (Ids{1, 0, 1}));
  // A run with a byte that has no token is unknown as a whole.
  EXPECT_EQ(encode(unigram(pieces, fallback), "aéxa"), (Ids{1, 0, 1}));
}

TEST(Unigram, CutsNoTextIntoPiecesWithoutScore) {
  const std::string pieces = R"(["<unk>", null], ["a", -1], ["</s>", null], ["b", -20], ["<0x41>", null])";
  EXPECT_EQ(encode(unigram(pieces), "a</s>b"), (Ids{1, 0, 3}));
  EXPECT_EQ(encode(unigram(pieces), "<0x41>"), (Ids{0}));
  EXPECT_EQ(encode(unigram(pieces, R"("unk_id": 0, "byte_fallback": true, )"), "A"), (Ids{4}));
  auto tokenizer = load(unigram(pieces));
  EXPECT_EQ(*(*tokenizer)->decode({1, 2}, false), "a </s>");
}

TEST(Unigram, IdsMayBeThoseOfAnotherVocabulary) {
  const std::string ids = R"("unk_id": 7, "ids": {"<unk>": 7, "a": 3, "ab": 0, "x": 12, "yz": 5, "</s>": 1}, )";
  const std::string pieces = R"(["a", -1], ["b", -1], ["ab", -1.5], ["c", -2])";
  EXPECT_EQ(encode(unigram(pieces, ids), "aab"), (Ids{3, 0}));
  EXPECT_EQ(encode(unigram(pieces, ids), "bccq"), (Ids{7, 7, 7, 7})); // pieces without an id are not fused
  EXPECT_EQ(encode(unigram(pieces, ids), "xayza"), (Ids{12, 3, 5, 3}));
  EXPECT_EQ(encode(unigram(pieces, ids), "xyz"), (Ids{7})); // together they are no token
  auto tokenizer = load(unigram(pieces, ids));
  EXPECT_EQ((*tokenizer)->vocabularySize(), 13);
  EXPECT_EQ(*(*tokenizer)->decode({0, 5}), "ab yz");
  EXPECT_EQ(loadError(unigram(pieces, R"("unk_id": 2, "ids": {"a": 0, "b": 1}, )")),
            "tokenizer.json: model.unk_id: is 2, which is no id of a token");
  EXPECT_EQ(loadError(unigram(pieces, R"("unk_id": 4294967296, "ids": {"a": 0, "b": 1}, )")),
            "tokenizer.json: model.unk_id: is 4294967296, which is no id of a token");
  EXPECT_EQ(loadError(unigram(pieces, R"("unk_id": 0, "ids": [], )")),
            "tokenizer.json: model.ids: is not an object of tokens and ids");
}

TEST(Unigram, TellsWhatIsWrong) {
  auto tokenizer = load(unigram(R"(["a", -1])", ""));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(idsOf(**tokenizer, "aa"), (Ids{0, 0}));
  EXPECT_EQ((*tokenizer)->encode("ax").error().message,
            "the vocabulary has no piece for the character 'x' and the tokenizer defines no unk_id");
  EXPECT_EQ(loadError(unigram(kPieces, R"("unk_id": 9, )")),
            "tokenizer.json: model.unk_id: is 9, but there are 9 pieces");
  EXPECT_EQ(loadError(unigram(kPieces, R"("unk_id": -2, )")),
            "tokenizer.json: model.unk_id: is -2, but there are 9 pieces");
  EXPECT_EQ(loadError(unigram(R"(["a", 0], ["b"])")),
            "tokenizer.json: model.vocab[1]: is not a pair of a piece and its score");
  EXPECT_EQ(loadError(unigram(R"(["a", 0], ["b", "c"])")),
            "tokenizer.json: model.vocab[1]: is not a pair of a piece and its score");
  EXPECT_EQ(loadError(unigram(R"(["a", 0], ["a", 1])")),
            "tokenizer.json: model.vocab: token 'a' has id 1, and also id 0");
  EXPECT_EQ(loadError(unigram(kPieces, R"("alpha": 1, )")),
            "tokenizer.json: model: the member 'alpha' is not understood");
  EXPECT_EQ(loadError(sampleJson("", R"({"type": "Unigram", "vocab": {}})")),
            "tokenizer.json: model.vocab: is not a list of pieces and scores");
}

/// The largest sum over all cuts, by trying them all.
static double bestByTrial(const std::map<std::string, double> &scores, std::string_view text, double unknown) {
  if (text.empty())
    return 0;
  double best = -INFINITY;
  for (size_t length = 1; length <= text.size(); ++length) {
    auto found = scores.find(std::string(text.substr(0, length)));
    if (found == scores.end() && length > 1)
      continue;
    double score = found == scores.end() ? unknown : found->second;
    best = std::max(best, score + bestByTrial(scores, text.substr(length), unknown));
  }
  return best;
}

TEST(Unigram, EqualsTryingAllCuts) {
  std::mt19937 random(29);
  for (int round = 0; round < 60; ++round) {
    std::map<std::string, double> scores;
    std::vector<std::string> byId = {"<unk>"};
    std::string pieces = R"(["<unk>", 0])";
    for (int count = 0; count < 14; ++count) {
      std::string piece;
      for (unsigned length = 1 + random() % 4; length > 0; --length)
        piece += char('a' + random() % 3);
      double score = -double(random() % 1000) / 64;
      if (!scores.emplace(piece, score).second)
        continue;
      pieces += ", [\"" + piece + "\", " + std::to_string(score) + "]";
      byId.push_back(piece);
    }
    auto tokenizer = load(unigram(pieces));
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    double least = 0;
    for (auto &[piece, score] : scores) {
      score = std::stod(std::to_string(score)); // as the file has it
      least = std::min(least, score);
    }
    for (int texts = 0; texts < 10; ++texts) {
      std::string text;
      for (unsigned length = 1 + random() % 12; length > 0; --length)
        text += char('a' + random() % 3);
      double sum = 0;
      size_t covered = 0, unknown = 0;
      for (int32_t id : idsOf(**tokenizer, text)) {
        unknown += id == 0;
        covered += id == 0 ? 0 : byId[size_t(id)].size();
        sum += id == 0 ? 0 : scores.at(byId[size_t(id)]);
      }
      sum += double(text.size() - covered) * (least - 10);
      EXPECT_NEAR(sum, bestByTrial(scores, text, least - 10), 1e-9) << text;
      EXPECT_EQ(unknown > 0, covered < text.size());
    }
  }
}

// Fault 39: one word of a megabyte is cut in time bounded by the longest piece; a larger one is refused with its size.
TEST(Unigram, LongWordsAreLinearOrRefused) {
  auto tokenizer = load(unigram(R"(["<unk>", 0], ["a", -1], ["aa", -1.5], [")" + std::string(500, 'a') + R"(b", -1])"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(idsOf(**tokenizer, std::string(200'000, 'a')).size(), 100'000u);
  EXPECT_EQ(idsOf(**tokenizer, std::string(size_t(1) << 20, 'x')), (Ids{0}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  auto refused = (*tokenizer)->encode(std::string((size_t(1) << 24) + 1, 'a'));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a stretch of 16777217 bytes"), std::string::npos) << refused.error().message;
}
