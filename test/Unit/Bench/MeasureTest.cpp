// Figures of a machine that is not quiet.
#include "lib/Bench/BenchRun.h"
#include <ctime>
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::bench;

namespace {

/// A process without its processor: time passes, and it computes nothing.
struct Waiting final : Workload {
  int64_t runs = 0;
  Waiting() { name = "waiting", unit = "tokens", amount = 3; }
  Outcome run() override {
    ++runs;
    const timespec pause{0, 6'000'000};
    nanosleep(&pause, nullptr);
    return {};
  }
  Outcome measureCost(WorkloadCost &) override { return {}; }
};

TEST(Measure, ARowWithoutUndisturbedRepetitionsHasFigures) {
  for (bool accept : {false, true}) {
    Waiting workload;
    Limits limits(nullptr);
    Result result;
    ASSERT_TRUE(measure(workload, limits, 1, 4, accept, result));
    EXPECT_TRUE(result.isDisturbed);
    EXPECT_EQ(result.undisturbed, 0u);
    EXPECT_EQ(result.repetitions, accept ? 4u : 12u);
    EXPECT_EQ(result.seconds.size(), result.repetitions);
    EXPECT_GE(result.median(), 6e-3);
    const std::string table = report({result}, Format::Markdown), list = report({result}, Format::JSON);
    EXPECT_NE(table.find(" ms to "), std::string::npos) << table;
    EXPECT_NE(table.find(accept ? "| 0 of 4 |" : "| 0 of 12 |"), std::string::npos) << table;
    EXPECT_NE(table.find("| disturbed"), std::string::npos) << table;
    EXPECT_NE(list.find("\"disturbed\": true"), std::string::npos) << list;
  }
}

/// A thread that waits for a GPU computes nothing: no repetition is dropped for it, and the machine's rates are no
/// limit.
TEST(Measure, OnAGpuEveryRepetitionCounts) {
  Waiting workload;
  workload.isOnGpu = true;
  Limits limits(nullptr);
  Result result;
  ASSERT_TRUE(measure(workload, limits, 1, 4, false, result));
  EXPECT_FALSE(result.isDisturbed);
  EXPECT_EQ(result.undisturbed, 4u);
  EXPECT_EQ(result.repetitions, 4u);
  EXPECT_EQ(workload.runs, 3 + 1 + 4) << "kernels are loaded and graphs recorded before";
  EXPECT_EQ(result.limitName, "");
  const std::string table = report({result}, Format::Markdown);
  EXPECT_NE(table.find("|  | | 4 of 4 |"), std::string::npos) << table;
}

} // namespace
