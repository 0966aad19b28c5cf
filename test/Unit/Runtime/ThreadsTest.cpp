// How many threads a container grants (fault 74).
#include "lib/Runtime/Threads.h"
#include "rapt/rapt.h"
#include "test/Unit/TemporaryFolder.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>

using rapt::runtime::cgroupProcessors;

namespace {

struct Tree {
  const rapt::test::TemporaryFolder own;
  const std::filesystem::path root = own.path;
  void put(const std::string &path, const std::string &text) {
    std::filesystem::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
};

TEST(Threads, LeastQuotaOfAGroupAndItsParents) {
  Tree tree;
  tree.put("a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cgroupProcessors("0::/a/b\n", tree.root.c_str()), INT64_MAX);
  tree.put("a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cgroupProcessors("0::/a/b\n", tree.root.c_str()), 3);
  tree.put("a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(cgroupProcessors("0::/a/b\n", tree.root.c_str()), 1);
  EXPECT_EQ(cgroupProcessors("0::/a\n", tree.root.c_str()), 3);
  EXPECT_EQ(cgroupProcessors("0::/\n", tree.root.c_str()), INT64_MAX);
}

TEST(Threads, VersionOneAndNonsense) {
  Tree tree;
  tree.put("cpu/job/cpu.cfs_quota_us", "150000\n");
  tree.put("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cgroupProcessors("5:cpuset:/x\n4:cpu,cpuacct:/job\n", tree.root.c_str()), 2);
  tree.put("cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cgroupProcessors("4:cpu,cpuacct:/job\n", tree.root.c_str()), INT64_MAX);
  tree.put("a/cpu.max", "0 0");
  for (const char *text : {"", "\n", ":", "::", "0::/a", "0::/../../etc", "no colon\n0:"})
    EXPECT_EQ(cgroupProcessors(text, tree.root.c_str()), INT64_MAX) << text;
}

TEST(Threads, FollowsTheAffinity) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &before)) {
      CPU_SET(i, &one);
      break;
    }
  sched_setaffinity(0, sizeof one, &one);
  setenv("OMP_NUM_THREADS", "1000000", 1);
  EXPECT_EQ(rapt_default_threads(), 1);
  sched_setaffinity(0, sizeof before, &before);
  EXPECT_LE(rapt_default_threads(), CPU_COUNT(&before));
  EXPECT_GE(rapt_default_threads(), 1);
}

} // namespace
