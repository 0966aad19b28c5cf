// Ids by the definition of transformers' ByT5Tokenizer: a byte plus 3, </s> (1) behind a text, masked spans from 259
// on.
#include "lib/Formats/HuggingFace/ByteTokenizer.h"
#include "lib/Tokenizer/Tokenizer.h"
#include <gtest/gtest.h>

using namespace rapt;

namespace {

std::unique_ptr<Tokenizer> open(int64_t extraIds) {
  const std::string json = huggingface::makeByteTokenizer(extraIds);
  Expected<std::unique_ptr<Tokenizer>> made = Tokenizer::create({.tokenizerJson = json});
  EXPECT_TRUE(bool(made)) << made.error().message;
  return made ? std::move(*made) : nullptr;
}

using Ids = std::vector<int32_t>;

TEST(ByteTokenizer, IdsAreBytes) {
  auto tokenizer = open(125);
  ASSERT_TRUE(tokenizer);
  for (std::string text : {"", "a", "Hello  world\n", "a\xc3\xb1o \xe6\x97\xa5 \xf0\x9f\x98\x80", "\x01\x7f"}) {
    Ids expected;
    for (unsigned char byte : text)
      expected.push_back(byte + 3);
    expected.push_back(1);
    EXPECT_EQ(*tokenizer->encode(text), expected) << text;
    expected.pop_back();
    EXPECT_EQ(*tokenizer->decode(expected), text);
  }
}

TEST(ByteTokenizer, SpecialTokens) {
  auto tokenizer = open(125);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(*tokenizer->encode("a <extra_id_0> b<extra_id_124>"), (Ids{100, 35, 259, 35, 101, 383, 1}));
  EXPECT_EQ(*tokenizer->encode("a </s> b"), (Ids{100, 1, 101, 1})); // the spaces are the token's
  EXPECT_EQ(tokenizer->encodePair("a", "b")->ids, (Ids{100, 1, 101, 1}));
  EXPECT_EQ(tokenizer->tokenId("<pad>"), 0);
  EXPECT_EQ(open(2)->tokenId("<extra_id_2>"), std::nullopt);
}

} // namespace
