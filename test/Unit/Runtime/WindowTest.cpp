// Layers with a window keep the last tokens of a sequence alone: answers stay right, blocks come back, and what is gone
// is not asked for.
#include "FakeModel.h"
#include <algorithm>
#include <cstring>
#include <random>

using namespace rapt::test;

namespace {

constexpr int mostStep = 16; // tokens of a part

/// A model whose every layer has a window, or some have.
struct Windows {
  int64_t window;
  bool isMixed;

  rapt_module *open() const {
    const std::string path =
        inBuild(std::string("/test/fake/fake-") + (isMixed ? "mixed-" : "window-") + std::to_string(window) + ".so");
    rapt_module *module = nullptr;
    Message message;
    EXPECT_EQ(rapt_module_open(path.c_str(), nullptr, &module, message.text, message.size), RAPT_OK) << message.text;
    return module;
  }

  /// The first position that a query at `position` reads.
  int64_t firstRead(int64_t position) const { return std::max<int64_t>(position - window + 1, 0); }

  testing::AssertionResult isAnswer(const float *logits, const Text &text, int64_t position) const {
    if (!logits)
      return testing::AssertionFailure() << "no logits";
    uint32_t hash = 42;
    auto add = [&](int64_t from) {
      for (int64_t p = from; p <= position; ++p)
        hash = hash * 31u + (uint32_t(text[size_t(p)]) * 1000003u + uint32_t(p));
    };
    if (isMixed)
      add(0);
    add(firstRead(position));
    for (int v = 0; v < vocabulary; ++v)
      if (logits[v] != float(((hash ^ uint32_t(v) * 2654435761u) * 2246822519u) >> 8) / 1048576.0f)
        return testing::AssertionFailure() << "logit " << v << " of position " << position << " is wrong";
    return testing::AssertionSuccess();
  }
};

void PrintTo(const Windows &windows, std::ostream *out) {
  *out << "a window of " << windows.window << (windows.isMixed ? ", not of all layers" : "");
}

class WindowTest : public testing::TestWithParam<Windows> {
protected:
  void SetUp() override { module = GetParam().open(); }
  void TearDown() override { rapt_module_release(module); }

  rapt_context_options withTokens(int64_t tokens, int64_t slack = 0) {
    rapt_context_options options{};
    options.cache_tokens = tokens;
    options.max_step_tokens = mostStep;
    options.window_slack = slack;
    return options;
  }

  /// Appends and checks all logits.
  testing::AssertionResult append(Context &context, rapt_sequence sequence, Text &text, const Text &more) {
    const size_t before = text.size();
    rapt_chunk chunk = makeChunk(sequence, more, RAPT_LOGITS_ALL);
    if (rapt_status status = rapt_step(context, &chunk, 1, context.message.text, context.message.size))
      return testing::AssertionFailure() << rapt_status_name(status) << ": " << context.message.text;
    text.insert(text.end(), more.begin(), more.end());
    for (size_t i = 0; i < more.size(); ++i)
      if (auto right = GetParam().isAnswer(chunk.logits + i * vocabulary, text, int64_t(before + i)); !right)
        return right;
    return testing::AssertionSuccess();
  }

  std::string save(Context &context, rapt_sequence sequence) {
    size_t bytes = 0;
    EXPECT_EQ(rapt_sequence_save(context, sequence, nullptr, 0, &bytes, nullptr, 0), RAPT_OK);
    std::string state(bytes, 0);
    EXPECT_EQ(rapt_sequence_save(context, sequence, state.data(), bytes, &bytes, nullptr, 0), RAPT_OK);
    return state;
  }

