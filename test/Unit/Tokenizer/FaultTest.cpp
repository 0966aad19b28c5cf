//===- FaultTest.cpp - Damaged and hostile tokenizer files -----------------===//
#include "test/Unit/Tokenizer/Samples.h"
#include <random>

using namespace rapt;
using namespace rapt::test;

static std::string modelError(const std::string &vocabulary, const std::string &merges, const std::string &more = "") {
  return loadError(sampleJson("", R"({"type": "BPE", )" + more + R"("vocab": {)" + vocabulary + R"(}, "merges": [)" +
                                      merges + "]}"));
}

TEST(TokenizerFault, TheFixtureIsGood) { EXPECT_EQ(loadError(sampleJson()), ""); }

// Fault 36.
TEST(TokenizerFault, IdsThatAreNegativeDuplicateOrAbsurd) {
  EXPECT_EQ(modelError(R"("a": 0, "b": -1)", ""),
            "tokenizer.json: model.vocab: token 'b' has id -1, which is negative");
  EXPECT_EQ(modelError(R"("a": 7, "b": 7)", ""),
            "tokenizer.json: model.vocab: token 'b' has id 7, which token 'a' has too");
  EXPECT_EQ(modelError(R"("a": 2000000000)", ""),
            "tokenizer.json: model.vocab: token 'a' has id 2000000000, above the limit of 16777215");
  EXPECT_EQ(modelError(R"("a": 1.5)", ""), "tokenizer.json: model.vocab: the id of token 'a' is not an integer");
  auto added = [](const std::string &entries) {
    return loadError(sampleJson("\"added_tokens\": [" + entries + "], "));
  };
  EXPECT_EQ(added(R"({"id": 1, "content": "x"})"),
            "tokenizer.json: added_tokens[0]: token 'x' has id 1, which token 'b' has too");
  EXPECT_EQ(added(R"({"id": 9, "content": "a"})"),
            "tokenizer.json: added_tokens[0]: token 'a' has id 9, but 0 in the model's vocabulary");
  EXPECT_EQ(added(R"({"id": 6, "content": "x"}, {"id": 6, "content": "y"})"),
            "tokenizer.json: added_tokens[1]: token 'y' has id 6, which another added token has too");
  EXPECT_EQ(added(R"({"id": -2, "content": "x"})"),
            "tokenizer.json: added_tokens[0]: token 'x' has id -2, which is out of range");
  EXPECT_EQ(added(R"({"id": 6, "content": "x"})"), "");
}

// Each place of a text is compared with the added tokens, so that these are bounded.
TEST(TokenizerFault, AddedTokensThatAreTooLong) {
  auto added = [](size_t bytes, const std::string &more = "") {
    return loadError(
        sampleJson(R"("added_tokens": [{"id": 6, "content": ")" + std::string(bytes, 'x') + "\"}], " + more));
  };
  const std::string doubling = R"("normalizer": {"type": "Replace", "pattern": {"String": "x"}, "content": "yy"}, )";
  EXPECT_EQ(added(512), "");
  EXPECT_NE(added(513).find("tokenizer.json: added_tokens[0]: token 'xxx"), std::string::npos);
  EXPECT_NE(added(513).find("' has 513 bytes; the limit is 512"), std::string::npos) << added(513);
  EXPECT_EQ(added(256, doubling), "");
  const std::string doubled = added(257, doubling);
  EXPECT_NE(doubled.find("': has 514 bytes when it is normalized; the limit is 512"), std::string::npos) << doubled;
}

TEST(TokenizerFault, IdsBeyondTheEmbeddingsAreErrorsWhenEncoded) {
  auto tokenizer = load(sampleJson());
  EncodeOptions options;
  options.embeddingRows = 4;
  EXPECT_TRUE((*tokenizer)->encode("ab", options));
  auto ids = (*tokenizer)->encode("abc", options);
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().message,
            "the text has the token 'abc' with id 4, but the model has embeddings only for ids below 4");
}

// Fault 37.
TEST(TokenizerFault, MergesOfUnknownTokens) {
  EXPECT_EQ(modelError(R"("a": 0, "b": 1, "ab": 2)", R"("a b", "b q")"),
            "tokenizer.json: model: merge 1 ('b' + 'q') needs token 'q', which the vocabulary lacks");
  EXPECT_EQ(modelError(R"("a": 0, "b": 1)", R"("a b")"),
            "tokenizer.json: model: merge 0 ('a' + 'b') needs token 'ab', which the vocabulary lacks");
  EXPECT_EQ(modelError(R"("a": 0)", R"("a")"),
            "tokenizer.json: model.merges[0]: is neither \"a b\" nor [\"a\", \"b\"]");
  EXPECT_EQ(modelError(R"("a": 0)", "", R"("unk_token": "<unk>", )"),
            "tokenizer.json: model: unk_token '<unk>' is not in the vocabulary");
}

