//===- RoundTripTest.cpp - Text comes back as it was -----------------------===//
#include "lib/Tokenizer/Unicode.h"
#include "test/Unit/Tokenizer/Samples.h"
#include <random>

using namespace rapt;
using namespace rapt::test;

/// Random valid text: all planes, with runs of the characters that tokenizers treat specially.
static std::string randomText(std::mt19937 &random) {
  std::string text;
  for (unsigned length = random() % 60; length > 0; --length) {
    switch (random() % 5) {
    case 0:
      unicode::append(text, char32_t(random() % 0x80));
      break;
    case 1:
      text += ' ';
      break;
    case 2: {
      char32_t character = char32_t(random() % 0x110000);
      unicode::append(text, character >= 0xD800 && character < 0xE000 ? U'é' : character);
      break;
    }
    case 3:
      unicode::append(text, char32_t(0x80 + random() % 0x780));
      break;
    case 4:
      unicode::append(text, "'\n\t▁<>|0é\u0301\u00A0\u3000"[0] + char32_t(random() % 4));
      break;
    }
  }
  return text;
}

class RoundTrip : public testing::TestWithParam<const char *> {};

TEST_P(RoundTrip, IsExactForAnyText) {
  OwnVector own = loadOwn(GetParam());
  ASSERT_TRUE(own.tokenizer);
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    std::string text = randomText(random);
    std::vector<int32_t> ids = idsOf(*own.tokenizer, text, false);
    // In one go, and from token to token: what came is never taken back and always valid.
    EXPECT_EQ(*own.tokenizer->decode(ids, false), text);
    Decoding decoding = own.tokenizer->startDecoding();
    std::string streamed;
    for (int32_t id : ids) {
      ASSERT_TRUE(own.tokenizer->decodeNext(decoding, id, false, streamed));
      ASSERT_TRUE(text.starts_with(streamed));
      ASSERT_EQ(unicode::findInvalid(streamed), std::nullopt);
    }
    decoding.finish(streamed);
    ASSERT_EQ(streamed, text);
    // The bytes of the tokens, put together, are the text's.
    std::string bytes;
    for (int32_t id : ids)
      bytes += *own.tokenizer->tokenBytes(id);
    ASSERT_EQ(bytes, text);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RoundTrip, testing::Values("byte-level", "llama-3"), [](const auto &info) {
  return std::string(info.param) == "llama-3" ? "llama_3" : "byte_level";
});

// Any list of ids decodes to valid text, streamed or not.
TEST(RoundTrip, AnyIdsGiveValidText) {
  for (const char *name : {"byte-level", "sentence-prepend", "metaspace-always"}) {
    OwnVector own = loadOwn(name);
    std::mt19937 random(5);
    for (int round = 0; round < 2000; ++round) {
      std::vector<int32_t> ids;
      for (unsigned length = random() % 20; length > 0; --length)
        ids.push_back(int32_t(random() % unsigned(own.tokenizer->vocabularySize())));
      auto text = own.tokenizer->decode(ids);
      ASSERT_TRUE(text);
      ASSERT_EQ(unicode::findInvalid(*text), std::nullopt);
    }
    EXPECT_FALSE(own.tokenizer->decode({own.tokenizer->vocabularySize()}));
    EXPECT_FALSE(own.tokenizer->decode({-1}));
  }
}
