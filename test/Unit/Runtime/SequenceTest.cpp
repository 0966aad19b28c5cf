// Forks share blocks and never see each other's writes; truncated text is forgotten.
#include "FakeModel.h"
#include <cstring>
#include <ctime>
#include <random>
#include <set>

using namespace rapt::test;

namespace {

TEST(Sequence, FreedNamesAreNotReused) {
  Context context;
  rapt_sequence a = context.sequence();
  EXPECT_EQ(rapt_sequence_free(context, a, nullptr, 0), RAPT_OK);
  rapt_sequence b = context.sequence();
  EXPECT_NE(a, b);
  EXPECT_NE(a, 0u);
  EXPECT_FAILS(rapt_sequence_free(context, a, context.message.text, context.message.size), RAPT_INVALID,
               context.message, "does not exist");
  EXPECT_EQ(rapt_sequence_length(context, a), -1);
  EXPECT_EQ(rapt_sequence_length(context, b), 0);
  EXPECT_EQ(rapt_sequence_length(nullptr, b), -1);
  EXPECT_EQ(rapt_sequence_new(context, nullptr, nullptr, 0), RAPT_INVALID);
}

// A slot is found without a look at those in use: for 60,000 sequences that was a matter of seconds.
TEST(Sequence, ManyLiveAtOnce) {
  Context context;
  std::vector<rapt_sequence> live;
  const std::clock_t start = std::clock(); // processor time, whatever else the machine does
  for (int i = 0; i < 60'000; ++i)
    live.push_back(context.sequence());
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC);
  std::set<rapt_sequence> names(live.begin(), live.end());
  for (int round = 0; round < 3; ++round) { // slots that are free again are used again, under new names
    for (int i = 0; i < 100; ++i)
      ASSERT_EQ(rapt_sequence_free(context, live[size_t(i) * 7], nullptr, 0), RAPT_OK);
    for (int i = 0; i < 100; ++i) {
      rapt_sequence &fresh = live[size_t(i) * 7];
      fresh = context.sequence();
      EXPECT_TRUE(names.insert(fresh).second);
      EXPECT_LE(fresh & UINT32_MAX, 65'536u);
    }
  }
  Text text;
  EXPECT_TRUE(context.appendAndCheck(live.front(), text, someText(3, 1)));
  EXPECT_TRUE(context.appendAndCheck(live.back(), text = {}, someText(3, 2)));
}

TEST(Sequence, ForksShareUntilTheyWrite) {
  rapt_context_options options{};
  options.cache_tokens = 5 * block;
  Context context(options);
  rapt_sequence a = context.sequence(), b = 0;
  Text textA;
  ASSERT_TRUE(context.appendAndCheck(a, textA, someText(2 * block + 3, 1)));
  EXPECT_EQ(rapt_context_available(context), 2 * block);
  ASSERT_EQ(rapt_sequence_fork(context, a, &b, nullptr, 0), RAPT_OK);
  EXPECT_EQ(rapt_context_available(context), 2 * block); // nothing copied yet
  EXPECT_EQ(rapt_sequence_length(context, b), 2 * block + 3);
  Text textB = textA;
  ASSERT_TRUE(context.appendAndCheck(b, textB, {7}));
  EXPECT_EQ(rapt_context_available(context), block); // one block copied
  ASSERT_TRUE(context.appendAndCheck(a, textA, {8}));
  EXPECT_EQ(rapt_context_available(context), block); // a's block is its own again
  ASSERT_TRUE(context.appendAndCheck(b, textB, {9}));
  EXPECT_EQ(rapt_sequence_free(context, a, nullptr, 0), RAPT_OK);
  ASSERT_TRUE(context.appendAndCheck(b, textB, {10}));
  EXPECT_EQ(rapt_context_available(context), 2 * block);
}

TEST(Sequence, BothForksAppendInOneStep) {
  Context context;
  rapt_sequence a = context.sequence(), b = 0;
  Text text;
  ASSERT_TRUE(context.appendAndCheck(a, text, someText(11, 1)));
  ASSERT_EQ(rapt_sequence_fork(context, a, &b, nullptr, 0), RAPT_OK);
  Text more[2] = {someText(6, 2), someText(2, 3)};
  rapt_chunk chunks[2] = {makeChunk(a, more[0]), makeChunk(b, more[1])};
  ASSERT_EQ(rapt_step(context, chunks, 2, nullptr, 0), RAPT_OK);
  for (int i = 0; i < 2; ++i) {
    Text whole = text;
    whole.insert(whole.end(), more[i].begin(), more[i].end());
    EXPECT_TRUE(isAnswer(chunks[i].logits, whole, int64_t(whole.size()) - 1));
  }
}

TEST(Sequence, TruncateForgets) {
  Context context;
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(30, 1)));
  int64_t available = rapt_context_available(context);
  for (int64_t length : {30, 29, 16, 15, 8, 1, 0}) {
    ASSERT_EQ(rapt_sequence_truncate(context, s, length, nullptr, 0), RAPT_OK);
    text.resize(size_t(length));
    Text copy = text;
    ASSERT_TRUE(context.appendAndCheck(s, copy, someText(5, uint32_t(length)))) << length;
    ASSERT_EQ(rapt_sequence_truncate(context, s, length, nullptr, 0), RAPT_OK);
  }
  EXPECT_EQ(rapt_context_available(context), available + 4 * block);
  EXPECT_FAILS(rapt_sequence_truncate(context, s, 1, context.message.text, context.message.size), RAPT_INVALID,
               context.message, "to 1", "has 0");
  EXPECT_EQ(rapt_sequence_truncate(context, s, -1, nullptr, 0), RAPT_INVALID);
}

