//===- VectorTest.cpp - Ids that other implementations give ----------------===//
//
// Real tokenizers with 46 texts each lie beside the checkout on some machines;
// where they do not, those cases are skipped and counted.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Tokenizer/Samples.h"
#include <algorithm>

using namespace rapt;
using namespace rapt::test;

template <typename Name> static std::string testName(const testing::TestParamInfo<Name> &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// The texts of inputs.txt: separated by a line that holds the separator.
static std::vector<std::string> splitTexts(const std::string &content) {
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (size_t begin = 0; begin < content.size();) {
    size_t end = content.find(separator, begin);
    texts.push_back(content.substr(begin, end - begin));
    begin = end == std::string::npos ? content.size() : end + separator.size();
  }
  return texts;
}

static std::vector<std::vector<int32_t>> readIds(const std::string &content) {
  std::vector<std::vector<int32_t>> lists;
  std::istringstream lines(content);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream numbers(line);
    auto &list = lists.emplace_back();
    for (int32_t id; numbers >> id;)
      list.push_back(id);
  }
  return lists;
}

class SharedVectors : public testing::TestWithParam<const char *> {};

TEST_P(SharedVectors, MatchIdsOfTheReference) {
  std::filesystem::path folder = std::filesystem::path(inSource("/../shared/tokenizer-vectors")) / GetParam();
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no vectors at " << folder;
  std::string json = readFile(folder / "tokenizer.json"), config = readFile(folder / "tokenizer_config.json");
  auto tokenizer = Tokenizer::create({.tokenizerJson = json, .tokenizerConfig = config});
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto texts = splitTexts(readFile(folder / "inputs.txt"));
  auto expected = readIds(readFile(folder / "ids.txt"));
  ASSERT_EQ(texts.size(), expected.size());
  EncodeOptions options;
  options.addSpecialTokens = false;
  for (size_t index = 0; index < texts.size(); ++index) {
    auto ids = (*tokenizer)->encode(texts[index], options);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(*ids, expected[index]) << "text " << index << ": " << texts[index];
    // The file of llama-spm has no decoder, and BERT's pieces do not say what the text was.
    if (!std::string_view(GetParam()).starts_with("llama") && !std::string_view(GetParam()).starts_with("bert")) {
      auto text = (*tokenizer)->decode(*ids);
      ASSERT_TRUE(text);
      EXPECT_EQ(*text, texts[index]);
    }
  }
  RecordProperty("cases", int(texts.size()));
}

INSTANTIATE_TEST_SUITE_P(Real, SharedVectors, testing::Values("gpt-2", "falcon", "llama-spm", "bert-bge"),
                         testName<const char *>);

static std::vector<int32_t> numbers(const json::Value &list) {
  std::vector<int32_t> ids;
  for (const json::Value &id : *list.asArray())
    ids.push_back(int32_t(*id.asInteger()));
  return ids;
}

/// Made by test/Tokenizer/make-vectors.mjs with Hugging Face's own library.
class OwnVectors : public testing::TestWithParam<std::string> {};

static std::vector<std::string> ownVectors() {
  std::vector<std::string> names;
  for (const auto &entry : std::filesystem::directory_iterator(inSource("/test/Tokenizer/vectors")))
    names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

TEST_P(OwnVectors, MatchIdsAndTextsOfTheReference) {
  OwnVector own = loadOwn(GetParam());
  ASSERT_TRUE(own.tokenizer);
  size_t cases = 0;
  for (const json::Value &item : *own.root.find("cases")->asArray()) {
    const std::string &text = *item.find("text")->asString();
    ++cases;
    if (const json::Value *second = item.find("pair")) {
      auto pair = own.tokenizer->encodePair(text, *second->asString());
      ASSERT_TRUE(pair) << pair.error().message;
      EXPECT_EQ(pair->ids, numbers(*item.find("ids"))) << "pair: '" << text << "', '" << *second->asString() << "'";
      EXPECT_EQ(pair->types, numbers(*item.find("types"))) << "pair: '" << text << "'";
      continue;
    }
    EXPECT_EQ(idsOf(*own.tokenizer, text), numbers(*item.find("ids"))) << "text: '" << text << "'";
    const json::Value *withoutSpecial = item.find("bare");
    std::vector<int32_t> bare = numbers(withoutSpecial ? *withoutSpecial : *item.find("ids"));
    EXPECT_EQ(idsOf(*own.tokenizer, text, false), bare) << "text: '" << text << "'";
    auto decoded = own.tokenizer->decode(bare, false);
    ASSERT_TRUE(decoded) << decoded.error().message;
    const json::Value *expected = item.find("decoded");
    if (!expected || expected->isString())
      EXPECT_EQ(*decoded, expected ? *expected->asString() : text) << "text: '" << text << "'";
  }
  EXPECT_GT(cases, 16u);
}

INSTANTIATE_TEST_SUITE_P(Small, OwnVectors, testing::ValuesIn(ownVectors()), testName<std::string>);