  rapt_module *module = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Runtime, WindowTest,
                         testing::Values(Windows{3, false}, Windows{8, false}, Windows{11, false}, Windows{3, true},
                                         Windows{8, true}, Windows{11, true}),
                         [](const auto &info) {
                           return (info.param.isMixed ? "Some" : "All") + std::to_string(info.param.window);
                         });

/// Steps of one token, of a part, and of many parts, up to the model's positions.
TEST_P(WindowTest, LongTexts) {
  for (int64_t each : {1, 7, 16, 90, 256}) {
    // Where every layer has a window, the cache is smaller than the text.
    Context context(withTokens(GetParam().isMixed ? 256 : 64), module);
    const int64_t available = rapt_context_available(context);
    rapt_sequence s = context.sequence();
    Text text;
    while (int64_t(text.size()) < positions)
      ASSERT_TRUE(
          append(context, s, text, someText(std::min<int64_t>(each, positions - int64_t(text.size())), uint32_t(each))))
          << each << " tokens behind " << text.size();
    EXPECT_FAILS(context.append(s, {1}), RAPT_TOO_LONG, context.message, "256 positions");
    EXPECT_EQ(rapt_sequence_free(context, s, nullptr, 0), RAPT_OK);
    EXPECT_EQ(rapt_context_available(context), available);
  }
}

TEST_P(WindowTest, MemoryIsThatOfTheWindow) {
  rapt_memory memory{};
  memory.size = sizeof memory;
  rapt_context_options options = withTokens(256);
  options.size = sizeof options;
  ASSERT_EQ(rapt_context_memory(module, &options, &memory, nullptr, 0), RAPT_OK);
  const auto windowed = uint64_t((GetParam().window - 1 + mostStep + block - 1) / block + 1) * 64;
  EXPECT_EQ(memory.cache, windowed + (GetParam().isMixed ? 256 / block * 64 : 0));
  EXPECT_EQ(memory.most_cache, uint64_t(256 / block * 64) * (GetParam().isMixed ? 2 : 1));
  rapt_module_info info{};
  info.size = sizeof info;
  ASSERT_EQ(rapt_module_get_info(module, &info), RAPT_OK);
  EXPECT_EQ(info.cache_window, GetParam().window);
  EXPECT_EQ(info.window_bytes_per_token, 8);
  EXPECT_EQ(info.window_block_bytes, 64);
  EXPECT_EQ(info.cache_bytes_per_token, GetParam().isMixed ? 8 : 0);
  EXPECT_EQ(info.cache_block, block);
}

TEST_P(WindowTest, Truncate) {
  for (int64_t slack : {0, 1, 20}) {
    Context context(withTokens(256, slack), module);
    rapt_sequence s = context.sequence();
    Text text;
    ASSERT_TRUE(append(context, s, text, someText(100, 1)));
    ASSERT_TRUE(append(context, s, text, someText(5, 2)));
    const int64_t kept = 100 - slack;
    // The tokens of the last step, and the slack, can be taken back one by one.
    for (int64_t length = 105; length >= kept; --length) {
      ASSERT_EQ(rapt_sequence_truncate(context, s, length, context.message.text, context.message.size), RAPT_OK)
          << context.message.text;
      text.resize(size_t(length));
      rapt_sequence fork = 0;
      ASSERT_EQ(rapt_sequence_fork(context, s, &fork, nullptr, 0), RAPT_OK);
      Text copy = text;
      ASSERT_TRUE(append(context, fork, copy, someText(3, 4))) << length;
      ASSERT_EQ(rapt_sequence_free(context, fork, nullptr, 0), RAPT_OK);
    }
    const int64_t first = GetParam().firstRead(kept) / block * block, least = first + GetParam().window - 1;
    EXPECT_EQ(rapt_sequence_truncate(context, s, least, nullptr, 0), RAPT_OK);
    EXPECT_FAILS(rapt_sequence_truncate(context, s, least - 1, context.message.text, context.message.size),
                 RAPT_UNSUPPORTED, context.message,
                 "cannot truncate to " + std::to_string(least - 1) + " tokens: layers with a window of " +
                     std::to_string(GetParam().window) + " keep those from " + std::to_string(first) +
                     " on; truncate to 0, or to " + std::to_string(least) + " or more, or set window_slack");
    EXPECT_EQ(rapt_sequence_length(context, s), least);
    ASSERT_EQ(rapt_sequence_truncate(context, s, 0, nullptr, 0), RAPT_OK);
    text.clear();
    EXPECT_TRUE(append(context, s, text, someText(40, 3)));
  }
}

TEST_P(WindowTest, StatesHaveWhatIsKept) {
  Context from(withTokens(256), module), to(withTokens(256), module);
  rapt_sequence s = from.sequence(), t = 0;
  Text text;
  size_t most = 0;
  while (text.size() < 200) {
    ASSERT_TRUE(append(from, s, text, someText(1, uint32_t(text.size()))));
    const std::string state = save(from, s);
    ASSERT_EQ(rapt_sequence_load(to, state.data(), state.size(), &t, to.message.text, to.message.size), RAPT_OK)
        << to.message.text;
    Text copy = text;
    ASSERT_TRUE(append(to, t, copy, someText(20, 5))) << text.size();
    ASSERT_EQ(rapt_sequence_free(to, t, nullptr, 0), RAPT_OK);
    most = std::max(most, state.size() - (GetParam().isMixed ? (text.size() + block - 1) / block * 64 : 0));
  }
  EXPECT_LE(most, 144 + 64 * size_t((GetParam().window - 1) / block + 2));
}

TEST_P(WindowTest, StatesOfAShorterWindowLackKeys) {
  if (GetParam().window == 11)
    return;
  const Windows longer{11, GetParam().isMixed};
  rapt_module *other = longer.open();
  {
    Context from(withTokens(256), module), to(withTokens(256), other);
    rapt_sequence s = from.sequence(), t = 0;
    Text text;
    ASSERT_TRUE(append(from, s, text, someText(64, 1)));
    ASSERT_TRUE(append(from, s, text, {1}));
    const std::string state = save(from, s);
    EXPECT_FAILS(rapt_sequence_load(to, state.data(), state.size(), &t, to.message.text, to.message.size),
                 RAPT_MISMATCH, to.message, "the saved state keeps the blocks from",
                 "this model's windows of 11 tokens behind 65");
  }
  rapt_module_release(other);
}

/// A step that is canceled behind any of its parts leaves the sequence as it was.
TEST_P(WindowTest, CanceledSteps) {
  struct Stop {
    int64_t left;
    static int32_t told(void *user, int64_t, int64_t) { return static_cast<Stop *>(user)->left-- == 0; }
  };
  for (int64_t parts : {0, 1, 2, 4}) {
    Stop stop{1 << 20};
    rapt_context_options options = withTokens(256);
    options.progress = Stop::told;
    options.user = &stop;
    Context context(options, module);
    rapt_sequence s = context.sequence(), fork = 0;
    Text text;
    ASSERT_TRUE(append(context, s, text, someText(43, 1)));
    ASSERT_EQ(rapt_sequence_fork(context, s, &fork, nullptr, 0), RAPT_OK); // the last block is copied
    ASSERT_TRUE(append(context, fork, text, {9}));
    text.pop_back();
    ASSERT_EQ(rapt_sequence_free(context, fork, nullptr, 0), RAPT_OK);
    ASSERT_EQ(rapt_sequence_fork(context, s, &fork, nullptr, 0), RAPT_OK);
    const int64_t available = rapt_context_available(context);
    stop.left = parts;
    EXPECT_EQ(context.append(s, someText(90, 2)), RAPT_CANCELLED);
    stop.left = 1 << 20;
    EXPECT_GE(rapt_context_available(context), available); // the slack is gone
    EXPECT_EQ(rapt_sequence_length(context, s), 43);
    Text copy = text;
    EXPECT_TRUE(append(context, s, text, someText(30, 3))) << parts;
    EXPECT_TRUE(append(context, fork, copy, someText(30, 4))) << parts;
  }
}

TEST_P(WindowTest, CachesThatAreTooSmall) {
  if (GetParam().isMixed)
    return;
  Context context(withTokens(2 * block), module);
  rapt_sequence s = context.sequence(), other = context.sequence();
  Text text;
  ASSERT_TRUE(append(context, s, text, someText(block, 1)));
  ASSERT_EQ(context.append(other, {1}), RAPT_OK) << context.message.text;
  EXPECT_FAILS(context.append(other, someText(2 * block, 1)), RAPT_FULL, context.message,
               "more cache blocks of 8 tokens for layers with a window");
  EXPECT_EQ(rapt_sequence_free(context, other, nullptr, 0), RAPT_OK);
  EXPECT_TRUE(append(context, s, text, {2}));
}

/// Random use of sequences against plain copies of their texts.
TEST_P(WindowTest, RandomUse) {
  Context context(withTokens(60 * block, 2), module);
  const int64_t all = rapt_context_available(context);
  std::mt19937 random(uint32_t(GetParam().window + GetParam().isMixed));
  auto below = [&](size_t n) { return random() % n; };
  struct Live {
    rapt_sequence name;
    Text text;
    int64_t least; ///< the length to which it can be truncated at least
  };
  std::vector<Live> live;
  int refused = 0, truncated = 0, full = 0, stepped = 0;
  for (int i = 0; i < 4000; ++i) {
    size_t which = live.empty() ? 0 : below(live.size());
    const size_t what = live.empty() ? 0 : below(9);
    if (what == 0) {
      if (live.size() < 20)
        live.push_back({context.sequence(), {}, 0});
    } else if (what == 1) {
      Live fork = live[which];
      ASSERT_EQ(rapt_sequence_fork(context, live[which].name, &fork.name, nullptr, 0), RAPT_OK);
      live.push_back(fork);
    } else if (what == 2) {
      Live &one = live[which];
      const auto length = int64_t(below(one.text.size() + 1));
      rapt_status status =
          rapt_sequence_truncate(context, one.name, length, context.message.text, context.message.size);
      if (status) {
        ASSERT_EQ(status, RAPT_UNSUPPORTED) << context.message.text;
        ASSERT_LT(length, one.least);
        ASSERT_GT(length, 0);
        ++refused;
        continue;
      }
      one.text.resize(size_t(length));
      one.least = length ? one.least : 0;
      ++truncated;
    } else if (what == 3 || live.size() > 25) {
      ASSERT_EQ(rapt_sequence_free(context, live[which].name, nullptr, 0), RAPT_OK);
      live.erase(live.begin() + long(which));
    } else {
      // Chunks of several sequences, which parts of the step cut.
      std::vector<rapt_chunk> chunks;
      std::vector<Text> more;
      std::shuffle(live.begin(), live.end(), random);
      for (size_t n = std::min(live.size(), 1 + below(3)); more.size() < n;)
        more.push_back(someText(int64_t(1 + below(below(4) ? 5 : 60)), uint32_t(random())));
      for (size_t n = 0; n < more.size(); ++n)
        chunks.push_back(makeChunk(live[n].name, more[n]));
      rapt_status status = rapt_step(context, chunks.data(), chunks.size(), context.message.text, context.message.size);
      if (status) {
        ASSERT_TRUE(status == RAPT_FULL || status == RAPT_TOO_LONG) << context.message.text;
        for (size_t n = 0; n < more.size(); ++n)
          live[n].least = std::max(live[n].least, int64_t(live[n].text.size()) - 2);
        ++full;
        continue;
      }
      for (size_t n = 0; n < more.size(); ++n) {
        Text &text = live[n].text;
        text.insert(text.end(), more[n].begin(), more[n].end());
        live[n].least =
            std::max(live[n].least, int64_t(text.size()) - 2 - std::min<int64_t>(int64_t(more[n].size()), mostStep));
        ASSERT_TRUE(GetParam().isAnswer(chunks[n].logits, text, int64_t(text.size()) - 1)) << i;
        ++stepped;
      }
    }
  }
  for (Live &one : live)
    ASSERT_EQ(rapt_sequence_free(context, one.name, nullptr, 0), RAPT_OK);
  EXPECT_EQ(rapt_context_available(context), all);
  EXPECT_GT(refused, 20);
  EXPECT_GT(truncated, 20);
  EXPECT_GT(full, 5);
  EXPECT_GT(stepped, 500);
}

} // namespace
