// Steps of decoding are CUDA graphs: how many kernels and graphs are started, and that no graph works on what its
// kernels' arguments no longer are.
#include "FakeDevice.h"
#include "lib/Runtime/DeviceGraphs.h"
#include "test/Simulator/Cuda/State.h"
#include <cstring>
#include <dlfcn.h>

using namespace rapt::test;
using rapt::runtime::cuda::Counts;

namespace {

constexpr uint64_t kernelsOfAStep = 3;

/// Counts of the simulated driver.
Counts countsNow() {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  Counts now;
  reinterpret_cast<void (*)(Counts *)>(dlsym(library, "raptSimulatedCounts"))(&now);
  dlclose(library);
  return now;
}

/// Counts of a test alone. No graph is left.
class DeviceGraph : public testing::Test {
protected:
  void SetUp() override {
    deviceModule();
    before = countsNow();
  }
  void TearDown() override {
    deviceFaults = {};
    EXPECT_EQ(countsNow().liveGraphs, before.liveGraphs);
  }
  uint64_t kernels() const { return countsNow().kernels - before.kernels; }
  uint64_t graphs() const { return countsNow().graphs - before.graphs; }
  uint64_t recorded() const { return countsNow().recordedGraphs - before.recordedGraphs; }
  Counts before;
};

TEST_F(DeviceGraph, DecodingStartsOneGraphAStep) {
  Context context({}, deviceModule());
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(block + 1, 1)));
  EXPECT_EQ(kernels(), kernelsOfAStep) << "the prompt";
  for (int i = 1; i < block; ++i)
    ASSERT_TRUE(context.appendAndCheck(s, text, {i}));
  EXPECT_EQ(kernels(), 2 * kernelsOfAStep) << "the first step with one token is not recorded";
  EXPECT_EQ(graphs(), uint64_t(block - 2));
  EXPECT_EQ(recorded(), 1u);
  for (int i = 0; i < block; ++i) // the table of blocks is longer
    ASSERT_TRUE(context.appendAndCheck(s, text, {i}));
  EXPECT_EQ(kernels(), 3 * kernelsOfAStep);
  EXPECT_EQ(graphs(), uint64_t(2 * block - 3));
  EXPECT_EQ(recorded(), 2u);
}

/// A graph of one sequence serves another one of the same context, as its arguments are the context's.
TEST_F(DeviceGraph, SequencesShareGraphs) {
  Context context({}, deviceModule());
  rapt_sequence sequences[2] = {context.sequence(), context.sequence()};
  Text texts[2];
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(context.appendAndCheck(sequences[i % 2], texts[i % 2], {i + 1}));
  EXPECT_EQ(kernels(), kernelsOfAStep);
  EXPECT_EQ(graphs(), 5u);
  EXPECT_EQ(recorded(), 1u);
}

/// Inputs, outputs and workspace are allocated again for a large step. A graph of before would read freed memory.
TEST_F(DeviceGraph, MemoryThatMovesIsFollowed) {
  Context context({}, deviceModule());
  rapt_sequence s = context.sequence();
  Text text;
  auto decode = [&](int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE(context.appendAndCheck(s, text, {i}));
  };
  decode(4);
  EXPECT_EQ(recorded(), 1u);
  for (int64_t count : {40, 64}) {
    const Text more = someText(count, 1);
    rapt_chunk chunk = makeChunk(s, more, RAPT_LOGITS_ALL);
    ASSERT_EQ(rapt_step(context, &chunk, 1, context.message.text, context.message.size), RAPT_OK)
        << context.message.text;
    ASSERT_EQ(rapt_sequence_truncate(context, s, int64_t(text.size()), nullptr, 0), RAPT_OK);
    decode(1);
  }
  decode(3);
  const uint64_t graphsBefore = graphs();
  decode(3);
  EXPECT_GT(graphs(), graphsBefore) << "steps are recorded again";
}

