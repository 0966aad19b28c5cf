// The facts about a model in the manifest, out and in.
#include "lib/Support/ModelFacts.h"
#include <gtest/gtest.h>

using namespace rapt;

namespace {

/// Facts of which each is given.
ModelFacts someFacts() {
  ModelFacts facts;
  int64_t next = 1;
  struct {
    int64_t &next;
    void operator()(fact::Text &text) { text = "t" + std::to_string(next++); }
    void operator()(fact::Number &number) { number = next++; }
    void operator()(fact::Id &id) { id = next++; }
    void operator()(fact::Numbers &numbers) { numbers = {next, next + 1}, next += 2; }
    void operator()(fact::Names &names) { names = {"n" + std::to_string(next++)}; }
  } fill{next};
  visitFacts(facts, [&](const FactRow &, auto &fact) { fill(fact); });
  return facts;
}

std::string errorOf(const std::string &text) {
  ModelFacts facts;
  const Status read = readFacts(*json::parse(text), facts);
  return read ? "" : read.error().message;
}

} // namespace

TEST(ModelFacts, ComeBackAsTheyWere) {
  const ModelFacts written = someFacts();
  ModelFacts read, expected = written;
  ASSERT_TRUE(bool(readFacts(json::Value(describeFacts(written)), read)));
  EXPECT_FALSE(read == expected);
  expected.labels = expected.keys = 0; // which the manifest never has
  EXPECT_TRUE(read == expected);
}

TEST(ModelFacts, NoneIsLeftOut) {
  EXPECT_EQ(
      json::write(json::Value(describeFacts({}))),
      R"({"family":"","task":"","layers":0,"hidden":0,"heads":0,"kv_heads":0,"head_dim":0,"vocab":0,"positions":0,)"
      R"("parameters":0,"source_dtype":"","eos":[]})");
  ModelFacts read = someFacts(), none;
  ASSERT_TRUE(bool(readFacts(*json::parse("{}"), none)));
  EXPECT_TRUE(none == ModelFacts());
  EXPECT_EQ(none.imageId(), -1);
  EXPECT_EQ(none.longestSource(7), 7);
  EXPECT_EQ(read.longestSource(7), read.sourcePositions);
}

TEST(ModelFacts, WrongOnesAreTold) {
  EXPECT_EQ(errorOf(R"({"layers": "many"})"), "\"layers\" is many, not an integer from 0 to 1099511627776");
  EXPECT_EQ(errorOf(R"({"layers": 2.0})"), "\"layers\" is 2.0, not an integer from 0 to 1099511627776");
  EXPECT_EQ(errorOf(R"({"image_token": -1})"), "\"image_token\" is -1, not an integer from 0 to 2147483647");
  EXPECT_EQ(errorOf(R"({"image_token": null})"), "\"image_token\" is no number, not an integer from 0 to 2147483647");
  EXPECT_EQ(errorOf(R"({"eos": 3})"), "\"eos\" is no list");
  EXPECT_EQ(errorOf(R"({"adapters": [1]})"), "\"adapters\" is no text");
  EXPECT_EQ(errorOf(R"({"task": "a\u0000b"})"), "\"task\" is no text");
  EXPECT_EQ(errorOf(R"({"other": 3})"), "");
}

TEST(ModelFacts, HaveKeys) {
  EXPECT_STREQ(keyOf(&ModelFacts::kvHeads), "kv_heads");
  EXPECT_STREQ(keyOf(&ModelFacts::endTokens), "eos");
}
