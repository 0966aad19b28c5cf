// Steps of all shapes, and what they refuse (faults 61-64).
#include "FakeModel.h"
#include <cstring>

using namespace rapt::test;

namespace {

TEST(Step, PrefillThenDecode) {
  Context context;
  rapt_sequence s = context.sequence();
  Text text;
  for (int64_t count : {17, 1, 1, 7, 8, 1, 100, 64, 1})
    ASSERT_TRUE(context.appendAndCheck(s, text, someText(count, uint32_t(count)))) << count;
}

TEST(Step, MixedLengthsAndWants) {
  rapt_context_options options{};
  options.cache_tokens = 1024;
  Context context(options);
  rapt_sequence s[5];
  Text texts[5];
  for (int i = 0; i < 5; ++i)
    ASSERT_TRUE(context.appendAndCheck(s[i] = context.sequence(), texts[i], someText(3 + 11 * i, i + 1)));
  // 1 (last), 90 (all, in parts), 2 (none), 33 (all), 1 (last)
  const int64_t counts[5] = {1, 90, 2, 33, 1};
  const rapt_logits wants[5] = {RAPT_LOGITS_LAST, RAPT_LOGITS_ALL, RAPT_LOGITS_NONE, RAPT_LOGITS_ALL, RAPT_LOGITS_LAST};
  Text more[5];
  rapt_chunk chunks[5];
  for (int i = 0; i < 5; ++i)
    chunks[i] = makeChunk(s[i], more[i] = someText(counts[i], 100 + i), wants[i]);
  ASSERT_EQ(rapt_step(context, chunks, 5, context.message.text, context.message.size), RAPT_OK) << context.message.text;
  for (int i = 0; i < 5; ++i) {
    int64_t before = int64_t(texts[i].size());
    texts[i].insert(texts[i].end(), more[i].begin(), more[i].end());
    if (wants[i] == RAPT_LOGITS_NONE)
      EXPECT_EQ(chunks[i].logits, nullptr);
    else if (wants[i] == RAPT_LOGITS_LAST)
      EXPECT_TRUE(isAnswer(chunks[i].logits, texts[i], int64_t(texts[i].size()) - 1)) << i;
    else
      for (int64_t t = 0; t < counts[i]; ++t)
        ASSERT_TRUE(isAnswer(chunks[i].logits + t * vocabulary, texts[i], before + t)) << i << " " << t;
    EXPECT_EQ(rapt_sequence_length(context, s[i]), int64_t(texts[i].size()));
  }
}

/// Outputs of the caller's: aligned or not, contiguous or not; nothing outside them is written.
TEST(Step, WritesToTheCallersMemory) {
  for (int misalignment : {0, 1, 3})
    for (int gap : {0, 5}) {
      rapt_context_options options{};
      options.cache_tokens = 1024;
      options.max_step_tokens = 48;
      Context context(options);
      const int64_t counts[3] = {70, 1, 20};
      std::vector<float> memory(size_t(misalignment + 91 * vocabulary + 3 * gap + 64), -1.f);
      float *base = memory.data();
      while (uintptr_t(base) % 64)
        ++base;
      base += misalignment;
      Text texts[3];
      rapt_chunk chunks[3];
      float *next = base;
      for (int i = 0; i < 3; ++i) {
        texts[i] = someText(counts[i], i + 7);
        chunks[i] = makeChunk(context.sequence(), texts[i], RAPT_LOGITS_ALL);
        chunks[i].output = next;
        chunks[i].output_bytes = size_t(counts[i]) * vocabulary * sizeof(float);
        next += counts[i] * vocabulary + gap;
      }
      ASSERT_EQ(rapt_step(context, chunks, 3, nullptr, 0), RAPT_OK);
      for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(chunks[i].logits, chunks[i].output);
        for (int64_t t = 0; t < counts[i]; ++t)
          ASSERT_TRUE(isAnswer(chunks[i].output + t * vocabulary, texts[i], t)) << misalignment << gap << i << t;
        for (int g = 0; g < gap; ++g)
          EXPECT_EQ(chunks[i].output[counts[i] * vocabulary + g], -1.f);
      }
      EXPECT_EQ(*next, -1.f);
    }
}

TEST(Step, MoreChunksThanRows) {
  rapt_context_options options{};
  options.cache_tokens = 32 * block;
  options.max_step_rows = 3;
  Context context(options);
  std::vector<Text> texts;
  std::vector<rapt_chunk> chunks;
  for (int i = 0; i < 20; ++i)
    texts.push_back(someText(1 + i % 5, i + 1));
  for (auto &text : texts)
    chunks.push_back(makeChunk(context.sequence(), text));
  ASSERT_EQ(rapt_step(context, chunks.data(), chunks.size(), nullptr, 0), RAPT_OK);
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(isAnswer(chunks[i].logits, texts[i], int64_t(texts[i].size()) - 1)) << i;
}

