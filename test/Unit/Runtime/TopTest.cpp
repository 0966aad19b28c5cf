// Steps that tell the most likely tokens instead of logits.
#include "FakeModel.h"
#include "rapt/rapt_top.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace rapt::test;

namespace {

/// Memory for the most likely tokens of a chunk.
struct Top {
  explicit Top(int64_t count, int64_t among = 0) : ids(size_t(count), 7), logits(size_t(count), 7.0f) {
    top = {sizeof top, count, among, ids.data(), logits.data()};
  }
  std::vector<int32_t> ids;
  std::vector<float> logits;
  rapt_top top;
};

/// The ids of the most likely tokens after a text, sorted.
std::vector<int32_t> expectedIds(const Text &text, size_t count, int among) {
  std::vector<int32_t> ids(static_cast<size_t>(among));
  std::iota(ids.begin(), ids.end(), 0);
  auto logit = [&](int32_t id) { return expectedLogit(text, int64_t(text.size()) - 1, id); };
  std::sort(ids.begin(), ids.end(),
            [&](int32_t a, int32_t b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  ids.resize(count, -1);
  return ids;
}

void expectTop(const Top &top, const Text &text) {
  const int among = top.top.among ? int(top.top.among) : vocabulary;
  EXPECT_EQ(top.ids, expectedIds(text, top.ids.size(), among));
  for (size_t i = 0; i < top.ids.size(); ++i)
    EXPECT_EQ(top.logits[i], top.ids[i] < 0 ? -INFINITY : expectedLogit(text, int64_t(text.size()) - 1, top.ids[i]));
}

TEST(Top, ChunksOfEveryKind) {
  rapt_context_options options{};
  options.cache_tokens = 1024;
  Context context(options);
  const Text texts[4] = {someText(90, 1), someText(1, 2), someText(20, 3), someText(5, 4)};
  Top tops[4] = {Top(3), Top(300, 250), Top(0), Top(1, 1)};
  std::vector<rapt_chunk> chunks;
  std::vector<rapt_top> list;
  for (int i = 0; i < 4; ++i) {
    chunks.push_back(makeChunk(context.sequence(), texts[i], i == 2 ? RAPT_LOGITS_ALL : RAPT_LOGITS_LAST));
    list.push_back(tops[i].top);
  }
  ASSERT_EQ(rapt_step_top(context, chunks.data(), list.data(), 4, context.message.text, context.message.size), RAPT_OK)
      << context.message.text;
  for (int i : {0, 1, 3}) {
    expectTop(tops[i], texts[i]);
    EXPECT_EQ(chunks[size_t(i)].logits, nullptr);
  }
  for (int64_t t = 0; t < 20; ++t)
    EXPECT_TRUE(isAnswer(chunks[2].logits + t * vocabulary, texts[2], t));
}

TEST(Top, RefusesAndChangesNothing) {
  Context context;
  const rapt_sequence s = context.sequence();
  const Text one = {5};
  float output[vocabulary];
  auto step = [&](rapt_top top, int32_t want = RAPT_LOGITS_LAST, float *to = nullptr) {
    rapt_chunk chunk = makeChunk(s, one, want);
    chunk.output = to;
    chunk.output_bytes = sizeof output;
    return rapt_step_top(context, &chunk, &top, 1, context.message.text, context.message.size);
  };
  Top good(2);
  auto with = [&](auto change) {
    rapt_top top = good.top;
    change(top);
    return top;
  };
  Message &m = context.message;
  EXPECT_FAILS(step(with([](rapt_top &t) { t.count = 1025; })), RAPT_INVALID, m, "top 0 asks for 1025", "0 to 1024");
  EXPECT_FAILS(step(with([](rapt_top &t) { t.count = -1; })), RAPT_INVALID, m, "top 0 asks for -1");
  EXPECT_FAILS(step(with([](rapt_top &t) { t.among = vocabulary + 1; })), RAPT_INVALID, m, "among 258", "0 to 257");
  EXPECT_FAILS(step(with([](rapt_top &t) { t.among = -1; })), RAPT_INVALID, m, "among -1");
  EXPECT_FAILS(step(with([](rapt_top &t) { t.ids = nullptr; })), RAPT_INVALID, m, "top 0: its ids are at");
  EXPECT_FAILS(step(with([](rapt_top &t) { t.logits = nullptr; })), RAPT_INVALID, m, "its logits at");
  EXPECT_FAILS(step(with([](rapt_top &t) { t.size = 8; })), RAPT_INVALID, m, "rapt_top", "size 8");
  EXPECT_FAILS(step(good.top, RAPT_LOGITS_ALL), RAPT_INVALID, m, "chunk 0 has a top", "RAPT_LOGITS_LAST");
  EXPECT_FAILS(step(good.top, RAPT_LOGITS_NONE), RAPT_INVALID, m, "chunk 0 has a top");
  EXPECT_FAILS(step(good.top, RAPT_LOGITS_LAST, output), RAPT_INVALID, m, "chunk 0 has a top", "without output");
  rapt_chunk chunk = makeChunk(s, one);
  EXPECT_FAILS(rapt_step_top(context, &chunk, nullptr, 1, m.text, m.size), RAPT_INVALID, m, "the tops are NULL");
  EXPECT_EQ(rapt_sequence_length(context, s), 0);
  EXPECT_EQ(good.ids, (std::vector<int32_t>{7, 7}));
  ASSERT_EQ(step(good.top), RAPT_OK);
  expectTop(good, one);
}

} // namespace