// Fault 38, in the file; the matcher's limits are in RegexTest.
TEST(TokenizerFault, PathologicalRegularExpressions) {
  auto tokenizer = load(
      sampleJson(R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"}, )"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  auto ids = (*tokenizer)->encode(std::string(60, 'a') + "b");
  ASSERT_FALSE(ids);
  EXPECT_NE(ids.error().message.find("the regular expression '(a+)+$' gave up at byte 0 of 61"), std::string::npos)
      << ids.error().message;
  EXPECT_NE(loadError(sampleJson(
                          R"("pre_tokenizer": {"type": "Split", "pattern": {"Regex": "["}, "behavior": "Isolated"}, )"))
                .find("tokenizer.json: pre_tokenizer.pattern: the regular expression '[' is refused"),
            std::string::npos);
}

// Fault 39.
TEST(TokenizerFault, PromptsThatAreNotUtf8) {
  auto tokenizer = load(sampleJson());
  EXPECT_EQ((*tokenizer)->encode("ab\xFF").error().message, "the text is not valid UTF-8 at byte 2 of 3");
  EXPECT_EQ((*tokenizer)->encode("\xED\xA0\x80").error().message, "the text is not valid UTF-8 at byte 0 of 3");
}

// Faults 94 and 95.
TEST(TokenizerFault, OtherThingsInPlaceOfTheFile) {
  EXPECT_EQ(loadError("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
            "tokenizer.json: is a Git LFS pointer, not the file itself; run `git lfs pull` in the model's directory");
  EXPECT_EQ(loadError("<!DOCTYPE html><html></html>"),
            "tokenizer.json: is an HTML page, not JSON; the download failed");
  EXPECT_EQ(loadError("[]"), "tokenizer.json: is not a JSON object");
  EXPECT_EQ(loadError("\xEF\xBB\xBF" + sampleJson()), "");
  EXPECT_NE(loadError(sampleJson("\"version\": NaN, ")), "");
  EXPECT_NE(loadError(sampleJson().substr(0, 60)), "");
  EXPECT_NE(loadError(sampleJson("\"decoder\": " + std::string(100'000, '[') + ", ")), "");
  EXPECT_EQ(loadError("{}"), "tokenizer.json: model: is not an object");
}

TEST(TokenizerFault, UnsupportedPartsAreNamed) {
  auto part = [](const std::string &member, const std::string &type) {
    return loadError(sampleJson("\"" + member + "\": {\"type\": \"" + type + "\"}, "));
  };
  EXPECT_NE(part("normalizer", "Other").find("tokenizer.json: normalizer: the normalizer 'Other' is not supported"),
            std::string::npos);
  EXPECT_NE(part("pre_tokenizer", "UnicodeScripts")
                .find("tokenizer.json: pre_tokenizer: the pre-tokenizer 'UnicodeScripts' is not supported"),
            std::string::npos);
  EXPECT_NE(part("decoder", "CTC").find("tokenizer.json: decoder: the decoder 'CTC' is not supported"),
            std::string::npos);
  EXPECT_NE(part("post_processor", "Other")
                .find("tokenizer.json: post_processor: the post-processor 'Other' is not supported"),
            std::string::npos);
  EXPECT_EQ(
      loadError(sampleJson("", R"({"type": "CharLevel", "vocab": {}})")),
      "tokenizer.json: model: the model 'CharLevel' is not supported (BPE, WordPiece, WordLevel and Unigram are); pass "
      "token ids instead of text");
  EXPECT_EQ(loadError(sampleJson("\"surprise\": 1, ")), "tokenizer.json: the member 'surprise' is not understood");
  EXPECT_EQ(modelError(R"("a": 0)", "", R"("surprise": 1, )"),
            "tokenizer.json: model: the member 'surprise' is not understood");
}

TEST(TokenizerFault, MutatedFilesNeverCrash) {
  std::mt19937 random(17);
  size_t read = 0, refused = 0;
  for (const char *name : {"byte-level", "nfkc-digits", "sentence-prepend", "llama-3", "metaspace-first"}) {
    const OwnVector own = loadOwn(name);
    const std::string original = json::write(*own.root.find("tokenizer"));
    for (int round = 0; round < 120; ++round) {
      std::string mutated = original;
      for (unsigned edits = 1 + random() % 6; edits > 0; --edits) {
        // Half of the edits fall on the head of the file, which holds everything but the vocabulary.
        size_t range = random() % 2 ? std::min<size_t>(mutated.size(), 2500) : mutated.size();
        size_t at = random() % range;
        static const char *const snippets[] = {
            "null",    "{",       "}", "[", "]",   "\"", "-1",  "1e999", "99999999999999999999",
            "\\u0000", "\\ud800", ",", ":", "(?=", "*",  "\xFF"};
        switch (random() % 4) {
        case 0:
          mutated[at] = char(random());
          break;
        case 1:
          mutated.erase(at, 1 + random() % 12);
          break;
        case 2:
          mutated.insert(at, snippets[random() % std::size(snippets)]);
          break;
        case 3:
          mutated.insert(at, mutated.substr(random() % mutated.size(), random() % 40));
          break;
        }
      }
      auto tokenizer = load(mutated);
      if (!tokenizer) {
        ++refused;
        ASSERT_NE(tokenizer.error().message.find("tokenizer.json"), std::string::npos) << tokenizer.error().message;
        ASSERT_EQ(tokenizer.error().message.find('\n'), std::string::npos);
        continue;
      }
      ++read;
      if (auto ids = (*tokenizer)->encode("The text: isn't 123 é <|end|> 日本\n"))
        (void)(*tokenizer)->decode(*ids);
    }
  }
  EXPECT_GT(read, 10u);
  EXPECT_GT(refused, 100u);
}