/// Fails with a message, and leaves the sequence as it was.
TEST(Step, RefusesAndChangesNothing) {
  Context context;
  rapt_sequence s = context.sequence(), other = context.sequence();
  Text text, otherText;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(13, 1)));
  ASSERT_TRUE(context.appendAndCheck(other, otherText, someText(3, 2)));
  int64_t available = rapt_context_available(context);
  auto step = [&](std::vector<rapt_chunk> chunks) {
    return rapt_step(context, chunks.data(), chunks.size(), context.message.text, context.message.size);
  };
  Text one = {5}, negative = {5, -1}, large = {5, 6, vocabulary}, none, many = someText(250, 1);
  float small[vocabulary - 1];
  rapt_chunk bad = makeChunk(s, one);
  EXPECT_FAILS(step({}), RAPT_INVALID, context.message, "no chunks");
  EXPECT_EQ(rapt_step(context, nullptr, 1, nullptr, 0), RAPT_INVALID);
  EXPECT_EQ(rapt_step(nullptr, &bad, 1, nullptr, 0), RAPT_INVALID);
  EXPECT_FAILS(step({makeChunk(0, one)}), RAPT_INVALID, context.message, "sequence 0");
  EXPECT_FAILS(step({makeChunk(other, one), makeChunk(s + 100, one)}), RAPT_INVALID, context.message, "does not exist");
  EXPECT_FAILS(step({makeChunk(s, one), makeChunk(s, one)}), RAPT_INVALID, context.message, "chunk 1", "another chunk");
  EXPECT_FAILS(step({makeChunk(s, none)}), RAPT_INVALID, context.message, "0 tokens");
  EXPECT_FAILS(step({makeChunk(s, negative)}), RAPT_INVALID, context.message, "token 1 is -1", "256");
  EXPECT_FAILS(step({makeChunk(other, one), makeChunk(s, large)}), RAPT_INVALID, context.message, "chunk 1",
               "token 2 is 257", "0 to 256");
  EXPECT_FAILS(step({makeChunk(s, many)}), RAPT_TOO_LONG, context.message, "13", "250", "256 positions");
  bad.size = 8;
  EXPECT_FAILS(step({makeChunk(other, one), bad}), RAPT_INVALID, context.message, "size 8");
  bad = makeChunk(s, one, 9);
  EXPECT_FAILS(step({bad}), RAPT_INVALID, context.message, "wants logits 9");
  bad = makeChunk(s, one);
  bad.count = INT64_MAX;
  EXPECT_FAILS(step({bad}), RAPT_TOO_LONG, context.message, "9223372036854775807");
  bad = makeChunk(s, one);
  bad.output = small;
  bad.output_bytes = sizeof small;
  EXPECT_FAILS(step({bad}), RAPT_INVALID, context.message, "1024 bytes", "1028 bytes");
  bad.output = reinterpret_cast<float *>(reinterpret_cast<char *>(small) + 1);
  bad.output_bytes = sizeof small * 2;
  EXPECT_FAILS(step({bad}), RAPT_INVALID, context.message, "output");
  EXPECT_EQ(rapt_context_available(context), available);
  EXPECT_TRUE(context.appendAndCheck(s, text, someText(4, 3)));
  EXPECT_TRUE(context.appendAndCheck(other, otherText, someText(4, 4)));
}

TEST(Step, FullCacheNamesBothNumbers) {
  rapt_context_options options{};
  options.cache_tokens = 30; // becomes 32
  Context context(options);
  EXPECT_EQ(rapt_context_capacity(context), 32);
  rapt_sequence s = context.sequence(), t = context.sequence();
  Text text, other;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(17, 1)));
  EXPECT_EQ(rapt_context_available(context), 8);
  EXPECT_FAILS(context.append(t, someText(9, 2)), RAPT_FULL, context.message, "9 tokens", "2 more", "1 are free",
               "32 tokens");
  EXPECT_EQ(rapt_sequence_length(context, t), 0);
  EXPECT_TRUE(context.appendAndCheck(t, other, someText(8, 2)));
  EXPECT_TRUE(context.appendAndCheck(s, text, someText(7, 3)));
  EXPECT_FAILS(context.append(s, {1}), RAPT_FULL, context.message, "0 are free");
  EXPECT_EQ(rapt_sequence_free(context, t, nullptr, 0), RAPT_OK);
  EXPECT_TRUE(context.appendAndCheck(s, text, {1}));
}

TEST(Step, AFullModelIsToldApartFromAFullCache) {
  rapt_context_options options{};
  options.cache_tokens = 1024;
  Context context(options);
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(positions, 1)));
  EXPECT_FAILS(context.append(s, {1}), RAPT_TOO_LONG, context.message, "256 tokens", "1 new", "256 positions");
}

} // namespace
