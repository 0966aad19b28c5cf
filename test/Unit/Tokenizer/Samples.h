//===- Samples.h - Small tokenizers for the tests --------------------------===//
#pragma once
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Tokenizer.h"
#include "test/Unit/Folders.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <sstream>
#include <string>

namespace rapt::test {

inline std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

/// A tokenizer.json of a character-level BPE with tokens a, b, c, ab, abc and a blank; `more` replaces or adds members,
/// in the form `"decoder": null, `.
inline std::string sampleJson(const std::string &more = "",
                              const std::string &model = R"({"type": "BPE", "unk_token": null,
    "vocab": {"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, " ": 5}, "merges": ["a b", "ab c"]})") {
  return "{" + more + "\"model\": " + model + "}";
}

inline Expected<std::unique_ptr<Tokenizer>> load(const std::string &json, const std::string &config = "") {
  TokenizerFiles files;
  files.tokenizerJson = json;
  files.tokenizerConfig = config;
  return Tokenizer::create(files);
}

/// The error of reading `json`; empty when it is read.
inline std::string loadError(const std::string &json, const std::string &config = "") {
  auto tokenizer = load(json, config);
  return tokenizer ? "" : tokenizer.error().message;
}

inline std::vector<int32_t> idsOf(const Tokenizer &tokenizer, const std::string &text, bool special = true) {
  EncodeOptions options;
  options.addSpecialTokens = special;
  auto ids = tokenizer.encode(text, options);
  EXPECT_TRUE(ids) << (ids ? "" : ids.error().message);
  return ids ? *ids : std::vector<int32_t>{-1};
}

/// One of the project's own vectors: {"tokenizer", "config", "cases"}.
struct OwnVector {
  std::unique_ptr<Tokenizer> tokenizer;
  json::Value root;
};

inline OwnVector loadOwn(const std::string &name) {
  OwnVector vector;
  auto root = json::parse(readFile(inSource("/test/Tokenizer/vectors/" + name + ".json")));
  EXPECT_TRUE(root) << (root ? "" : root.error().message);
  vector.root = *root;
  auto tokenizer = load(json::write(*root->find("tokenizer")), json::write(*root->find("config")));
  EXPECT_TRUE(tokenizer) << (tokenizer ? "" : tokenizer.error().message);
  if (tokenizer)
    vector.tokenizer = std::move(*tokenizer);
  return vector;
}

} // namespace rapt::test
