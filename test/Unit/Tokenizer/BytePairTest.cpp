#include "lib/Tokenizer/BytePairModel.h"
#include "test/Unit/Tokenizer/Samples.h"
#include <chrono>
#include <map>
#include <random>

using namespace rapt;
using namespace rapt::test;
using Ids = std::vector<int32_t>;

static std::string bpe(const std::string &vocabulary, const std::string &merges, const std::string &more = "") {
  return sampleJson("",
                    R"({"type": "BPE", )" + more + R"("vocab": {)" + vocabulary + R"(}, "merges": [)" + merges + "]}");
}

static Ids encode(const std::string &json, const std::string &text) {
  auto tokenizer = load(json);
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  return tokenizer ? idsOf(**tokenizer, text) : Ids{-1};
}

TEST(BytePair, MergesByRankAndThenLeftmost) {
  EXPECT_EQ(encode(sampleJson(), "abcab"), (Ids{4, 3}));
  const std::string vocabulary = R"("a": 0, "b": 1, "c": 2, "bc": 3, "ab": 4, "aa": 5)";
  EXPECT_EQ(encode(bpe(vocabulary, R"("b c", "a b")"), "abc"), (Ids{0, 3}));
  EXPECT_EQ(encode(bpe(vocabulary, R"("a b", "b c")"), "abc"), (Ids{4, 2}));
  EXPECT_EQ(encode(bpe(vocabulary, R"("a a")"), "aaa"), (Ids{5, 0}));
}

TEST(BytePair, ReadsMergesAsPairsAndWithSpacesInThem) {
  EXPECT_EQ(encode(bpe(R"("a": 0, "b": 1, "ab": 2)", R"(["a", "b"])"), "ab"), (Ids{2}));
  EXPECT_EQ(encode(bpe(R"("a": 0, " ": 1, " a": 2)", R"([" ", "a"])"), " a"), (Ids{2}));
}

