//===- VectorTest.cpp - Ids that other implementations give ----------------===//
//
// Real tokenizers with 46 texts each lie beside the checkout on some machines;
// where they do not, those cases are skipped and counted.
//
//===----------------------------------------------------------------------===//
#include "lib/Tokenizer/Tokenizer.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace rapt;

static std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
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
  std::filesystem::path folder = std::filesystem::path(RAPT_SHARED_VECTORS) / GetParam();
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
    if (std::string_view(GetParam()) != "llama-spm") { // its file has no decoder
      auto text = (*tokenizer)->decode(*ids);
      ASSERT_TRUE(text);
      EXPECT_EQ(*text, texts[index]);
    }
  }
  RecordProperty("cases", int(texts.size()));
}

INSTANTIATE_TEST_SUITE_P(Real, SharedVectors, testing::Values("gpt-2", "falcon", "llama-spm"), [](const auto &info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});
