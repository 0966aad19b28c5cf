// Saved states come back exactly or not at all.
#include "FakeModel.h"
#include <cstring>

using namespace rapt::test;

namespace {

std::string save(Context &context, rapt_sequence sequence) {
  size_t bytes = 0;
  EXPECT_EQ(rapt_sequence_save(context, sequence, nullptr, 0, &bytes, nullptr, 0), RAPT_OK);
  std::string state(bytes, 0);
  EXPECT_FAILS(rapt_sequence_save(context, sequence, state.data(), bytes - 1, &bytes, context.message.text,
                                  context.message.size),
               RAPT_FULL, context.message, std::to_string(bytes).c_str());
  EXPECT_EQ(rapt_sequence_save(context, sequence, state.data(), bytes, &bytes, nullptr, 0), RAPT_OK);
  return state;
}

TEST(State, RoundTripBetweenContexts) {
  for (int64_t length : {0, 1, 8, 29}) {
    Context from, to;
    rapt_sequence s = from.sequence(), t = 0;
    Text text;
    if (length)
      ASSERT_TRUE(from.appendAndCheck(s, text, someText(length, 3)));
    std::string state = save(from, s);
    ASSERT_EQ(rapt_sequence_load(to, state.data(), state.size(), &t, to.message.text, to.message.size), RAPT_OK)
        << to.message.text;
    EXPECT_EQ(rapt_sequence_length(to, t), length);
    Text copy = text;
    EXPECT_TRUE(from.appendAndCheck(s, text, {9}));
    EXPECT_TRUE(to.appendAndCheck(t, copy, {9}));
  }
}

/// Blocks that held another sequence have zeros behind the tokens of the new one, however its steps are cut.
TEST(State, OfReusedBlocks) {
  for (int64_t stepTokens : {0, 5})
    for (int64_t length : {1, 8, 9, 29}) {
      rapt_context_options options{};
      options.cache_tokens = 32;
      options.max_step_tokens = stepTokens;
      Context used(options), fresh(options);
      rapt_sequence old = used.sequence();
      ASSERT_EQ(used.append(old, someText(32, 7)), RAPT_OK) << used.message.text;
      ASSERT_EQ(rapt_sequence_free(used, old, nullptr, 0), RAPT_OK);
      rapt_sequence s = used.sequence(), t = fresh.sequence();
      Text text, same;
      ASSERT_TRUE(used.appendAndCheck(s, text, someText(length, 3)));
      ASSERT_TRUE(fresh.appendAndCheck(t, same, someText(length, 3)));
      EXPECT_EQ(save(used, s), save(fresh, t)) << length;
    }
}

TEST(State, EveryChangedByteIsFound) {
  Context context;
  rapt_sequence s = context.sequence(), t = 0;
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(9, 3)));
  std::string state = save(context, s);
  int64_t available = rapt_context_available(context);
  for (size_t i = 0; i < state.size(); ++i) {
    std::string bad = state;
    bad[i] = char(bad[i] ^ 0x40);
    EXPECT_NE(rapt_sequence_load(context, bad.data(), bad.size(), &t, nullptr, 0), RAPT_OK) << i;
    EXPECT_EQ(t, 0u);
  }
  for (size_t length = 0; length < state.size(); ++length)
    EXPECT_EQ(rapt_sequence_load(context, state.data(), length, &t, nullptr, 0), RAPT_BAD_FILE) << length;
  EXPECT_EQ(rapt_context_available(context), available);
  EXPECT_EQ(rapt_sequence_load(context, nullptr, 0, &t, nullptr, 0), RAPT_INVALID);
}

TEST(State, OfAnotherModel) {
  FakeCopy copy;
  patch(copy.library(), "\"layout\": \"fake-block8\"", "\"layout\": \"fake-block9\"");
  rapt_module *other = nullptr;
  ASSERT_EQ(rapt_module_open(copy.library().c_str(), nullptr, &other, nullptr, 0), RAPT_OK);
  Context here, there({}, other);
  std::string state = save(here, here.sequence());
  rapt_sequence t = 0;
  EXPECT_FAILS(rapt_sequence_load(there, state.data(), state.size(), &t, there.message.text, there.message.size),
               RAPT_MISMATCH, there.message, "fake-block8", "fake-block9");
  rapt_module_release(other);

  FakeCopy tuned; // the same model with other weights
  rapt_module_options options{};
  options.size = sizeof options;
  options.flags = RAPT_ANY_CONTENT;
  overwrite(tuned.weights(), offsetof(rapt_weights_header, content_id), std::string(16, '\0'));
  ASSERT_EQ(rapt_module_open(tuned.library().c_str(), &options, &other, nullptr, 0), RAPT_OK);
  Context third({}, other);
  EXPECT_FAILS(rapt_sequence_load(third, state.data(), state.size(), &t, third.message.text, third.message.size),
               RAPT_MISMATCH, third.message, "weights", "0000000000000000");
  rapt_module_release(other);
}

TEST(State, WithASourceIsOfAnotherKindOfModel) {
  Context context;
  std::string state = save(context, context.sequence());
  uint64_t sourceLength = 5;
  memcpy(state.data() + 128, &sourceLength, sizeof sourceLength); // behind the first blocks
  rapt_sequence t = 0;
  EXPECT_FAILS(rapt_sequence_load(context, state.data(), state.size(), &t, context.message.text, context.message.size),
               RAPT_MISMATCH, context.message, "the saved state has a source, but the model's sequences take none");
}

TEST(State, DoesNotFit) {
  rapt_context_options options{};
  options.cache_tokens = 2 * block;
  Context context, small(options);
  rapt_sequence s = context.sequence(), t = 0;
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(17, 3)));
  std::string state = save(context, s);
  EXPECT_FAILS(rapt_sequence_load(small, state.data(), state.size(), &t, small.message.text, small.message.size),
               RAPT_FULL, small.message, "17 tokens", "3 cache blocks", "2 of 2");
}

} // namespace
