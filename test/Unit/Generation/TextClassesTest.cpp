// The classes of rapt_text.hpp: results of any length, and errors that leave nothing behind.
#include "rapt/rapt_text.hpp"
#include <gtest/gtest.h>

using rapt::Outcome;

namespace {

constexpr std::string_view json =
    R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}, "decoder": {"type": "Fuse"}})";

rapt::text::Tokenizer open() {
  auto files = rapt::sized<rapt_tokenizer_files>();
  files.tokenizer_json = rapt::text::viewOf(json);
  rapt::text::Tokenizer tokenizer;
  EXPECT_TRUE(rapt::text::Tokenizer::open(files, tokenizer));
  return tokenizer;
}

TEST(TextClasses, Tokenizer) {
  const rapt::text::Tokenizer tokenizer = open(), same = tokenizer;
  EXPECT_TRUE(same);
  EXPECT_EQ(tokenizer.vocabulary(), 3);
  EXPECT_EQ(tokenizer.find("ab"), 2);
  EXPECT_EQ(tokenizer.role(RAPT_TOKEN_END), -1);
  std::vector<int32_t> ids, types;
  std::string text;
  ASSERT_TRUE(tokenizer.encode("abba", ids));
  EXPECT_EQ(ids, (std::vector<int32_t>{2, 1, 0}));
  ASSERT_TRUE(same.decode(ids, text));
  EXPECT_EQ(text, "abba");
  ASSERT_TRUE(tokenizer.encodePair("abab", {}, ids, types));
  EXPECT_EQ(ids.size(), types.size());
  std::vector<rapt_token_span> spans;
  ASSERT_TRUE(tokenizer.spans("abab", {}, spans));
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[1].end, 4u);
  std::string bytes;
  ASSERT_TRUE(tokenizer.token(2, bytes));
  EXPECT_EQ(bytes, "ab");
}

TEST(TextClasses, ResultsAreEmptyWhereACallFails) {
  const rapt::text::Tokenizer tokenizer = open();
  std::vector<int32_t> ids = {1, 2};
  const Outcome outcome = tokenizer.encode("a\xff", ids);
  EXPECT_EQ(outcome.status, RAPT_INVALID);
  EXPECT_FALSE(outcome.message.empty());
  EXPECT_TRUE(ids.empty());
}

TEST(TextClasses, AStreamHoldsStopsBack) {
  rapt::text::Stream stream;
  ASSERT_TRUE(rapt::text::Stream::open(open(), {"ba"}, stream));
  std::string text;
  bool stopped = false;
  for (int32_t id : {0, 1}) {
    ASSERT_TRUE(stream.feed(id, text, &stopped));
    EXPECT_EQ(text, "a");
    EXPECT_FALSE(stopped);
  }
  ASSERT_TRUE(stream.feed(0, text, &stopped));
  EXPECT_TRUE(stopped);
  ASSERT_TRUE(stream.finish(text));
  EXPECT_EQ(text, "a");
}

TEST(TextClasses, ASamplerAndItsCopyDrawTheSame) {
  auto options = rapt::sized<rapt_sampler_options>();
  options.temperature = 1;
  options.seed = 7;
  rapt::text::Sampler one, other;
  ASSERT_TRUE(rapt::text::Sampler::open(options, one));
  ASSERT_TRUE(one.accept({0, 1}));
  ASSERT_TRUE(one.copy(other));
  EXPECT_EQ(one.topNeeded(), 0);
  const float logits[] = {1, 2, 3};
  for (int draw = 0; draw < 8; ++draw) {
    int32_t a = -1, b = -1;
    ASSERT_TRUE(one.sample(logits, 3, a));
    ASSERT_TRUE(other.sample(logits, 3, b));
    EXPECT_EQ(a, b);
  }
}

TEST(TextClasses, BeamsGiveTheirBest) {
  auto options = rapt::sized<rapt_beam_options>();
  options.beams = 2;
  options.max_new_tokens = 40; // a result that is longer than what is expected first
  rapt::text::Beams beams;
  ASSERT_TRUE(rapt::text::Beams::open(options, {0}, beams));
  const rapt_beam_step *steps = nullptr;
  const std::vector<float> logits = {1, 2, 3, 1, 2, 3};
  for (size_t rows = 1; rows > 0;)
    ASSERT_TRUE(beams.advance(logits.data(), rows, 3, steps, rows));
  ASSERT_EQ(beams.found(), 1u);
  std::vector<int32_t> ids;
  double score = 0;
  bool ended = true;
  ASSERT_TRUE(beams.result(0, ids, score, ended));
  EXPECT_EQ(ids, std::vector<int32_t>(40, 2));
  EXPECT_LT(score, 0);
  EXPECT_FALSE(ended);
  EXPECT_FALSE(beams.result(1, ids, score, ended));
}

TEST(TextClasses, AChatTemplateMayBeAbsent) {
  rapt::text::ChatTemplate chat;
  ASSERT_TRUE(rapt::text::ChatTemplate::open({}, {}, chat));
  EXPECT_FALSE(chat);
  ASSERT_TRUE(rapt::text::ChatTemplate::open(rapt::text::viewOf("{% for m in messages %}{{ m.content }}{% endfor %}bb"),
                                             {}, chat));
  std::vector<int32_t> ids;
  ASSERT_TRUE(chat.encode(open(), {{"user", "ab"}, {"assistant", "a"}}, 0, ids));
  EXPECT_EQ(ids.back(), 1);
  EXPECT_EQ(chat.encode(open(), {{"user", "ab"}}, 0, ids, nullptr, {1, 2}).status, RAPT_INVALID);
}

TEST(TextClasses, SettingsOfAFile) {
  rapt::text::GenerationSettings settings;
  EXPECT_EQ(settings.config.beams, 1);
  ASSERT_TRUE(rapt::text::GenerationSettings::read(
      R"({"eos_token_id": [1, 2], "max_new_tokens": 3, "stop_strings": ["x", "a long text that ends another"]})",
      settings));
  EXPECT_EQ(settings.config.max_new_tokens, 3);
  EXPECT_EQ(settings.ends, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(settings.stops, (std::vector<std::string>{"x", "a long text that ends another"}));
  EXPECT_EQ(rapt::text::GenerationSettings::read("{", settings).status, RAPT_BAD_FILE);
}

} // namespace