TEST(BytePair, ObeysItsOptions) {
  const std::string vocabulary = R"("<unk>": 0, "a": 1, "b": 2, "ab": 3, "<0xC3>": 4, "<0xA9>": 5, "abb": 6)";
  EXPECT_EQ(encode(bpe(vocabulary, "", R"("unk_token": "<unk>", )"), "xyaz"), (Ids{0, 0, 1, 0}));
  EXPECT_EQ(encode(bpe(vocabulary, "", R"("unk_token": "<unk>", "fuse_unk": true, )"), "xyaz"), (Ids{0, 1, 0}));
  EXPECT_EQ(encode(bpe(vocabulary, "", R"("unk_token": "<unk>", "byte_fallback": true, )"), "éax"), (Ids{4, 5, 1, 0}));
  EXPECT_EQ(encode(bpe(vocabulary, R"("a b")", R"("ignore_merges": true, )"), "abb"), (Ids{6}));
  EXPECT_EQ(encode(bpe(vocabulary, R"("a b")"), "abb"), (Ids{3, 2}));
  EXPECT_EQ(encode(bpe(vocabulary, R"("a b")", R"("dropout": 0.5, )"), "ab"), (Ids{3}));
  const std::string marked = R"("a": 0, "b</w>": 1, "ab</w>": 2, "a</w>": 3)";
  EXPECT_EQ(encode(bpe(marked, R"("a b</w>")", R"("end_of_word_suffix": "</w>", )"), "ab"), (Ids{2}));
  EXPECT_EQ(encode(bpe(marked, "", R"("end_of_word_suffix": "</w>", )"), "aa"), (Ids{0, 3}));
  const std::string prefixed = R"("a": 0, "##b": 1, "ab": 2)";
  EXPECT_EQ(encode(bpe(prefixed, R"("a ##b")", R"("continuing_subword_prefix": "##", )"), "ab"), (Ids{2}));
}

// As Hugging Face's tokenizers 0.23 do it: what has no token is as if it were not there.
TEST(BytePair, MergesOverDroppedCharactersWithoutUnknownToken) {
  EXPECT_EQ(encode(sampleJson(), "qaqbqqcq"), (Ids{4}));
  EXPECT_EQ(encode(sampleJson(), "qq"), Ids{});
  // A long piece is cut where no merge reaches across, which a dropped character is no place for.
  std::string text, plain;
  for (int part = 0; part < 40; ++part)
    text += "aqbq c", plain += "ab c";
  EXPECT_EQ(encode(sampleJson(), text), encode(sampleJson(), plain));
}

TEST(BytePair, SpellsTheBytesOfAffixesToo) {
  std::string bytes;
  for (const char *name : {"<0x23>", "<0x71>", "<0x3C>", "<0x3E>"})
    bytes += "\"" + std::string(name) + "\": " + std::to_string(bytes.size() / 13) + ", ";
  const std::string affixes = R"("byte_fallback": true, "continuing_subword_prefix": "##", )";
  EXPECT_EQ(encode(bpe(bytes + R"("a": 4, "##a": 5)", "", affixes), "qaq"), (Ids{1, 5, 0, 0, 1}));
  EXPECT_EQ(encode(bpe(bytes + R"("a": 4, "##a<>": 5)", "", affixes + R"("end_of_word_suffix": "<>", )"), "aqa"),
            (Ids{4, 0, 0, 1, 5}));
  EXPECT_EQ(encode(bpe(bytes + R"("a": 4)", "", affixes + R"("end_of_word_suffix": "<>", )"), "q"), (Ids{1, 2, 3}));
  // A byte of the prefix without a token: the character is unknown.
  EXPECT_EQ(encode(bpe(R"("<0x71>": 0, "a": 1, "?": 2)", "", R"("unk_token": "?", )" + affixes), "qaq"),
            (Ids{0, 2, 2}));
}

/// The plain algorithm: merges the best pair of the whole text until there is none.
static Ids mergePlainly(const std::map<std::pair<int32_t, int32_t>, Merge> &merges, Ids symbols) {
  for (;;) {
    size_t best = symbols.size();
    uint32_t rank = UINT32_MAX;
    for (size_t index = 0; index + 1 < symbols.size(); ++index)
      if (auto found = merges.find({symbols[index], symbols[index + 1]});
          found != merges.end() && found->second.rank < rank)
        best = index, rank = found->second.rank;
    if (best == symbols.size())
      return symbols;
    symbols[best] = merges.at({symbols[best], symbols[best + 1]}).id;
    symbols.erase(symbols.begin() + best + 1);
  }
}

// Short words, long words (a heap) and long pieces that are cut first must agree with the plain algorithm.
TEST(BytePair, EqualsThePlainAlgorithmAtEveryLength) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> tokens = {"a", "b", "c", "d", "e"};
    std::map<std::string, int32_t> ids;
    for (const auto &token : tokens)
      ids[token] = int32_t(ids.size());
    std::map<std::pair<int32_t, int32_t>, Merge> merges;
    std::string vocabularyText, mergeText;
    for (uint32_t rank = 0; rank < 20; ++rank) {
      // Tokens from 'd' on never stand on the left, so that the text can be cut.
      std::string left = tokens[random() % tokens.size()], right = tokens[random() % tokens.size()];
      if (left.back() >= 'd' || merges.count({ids[left], ids[right]}))
        continue;
      if (ids.try_emplace(left + right, int32_t(ids.size())).second)
        tokens.push_back(left + right);
      merges[{ids[left], ids[right]}] = {rank, ids[left + right]};
      mergeText += (mergeText.empty() ? "[\"" : ", [\"") + left + "\", \"" + right + "\"]";
    }
    // Ranks as the reader counts them.
    uint32_t next = 0;
    std::map<uint32_t, Merge *> byRank;
    for (auto &[pair, merge] : merges)
      byRank[merge.rank] = &merge;
    for (auto &[rank, merge] : byRank)
      merge->rank = next++;
    for (const auto &[token, id] : ids)
      vocabularyText += (vocabularyText.empty() ? "\"" : ", \"") + token + "\": " + std::to_string(id);
    auto tokenizer = load(bpe(vocabularyText, mergeText));
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    for (size_t length : {1, 2, 7, 31, 32, 33, 63, 64, 65, 200, 700}) {
      std::string text;
      Ids symbols;
      for (size_t index = 0; index < length; ++index) {
        text += char('a' + random() % 5);
        symbols.push_back(text.back() - 'a');
      }
      ASSERT_EQ(idsOf(**tokenizer, text), mergePlainly(merges, symbols)) << text;
    }
  }
}

// Fault 39: a long line takes linear time; one that cannot be cut at all is refused, with its size.
TEST(BytePair, LongLinesAreLinearOrRefused) {
  OwnVector own = loadOwn("sentence-prepend");
  std::string words;
  while (words.size() < (size_t(4) << 20))
    words += "the next word and ";
  auto start = std::chrono::steady_clock::now();
  auto ids = own.tokenizer->encode(words);
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));

  auto tokenizer = load(bpe(R"("a": 0, "aa": 1)", R"("a a")"));
  std::string line(size_t(1) << 20, 'a');
  EXPECT_EQ(idsOf(**tokenizer, line).size(), line.size() / 2);
  line.assign((size_t(4) << 20) + 1, 'a');
  auto refused = (*tokenizer)->encode(line);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a stretch of 4194305 bytes"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("the limit is 4194304 bytes"), std::string::npos) << refused.error().message;
}

TEST(BytePair, StopsEarlyWhenThereAreTooManyIds) {
  for (const char *name : {"byte-level", "sentence-prepend"}) { // many pieces, and a single one
    OwnVector own = loadOwn(name);
    std::string words;
    while (words.size() < 100'000)
      words += " word";
    EncodeOptions options;
    options.stopAbove = 100;
    auto ids = own.tokenizer->encode(words, options);
    ASSERT_TRUE(ids);
    EXPECT_GT(ids->size(), 100u);
    EXPECT_LT(ids->size(), 200u);
  }
}

TEST(BytePair, IdsMayBeThoseOfAnotherVocabulary) {
  auto model = [](const std::string &ids, const std::string &more = "") {
    return sampleJson(
        "", R"({"type": "BPE", "unk_token": "?", "fuse_unk": true, )" + more +
                R"("vocab": {"?": 0, "a": 1, "b": 2, "ab": 3, "abb": 4, "日": 5}, "merges": ["a b", "ab b"], "ids": )" +
                ids + "}");
  };
  // "ab" has no id, and is made on the way to "abb" all the same.
  auto tokenizer = load(model(R"({"?": 9, "a": 4, "b": 0, "abb": 2, "日": 1})"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ(idsOf(**tokenizer, "abbaba日xy"), (std::vector<int32_t>{2, 9, 4, 1, 9}));
  std::string line;
  while (line.size() < 300) // cut where no merge reaches across
    line += "abb日";
  std::vector<int32_t> ids = idsOf(**tokenizer, line);
  EXPECT_EQ(ids.size(), line.size() / 3);
  EXPECT_TRUE(ids[0] == 2 && ids[1] == 1 && ids.back() == 1);
  EXPECT_EQ((*tokenizer)->vocabularySize(), 10);
  auto whole = load(model(R"({"?": 9, "a": 4, "b": 0, "abb": 2})", R"("ignore_merges": true, )"));
  EXPECT_EQ(idsOf(**whole, "abb"), std::vector<int32_t>{2});
  EXPECT_EQ(idsOf(**whole, "日"), std::vector<int32_t>{9});
  EXPECT_EQ(loadError(model(R"({"a": 4})")), "tokenizer.json: model.ids: have no unk_token");
  EXPECT_EQ(loadError(model(R"({"?": "x"})")), "tokenizer.json: model.ids: the id of token '?' is not an integer");
}