/// Random use of sequences, against plain copies of their texts.
TEST(Sequence, RandomUse) {
  rapt_context_options options{};
  options.cache_tokens = 40 * block;
  Context context(options);
  std::mt19937 random(5);
  auto below = [&](size_t n) { return random() % n; };
  std::vector<std::pair<rapt_sequence, Text>> live;
  int full = 0, stepped = 0;
  for (int i = 0; i < 3000; ++i) {
    size_t which = live.empty() ? 0 : below(live.size());
    switch (live.empty() ? 0 : below(8)) {
    case 0:
      if (live.size() < 30)
        live.emplace_back(context.sequence(), Text());
      break;
    case 1:
      if (live.size() < 30) {
        rapt_sequence fork = 0;
        ASSERT_EQ(rapt_sequence_fork(context, live[which].first, &fork, nullptr, 0), RAPT_OK);
        live.emplace_back(fork, live[which].second);
      }
      break;
    case 2: {
      size_t length = below(live[which].second.size() + 1);
      ASSERT_EQ(rapt_sequence_truncate(context, live[which].first, int64_t(length), nullptr, 0), RAPT_OK);
      live[which].second.resize(length);
      break;
    }
    case 3:
      ASSERT_EQ(rapt_sequence_free(context, live[which].first, nullptr, 0), RAPT_OK);
      live.erase(live.begin() + long(which));
      break;
    default: {
      Text more = someText(int64_t(1 + below(20)), random());
      Text &text = live[which].second;
      int64_t before = rapt_context_available(context);
      rapt_status status = context.append(live[which].first, more);
      if (status == RAPT_OK) {
        text.insert(text.end(), more.begin(), more.end());
        ASSERT_TRUE(isAnswer(context.logits, text, int64_t(text.size()) - 1)) << i;
        ++stepped;
      } else {
        ASSERT_TRUE(status == RAPT_FULL || status == RAPT_TOO_LONG) << context.message.text;
        ASSERT_EQ(rapt_context_available(context), before);
        ++full;
      }
    }
    }
  }
  for (auto &[sequence, text] : live)
    ASSERT_EQ(rapt_sequence_free(context, sequence, nullptr, 0), RAPT_OK);
  EXPECT_EQ(rapt_context_available(context), 40 * block);
  EXPECT_GT(full, 20);
  EXPECT_GT(stepped, 500);
}

} // namespace
