// States of linear attention and of convolutions beside a cache, and without one: steps of any lengths, forks, saved
// sequences, kept states, and failures that change nothing.
#include "FakeHybrid.h"
#include <algorithm>
#include <cstring>
#include <random>
#include <set>

using namespace rapt::test;

namespace rapt::test {
void PrintTo(const Hybrid &model, std::ostream *out) {
  *out << (model.hasState ? "state " : "") << (model.hasInputs ? "conv_state " : "") << (model.hasCache ? "cache " : "")
       << (model.isSerial ? "serial " : "") << (model.window ? "window " : "");
}
} // namespace rapt::test

namespace {

rapt_context_options keeping(int64_t every, int64_t stepTokens = 0) {
  rapt_context_options options{};
  options.keep_states_every = every;
  options.max_step_tokens = stepTokens;
  options.window_slack = 64; // so that windows forbid nothing
  return options;
}

Text joined(Text text, const Text &more) {
  text.insert(text.end(), more.begin(), more.end());
  return text;
}

class HybridTest : public testing::TestWithParam<Hybrid> {
protected:
  const Hybrid &model = GetParam();

  /// Appends and checks all logits.
  testing::AssertionResult append(Context &context, rapt_sequence sequence, Text &text, const Text &more) {
    rapt_chunk chunk = makeChunk(sequence, more, RAPT_LOGITS_ALL);
    if (rapt_status status = rapt_step(context, &chunk, 1, context.message.text, context.message.size))
      return testing::AssertionFailure() << rapt_status_name(status) << ": " << context.message.text;
    for (size_t i = 0; i < more.size(); ++i) {
      text.push_back(more[i]);
      if (auto right = model.isAnswer(chunk.logits + i * vocabulary, text); !right)
        return right;
    }
    return testing::AssertionSuccess();
  }
  rapt_status truncate(Context &context, rapt_sequence sequence, int64_t length) {
    return rapt_sequence_truncate(context, sequence, length, context.message.text, context.message.size);
  }
  rapt_sequence fork(Context &context, rapt_sequence sequence) {
    rapt_sequence made = 0;
    EXPECT_EQ(rapt_sequence_fork(context, sequence, &made, nullptr, 0), RAPT_OK);
    return made;
  }
  std::string save(Context &context, rapt_sequence sequence) {
    size_t bytes = 0;
    EXPECT_EQ(rapt_sequence_save(context, sequence, nullptr, 0, &bytes, nullptr, 0), RAPT_OK);
    std::string state(bytes, 0);
    EXPECT_EQ(rapt_sequence_save(context, sequence, state.data(), bytes, &bytes, nullptr, 0), RAPT_OK);
    return state;
  }
  rapt_sequence load(Context &context, const std::string &state) {
    rapt_sequence made = 0;
    EXPECT_EQ(
        rapt_sequence_load(context, state.data(), state.size(), &made, context.message.text, context.message.size),
        RAPT_OK)
        << context.message.text;
    return made;
  }
};

INSTANTIATE_TEST_SUITE_P(Models, HybridTest,
                         testing::Values(hybrid, linearOnly, convolvedOnly, convolvedAndPaged, serial, windowed));

TEST_P(HybridTest, PiecesAreTheWhole) {
  for (int64_t every : {0, 1, 7, 8})
    for (int64_t stepTokens : {0, 5})
      for (const std::vector<int64_t> &pieces : {std::vector<int64_t>{70}, {1, 1, 1, 20}, {16, 5, 30}}) {
        Context context(keeping(every, stepTokens), model.open());
        rapt_sequence s = context.sequence();
        Text text;
        for (int64_t piece : pieces)
          ASSERT_TRUE(append(context, s, text, someText(piece, uint32_t(piece)))) << every << ", " << stepTokens;
      }
}

TEST_P(HybridTest, BatchesOfMixedLengths) {
  for (int64_t every : {0, 8}) {
    Context context(keeping(every), model.open());
    rapt_sequence sequences[3];
    Text texts[3], more[3];
    for (rapt_sequence &s : sequences)
      s = context.sequence();
    for (uint32_t round = 0; round < 4; ++round) {
      rapt_chunk chunks[3];
      for (uint32_t i = 0; i < 3; ++i) {
        more[i] = someText(1 + int64_t(round * 7 + i * 11) % 23, round + i);
        chunks[i] = makeChunk(sequences[i], more[i]);
      }
      ASSERT_EQ(rapt_step(context, chunks, 3, context.message.text, context.message.size), RAPT_OK)
          << context.message.text;
      for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(model.isAnswer(chunks[i].logits, texts[i] = joined(texts[i], more[i]))) << round << ", " << i;
    }
  }
}

TEST_P(HybridTest, ForksGoTheirOwnWays) {
  Context context(keeping(8), model.open());
  rapt_sequence a = context.sequence();
  Text text;
  ASSERT_TRUE(append(context, a, text, someText(21, 1)));
  rapt_sequence b = fork(context, a);
  Text other = text;
  ASSERT_TRUE(append(context, b, other, someText(13, 2)));
  ASSERT_TRUE(append(context, a, text, someText(1, 3)));
  // What they keep in common stays when one of them ends.
  ASSERT_EQ(rapt_sequence_free(context, a, nullptr, 0), RAPT_OK);
  ASSERT_EQ(truncate(context, b, 16), RAPT_OK) << context.message.text;
  other.resize(16);
  EXPECT_TRUE(append(context, b, other, someText(9, 4)));
}

TEST_P(HybridTest, SavedSequencesHaveAllStates) {
  for (int64_t length : {0, 1, 8, 29}) {
    Context from(keeping(8), model.open()), to(keeping(8), model.open());
    rapt_sequence s = from.sequence();
    Text text;
    if (length)
      ASSERT_TRUE(append(from, s, text, someText(length, 3)));
    rapt_sequence loaded = load(to, save(from, s));
    EXPECT_EQ(rapt_sequence_length(to, loaded), length);
    // Of states that are kept it has the present one alone.
    if (length > 8) {
      EXPECT_FAILS(truncate(to, loaded, 8), RAPT_UNSUPPORTED, to.message, "the nearest one below is 0");
      ASSERT_EQ(truncate(to, fork(to, loaded), 0), RAPT_OK);
    }
    Text copy = text;
    EXPECT_TRUE(append(to, loaded, copy, someText(9, 4)));
    if (length == 8) {
      ASSERT_EQ(truncate(to, loaded, 8), RAPT_OK) << to.message.text;
      copy.resize(8);
      EXPECT_TRUE(append(to, loaded, copy, someText(3, 5)));
    }
    EXPECT_TRUE(append(from, s, text, someText(9, 4)));
  }
}

TEST_P(HybridTest, GoesBackToKeptStates) {
  Context context(keeping(8), model.open());
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(append(context, s, text, someText(27, 1)));
  ASSERT_EQ(truncate(context, s, 27), RAPT_OK);
  EXPECT_FAILS(truncate(context, s, 23), RAPT_UNSUPPORTED, context.message,
               "cannot truncate to 23 tokens: the sequence keeps no state of that length; the nearest one below is 16");
  EXPECT_FAILS(truncate(context, s, 28), RAPT_INVALID, context.message, "the sequence has 27");
  EXPECT_EQ(rapt_sequence_length(context, s), 27);
  Text rest = text;
  ASSERT_TRUE(append(context, fork(context, s), rest, {5})); // nothing changed
  for (int64_t length : {24, 16, 8, 0}) {
    ASSERT_EQ(truncate(context, s, length), RAPT_OK) << context.message.text;
    text.resize(size_t(length));
    Text longer = text;
    ASSERT_TRUE(append(context, s, longer, someText(5, uint32_t(length))));
    ASSERT_EQ(truncate(context, s, length), RAPT_OK) << context.message.text;
  }
  ASSERT_TRUE(append(context, s, text, someText(20, 7)));
}

TEST_P(HybridTest, WithoutKeptStatesGoesBackToZeros) {
  Context context({}, model.open());
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(append(context, s, text, someText(9, 1)));
  EXPECT_FAILS(truncate(context, s, 8), RAPT_UNSUPPORTED, context.message,
               "cannot truncate to 8 tokens: the sequence keeps no state of that length; the nearest one below is 0");
  ASSERT_TRUE(append(context, s, text, someText(9, 2)));
  ASSERT_EQ(truncate(context, s, 0), RAPT_OK);
  text.clear();
  EXPECT_TRUE(append(context, s, text, someText(9, 3)));
}

TEST_P(HybridTest, FailuresChangeNothing) {
  rapt_context_options options = keeping(4, 6);
  int64_t most = INT64_MAX;
  options.user = &most;
  options.progress = [](void *user, int64_t done, int64_t) -> int { return done >= *static_cast<int64_t *>(user); };
  Context context(options, model.open());
  rapt_sequence s = context.sequence(), other = context.sequence();
  Text text, otherText;
  ASSERT_TRUE(append(context, s, text, someText(10, 1)));
  ASSERT_TRUE(append(context, other, otherText, someText(3, 2)));
  for (int round = 0; round < 300; ++round) { // slots that were lost would run out
    const Text more = someText(19, 3);
    rapt_chunk chunks[2] = {makeChunk(s, more), makeChunk(other, more)};
    const bool isFault = round % 2;
    callsUntilFault = isFault ? 1 + round % 3 : -1;
    most = isFault ? INT64_MAX : 1 + round % 38;
    ASSERT_EQ(rapt_step(context, chunks, 2, context.message.text, context.message.size),
              isFault ? RAPT_BUG : RAPT_CANCELLED)
        << context.message.text;
  }
  callsUntilFault = -1;
  most = INT64_MAX;
  EXPECT_EQ(rapt_sequence_length(context, s), 10);
  Text copy = text;
  ASSERT_TRUE(append(context, fork(context, s), copy, someText(2, 4)));
  ASSERT_TRUE(append(context, other, otherText, someText(2, 4)));
  ASSERT_EQ(truncate(context, s, 8), RAPT_OK) << context.message.text;
  text.resize(8);
  EXPECT_TRUE(append(context, s, text, someText(9, 4)));
}

/// Random use of sequences, against plain copies of their texts, and of what they keep.
TEST_P(HybridTest, RandomUse) {
  for (int64_t every : {0, 3, 8}) {
    rapt_context_options options = keeping(every, every == 3 ? 10 : 0);
    options.cache_tokens = 40 * block;
    options.window_slack = 9;
    Context context(options, model.open());
    std::mt19937 random(uint32_t(7 + every));
    auto below = [&](size_t n) { return random() % n; };
    struct Live {
      rapt_sequence name;
      Text text;
    };
    std::vector<Live> live;
    int back = 0;
    for (int i = 0; i < 1500; ++i) {
      const size_t which = live.empty() ? 0 : below(live.size());
      switch (live.empty() ? 0 : below(9)) {
      case 0:
        live.push_back({context.sequence(), {}});
        break;
      case 1:
        live.push_back({fork(context, live[which].name), live[which].text});
        break;
      case 2: {
        auto length = int64_t(below(live[which].text.size() + 1));
        if (truncate(context, live[which].name, length)) {
          const char *nearest = strstr(context.message.text, "below is ");
          ASSERT_NE(nearest, nullptr) << context.message.text;
          const int64_t possible = atoll(nearest + 9);
          ASSERT_LT(possible, length);
          ASSERT_EQ(truncate(context, live[which].name, length = possible), RAPT_OK) << context.message.text;
          back += possible > 0;
        }
        live[which].text.resize(size_t(length));
        break;
      }
      case 3: {
        const std::string state = save(context, live[which].name);
        rapt_sequence loaded = 0;
        const rapt_status status = rapt_sequence_load(context, state.data(), state.size(), &loaded,
                                                      context.message.text, context.message.size);
        ASSERT_TRUE(status == RAPT_OK || status == RAPT_FULL) << context.message.text;
        if (!status)
          live.push_back({loaded, live[which].text});
        break;
      }
      case 4:
        ASSERT_EQ(rapt_sequence_free(context, live[which].name, nullptr, 0), RAPT_OK);
        live.erase(live.begin() + long(which));
        break;
      default: {
        const Text more = someText(int64_t(1 + below(20)), random());
        Text &text = live[which].text;
        const rapt_status status = context.append(live[which].name, more);
        if (status == RAPT_OK)
          ASSERT_TRUE(model.isAnswer(context.logits, text = joined(text, more))) << i;
        else
          ASSERT_TRUE(status == RAPT_FULL || status == RAPT_TOO_LONG) << context.message.text;
      }
      }
    }
    EXPECT_EQ(back > 0, every > 0);
    for (const Live &one : live)
      ASSERT_EQ(rapt_sequence_free(context, one.name, nullptr, 0), RAPT_OK);
    EXPECT_EQ(rapt_context_available(context), model.hasCache ? 40 * block : 0);
  }
}

TEST_P(HybridTest, BytesOfStates) {
  rapt_module_info info{};
  info.size = sizeof info;
  ASSERT_EQ(rapt_module_get_info(model.open(), &info), RAPT_OK);
  EXPECT_EQ(info.state_bytes, (model.hasState ? hashBytes : 0) + (model.hasInputs ? inputBytes : 0));
  EXPECT_EQ(info.cache_block, model.hasCache ? block : 0);
}

struct CountingAllocator {
  rapt_allocator hook{};
  int64_t calls = 0, live = 0, failAt = -1;
  CountingAllocator() {
    hook.size = sizeof hook;
    hook.user = this;
    hook.alloc = [](void *user, size_t bytes, size_t alignment, int32_t) -> void * {
      auto &self = *static_cast<CountingAllocator *>(user);
      void *memory = nullptr;
      if (self.calls++ == self.failAt || posix_memalign(&memory, alignment, bytes))
        return nullptr;
      self.live += int64_t(bytes);
      return memset(memory, 0xA5, bytes);
    };
    hook.free = [](void *user, void *memory, size_t bytes, int32_t) {
      static_cast<CountingAllocator *>(user)->live -= int64_t(bytes);
      free(memory);
    };
  }
};

TEST_P(HybridTest, MemoryIsToldBeforeItIsTaken) {
  CountingAllocator allocator;
  rapt_context_options options = keeping(8);
  options.size = sizeof options;
  options.allocator = &allocator.hook;
  rapt_memory memory{};
  memory.size = sizeof memory;
  ASSERT_EQ(rapt_context_memory(model.open(), &options, &memory, nullptr, 0), RAPT_OK);
  Context context(options, model.open());
  EXPECT_EQ(uint64_t(allocator.live), memory.cache + memory.workspace + memory.other);
}

TEST_P(HybridTest, SurvivesEveryFailingAllocation) {
  for (int64_t k = 0;; ++k) {
    ASSERT_LT(k, 200);
    CountingAllocator allocator;
    Message message;
    rapt_context *context = nullptr;
    rapt_context_options options = keeping(4);
    options.size = sizeof options;
    options.allocator = &allocator.hook;
    ASSERT_EQ(rapt_context_new(model.open(), &options, &context, message.text, message.size), RAPT_OK);
    allocator.failAt = allocator.calls + k;
    rapt_sequence s = 0, other = 0;
    const Text text = someText(20, 1);
    rapt_status status = rapt_sequence_new(context, &s, message.text, message.size);
    rapt_chunk chunk = makeChunk(s, text);
    if (!status) {
      status = rapt_step(context, &chunk, 1, message.text, message.size);
      EXPECT_EQ(rapt_sequence_length(context, s), status ? 0 : 20);
    }
    std::string state(4096, 0);
    size_t bytes = 0;
    if (!status)
      status = rapt_sequence_fork(context, s, &other, message.text, message.size);
    if (!status)
      status = rapt_sequence_save(context, other, state.data(), state.size(), &bytes, message.text, message.size);
    for (int i = 0; i < 8 && !status; ++i)
      status = rapt_sequence_load(context, state.data(), bytes, &other, message.text, message.size);
    allocator.failAt = -1;
    if (s) { // what failed has changed nothing
      if (rapt_sequence_length(context, s))
        EXPECT_EQ(rapt_sequence_truncate(context, s, 8, nullptr, 0), RAPT_OK);
      Text all(text.begin(), text.begin() + rapt_sequence_length(context, s));
      chunk = makeChunk(s, text);
      EXPECT_EQ(rapt_step(context, &chunk, 1, nullptr, 0), RAPT_OK);
      EXPECT_TRUE(model.isAnswer(chunk.logits, joined(all, text)));
    }
    rapt_context_free(context);
    EXPECT_EQ(allocator.live, 0) << k;
    if (!status)
      break;
    EXPECT_EQ(status, RAPT_NOMEM) << k;
    EXPECT_NE(strstr(message.text, "no memory"), nullptr) << message.text;
  }
}

TEST_P(HybridTest, Forward) {
  Context context(keeping(8), model.open());
  const Text rows[2] = {someText(20, 1), someText(9, 2)};
  std::vector<int32_t> ids(40), mask(40);
  for (size_t row = 0; row < 2; ++row)
    for (size_t t = 0; t < rows[row].size(); ++t)
      ids[row * 20 + t] = rows[row][t], mask[row * 20 + t] = 1;
  std::vector<float> logits(40 * vocabulary);
  const int64_t shape[3] = {2, 20, vocabulary};
  rapt_tensor tensors[3];
  void *const data[3] = {ids.data(), mask.data(), logits.data()};
  for (int i = 0; i < 3; ++i)
    tensors[i] = {
        sizeof(rapt_tensor), data[i], RAPT_DEVICE_CPU, 0, uint8_t(i < 2 ? RAPT_DTYPE_INT : RAPT_DTYPE_FLOAT), 32, 1,
        i < 2 ? 2 : 3,       shape,   nullptr};
  const char *const names[3] = {"input_ids", "attention_mask", "logits"};
  ASSERT_EQ(rapt_run(context, "forward", 3, names, tensors, context.message.text, context.message.size), RAPT_OK)
      << context.message.text;
  for (size_t row = 0; row < 2; ++row)
    EXPECT_TRUE(model.isAnswer(&logits[(row * 20 + rows[row].size() - 1) * vocabulary], rows[row])) << row;
}

TEST(HybridWindow, NearestHasItsWindow) {
  rapt_context_options options = keeping(8, 16);
  options.window_slack = 0;
  Context context(options, windowed.open());
  rapt_sequence s = context.sequence();
  const Text text = someText(100, 1);
  ASSERT_EQ(context.append(s, text), RAPT_OK) << context.message.text;
  EXPECT_FAILS(rapt_sequence_truncate(context, s, 64, context.message.text, context.message.size), RAPT_UNSUPPORTED,
               context.message, "the nearest one below is 0");
  EXPECT_FAILS(rapt_sequence_truncate(context, s, 99, context.message.text, context.message.size), RAPT_UNSUPPORTED,
               context.message, "the nearest one below is 96");
  ASSERT_EQ(rapt_sequence_truncate(context, s, 96, nullptr, 0), RAPT_OK);
  ASSERT_EQ(context.append(s, {3}), RAPT_OK);
  EXPECT_TRUE(windowed.isAnswer(context.logits, joined({text.begin(), text.begin() + 96}, {3})));
}

/// The first state of a sequence with a source is one that it keeps, and no zeros.
TEST(HybridSource, FirstStateIsKept) {
  const Text source = someText(7, 9), text = someText(11, 1);
  for (int64_t every : {0, 4}) {
    Context context(keeping(every), withSource.open());
    rapt_sequence s = context.sequence();
    rapt_source given{};
    given.size = sizeof given;
    given.sequence = s;
    given.tokens = source.data();
    given.count = int64_t(source.size());
    ASSERT_EQ(rapt_encode(context, &given, 1, context.message.text, context.message.size), RAPT_OK)
        << context.message.text;
    ASSERT_EQ(context.append(s, text), RAPT_OK) << context.message.text;
    EXPECT_TRUE(withSource.isAnswer(context.logits, text, source));
    auto truncate = [&](rapt_sequence sequence, int64_t length) {
      return rapt_sequence_truncate(context, sequence, length, context.message.text, context.message.size);
    };
    if (!every) {
      EXPECT_FAILS(truncate(s, 4), RAPT_UNSUPPORTED, context.message,
                   "cannot truncate to 4 tokens: the sequence keeps no state of as few, but that after 11");
      EXPECT_FAILS(truncate(s, 0), RAPT_UNSUPPORTED, context.message, "cannot truncate to 0 tokens");
      continue;
    }
    std::vector<char> state(4096);
    size_t bytes = 0;
    rapt_sequence loaded = 0;
    ASSERT_EQ(rapt_sequence_save(context, s, state.data(), state.size(), &bytes, nullptr, 0), RAPT_OK);
    ASSERT_EQ(rapt_sequence_load(context, state.data(), bytes, &loaded, nullptr, 0), RAPT_OK);
    EXPECT_FAILS(truncate(loaded, 0), RAPT_UNSUPPORTED, context.message, "of as few, but that after 11");
    ASSERT_EQ(truncate(s, 8), RAPT_OK) << context.message.text;
    ASSERT_EQ(context.append(s, {5}), RAPT_OK);
    EXPECT_TRUE(withSource.isAnswer(context.logits, joined({text.begin(), text.begin() + 8}, {5}), source));
    ASSERT_EQ(truncate(s, 0), RAPT_OK) << context.message.text;
    ASSERT_EQ(context.append(s, {6}), RAPT_OK);
    EXPECT_TRUE(withSource.isAnswer(context.logits, {6}, source));
  }
}

TEST(HybridOptions, WrongNumberOfTokens) {
  rapt_context_options options = keeping(-1);
  options.size = sizeof options;
  rapt_context *context = nullptr;
  Message message;
  EXPECT_FAILS(rapt_context_new(hybrid.open(), &options, &context, message.text, message.size), RAPT_INVALID, message,
               "a context option is -1");
}

TEST(HybridManifest, WrongBuffers) {
  Message message;
  EXPECT_EQ(makeDamaged("hybrid", "hybrid", message), RAPT_OK) << message.text;
  EXPECT_FAILS(makeDamaged(R"("slots", 2])", R"("slots", 0])", message), RAPT_UNSUPPORTED, message,
               "entry step of hybrid has a state that is not [slots, ...]");
  EXPECT_FAILS(makeDamaged(R"("slots", 1, 3])", R"("slots", 0, 3])", message), RAPT_UNSUPPORTED, message,
               "entry step of hybrid has a conv_state that is not [slots, ...]");
  // With a cache but without a table of its blocks a model with states has no keys and values of its own tokens.
  EXPECT_FAILS(makeDamaged("block_table", "block_tables", message), RAPT_UNSUPPORTED, message,
               "entry step of hybrid has a buffer cache");
}

} // namespace