/// Rows that join and leave: graphs of several numbers of rows are kept, of too many the oldest ends.
TEST_F(DeviceGraph, RowsJoinAndLeave) {
  constexpr size_t most = 8; // rows of a step
  rapt_context_options options{};
  options.cache_tokens = most * 4 * block;
  Context context(options, deviceModule());
  std::vector<rapt_sequence> sequences;
  std::vector<Text> texts(most);
  for (size_t i = 0; i < most; ++i)
    sequences.push_back(context.sequence());
  auto step = [&](size_t rows) {
    std::vector<rapt_chunk> chunks;
    const Text token = {int32_t(rows)};
    for (size_t i = 0; i < rows; ++i) {
      chunks.push_back(makeChunk(sequences[i], token));
      texts[i].push_back(token[0]);
    }
    ASSERT_EQ(rapt_step(context, chunks.data(), rows, context.message.text, context.message.size), RAPT_OK)
        << context.message.text;
    for (size_t i = 0; i < rows; ++i)
      ASSERT_TRUE(isAnswer(chunks[i].logits, texts[i], int64_t(texts[i].size()) - 1)) << i;
  };
  for (int times = 0; times < 2; ++times)
    for (size_t rows : {1, 2, 3})
      step(rows);
  EXPECT_EQ(recorded(), 3u) << "numbers of rows alternate";
  for (size_t rows : {4, 5, 6, 7, 8, 1, 2, 3}) // few rows come again with a longer table
    for (int times = 0; times < 2; ++times)
      step(rows);
  EXPECT_EQ(recorded(), most + 3);
  EXPECT_EQ(countsNow().liveGraphs - before.liveGraphs, 8);
  const uint64_t graphsBefore = graphs();
  step(3);
  EXPECT_EQ(graphs(), graphsBefore + 1);
}

TEST_F(DeviceGraph, ACancelIsSeenInARecording) {
  Context context({}, deviceModule());
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, {1}));
  deviceFaults.user = static_cast<rapt_context *>(context);
  deviceFaults.atLaunch = [](void *user) { rapt_cancel(static_cast<rapt_context *>(user)); };
  EXPECT_EQ(context.append(s, {2}), RAPT_CANCELLED) << context.message.text;
  deviceFaults = {};
  EXPECT_EQ(kernels(), kernelsOfAStep) << "a recording runs nothing";
  for (int i = 0; i < 3; ++i) // the cut recording was dropped
    ASSERT_TRUE(context.appendAndCheck(s, text, {i}));
  EXPECT_EQ(graphs(), 3u);
  rapt_cancel(context);
  EXPECT_EQ(context.append(s, {2}), RAPT_CANCELLED);
  EXPECT_EQ(graphs(), 3u) << "nothing is started";
  ASSERT_TRUE(context.appendAndCheck(s, text, {7}));
}

TEST_F(DeviceGraph, FailuresAreTold) {
  Context context({}, deviceModule());
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, {1}));
  deviceFaults.startsMissingKernel = true; // looks for a kernel, which a recording may not
  EXPECT_FAILS(context.append(s, {2}), RAPT_IO, context.message,
               "kernel missing cannot have 0 bytes of shared memory or is missing: operation not permitted when stream "
               "is capturing");
  deviceFaults = {};
  ASSERT_TRUE(context.appendAndCheck(s, text, {3}));
  EXPECT_EQ(graphs(), 1u);

  Context other({}, deviceModule());
  s = other.sequence();
  text = {};
  ASSERT_TRUE(other.appendAndCheck(s, text, {1}));
  testing::internal::CaptureStderr();
  deviceFaults.readsBeyondMemory = true;
  EXPECT_FAILS(other.append(s, {3}), RAPT_BUG, other.message,
               "a graph of kernels cannot be started, or a kernel before it failed: unspecified launch failure");
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(rapt_sequence_length(other, s), 1);
}

/// Without memory for graphs, every kernel is started by itself, and the application is told once.
[[noreturn]] void decodeWithoutGraphs() {
  setenv("RAPT_SIMULATED_GRAPHS", "0", 1);
  rapt_context_options options{};
  options.log = [](void *, const char *line) { fprintf(stderr, "%s\n", line); };
  Context context(options, deviceModule());
  rapt_sequence s = context.sequence();
  Text text;
  for (int i = 0; i < 5; ++i)
    if (!context.appendAndCheck(s, text, {i}))
      _exit(RAPT_BUG);
  fprintf(stderr, "%d kernels, %d graphs\n", int(countsNow().kernels), int(countsNow().graphs));
  _exit(RAPT_OK);
}

TEST(DeviceGraphDeathTest, ADriverThatMakesNoGraph) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(decodeWithoutGraphs(), testing::ExitedWithCode(RAPT_OK),
              "^cache: [^\n]*\nGPU 0 .simulated GPU. makes no graph of a step, whose kernels are started one by one: "
              "out of memory\n15 kernels, 0 graphs\n$");
}

} // namespace
