// Times of kernels: the simulated clock goes on by a microsecond for each thread block, so that every figure is known.
#include "FakeDevice.h"
#include "rapt/rapt_profile.h"
#include "test/Simulator/Cuda/State.h"
#include <cmath>
#include <cstring>
#include <dlfcn.h>

using namespace rapt::test;
using rapt::runtime::cuda::Counts;

namespace {

constexpr double secondsOfABlock = 1e-6;

class DeviceProfile : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(openTimed(artifact, &module, message), RAPT_OK) << message.text; }
  void TearDown() override {
    deviceFaults = {};
    rapt_module_release(module);
  }
  static uint64_t graphs() {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    Counts now;
    reinterpret_cast<void (*)(Counts *)>(dlsym(library, "raptSimulatedCounts"))(&now);
    dlclose(library);
    return now.graphs;
  }
  static std::vector<rapt_profile_row> rowsOf(rapt_context *context) {
    size_t count = 0;
    EXPECT_EQ(rapt_profile_read(context, nullptr, &count, nullptr, 0), RAPT_OK);
    rapt_profile_row empty{};
    empty.size = sizeof empty;
    std::vector<rapt_profile_row> rows(count, empty);
    EXPECT_EQ(rapt_profile_read(context, rows.data(), &count, nullptr, 0), RAPT_OK);
    return rows;
  }

  DeviceArtifact artifact = decoderOnDevice();
  rapt_module *module = nullptr;
  Message message;
};

TEST_F(DeviceProfile, TimesAreTheGpus) {
  Context context({}, module);
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(3, 1))); // before it starts: not counted
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  ASSERT_TRUE(context.appendAndCheck(s, text, someText(40, 2)));
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(context.appendAndCheck(s, text, {i}));
  const std::vector<rapt_profile_row> rows = rowsOf(context);
  struct {
    const char *op;
    int32_t oneToken;
    uint64_t calls;
    double blocks;
  } expected[] = {{"insert", 0, 1, 2}, {"project", 0, 1, 1}, {nullptr, 0, 1, 0},
                  {"insert", 1, 3, 3}, {"project", 1, 3, 3}, {nullptr, 1, 3, 0}};
  ASSERT_EQ(rows.size(), std::size(expected) + 1);
  for (size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_STREQ(rows[i].entry, "step");
    EXPECT_STREQ(rows[i].op, expected[i].op);
    EXPECT_EQ(rows[i].one_token, expected[i].oneToken);
    EXPECT_EQ(rows[i].calls, expected[i].calls);
    if (rows[i].op)
      EXPECT_NEAR(rows[i].seconds, expected[i].blocks * secondsOfABlock, 1e-9) << i;
    else // the time of the host beside that of the ops' kernels: the kernel without an op is part of it
      EXPECT_GE(rows[i].seconds, 0) << i;
  }
  EXPECT_EQ(rows[0].flops, 2 * 40 * 40 + 7);
  EXPECT_EQ(rows.back().entry, nullptr);
  EXPECT_EQ(rows.back().calls, 4u);
}

/// A graph has no times of its kernels, so none is started while a profile is on.
TEST_F(DeviceProfile, KernelsAreStartedOneByOne) {
  Context context({}, module);
  rapt_sequence s = context.sequence();
  Text text;
  auto graphsOf = [&](int steps) {
    const uint64_t before = graphs();
    for (int i = 0; i < steps; ++i)
      EXPECT_TRUE(context.appendAndCheck(s, text, {i}));
    return graphs() - before;
  };
  EXPECT_EQ(graphsOf(4), 3u);
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  EXPECT_EQ(graphsOf(2), 0u);
  ASSERT_EQ(rapt_profile_stop(context, nullptr, 0), RAPT_OK);
  EXPECT_EQ(graphsOf(2), 2u) << "the graph of before serves again";
  EXPECT_EQ(rowsOf(context).size(), 4u) << "steps behind the end are not told";
}

/// More kernels in a run than there are events: a large batch of them is kept, and none is lost.
TEST_F(DeviceProfile, ManyKernels) {
  Context context({}, module);
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  deviceFaults.repeats = 300;
  ASSERT_TRUE(context.appendAndCheck(s, text, {1}));
  ASSERT_TRUE(context.appendAndCheck(s, text, {2}));
  double calls = 0, seconds = 0;
  for (const rapt_profile_row &row : rowsOf(context))
    if (row.op && !strcmp(row.op, "insert"))
      calls += double(row.calls), seconds += row.seconds;
  EXPECT_EQ(calls, 602) << "those beyond the layers belong to the last";
  EXPECT_NEAR(seconds, 602 * secondsOfABlock, 1e-8);
}

TEST_F(DeviceProfile, FailuresAreTold) {
  Context context({}, module);
  rapt_sequence s = context.sequence();
  Text text;
  ASSERT_EQ(rapt_profile_start(context, nullptr, 0), RAPT_OK);
  deviceFaults.startsMissingKernel = true;
  EXPECT_FAILS(context.append(s, {2}), RAPT_BUG, context.message, "kernel missing cannot have 0 bytes");
  deviceFaults = {};
  deviceFaults.user = static_cast<rapt_context *>(context);
  deviceFaults.atLaunch = [](void *user) { rapt_cancel(static_cast<rapt_context *>(user)); };
  EXPECT_EQ(context.append(s, {2}), RAPT_CANCELLED);
  deviceFaults = {};
  EXPECT_TRUE(context.appendAndCheck(s, text, {1}));
  for (const rapt_profile_row &row : rowsOf(context))
    EXPECT_TRUE(std::isfinite(row.seconds) && row.seconds >= 0);
}

TEST_F(DeviceProfile, LaunchesOfOlderLibrariesTellNoDispatch) {
  Context context({}, deviceModule());
  EXPECT_FAILS(rapt_profile_start(context, context.message.text, context.message.size), RAPT_UNSUPPORTED,
               context.message, "fake does not tell its ops: compile it again");
  size_t rows = 0;
  EXPECT_EQ(rapt_profile_read(context, nullptr, &rows, nullptr, 0), RAPT_INVALID);
}

} // namespace
