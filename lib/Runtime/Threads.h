//===- Threads.h - How many threads, and the pool of them ----------------------===//
#pragma once
#include <cstdint>

namespace rapt::runtime {

/// Processors that cgroup `cpu.max` (v2) or cfs quota (v1) grants, rounded up; INT64_MAX without a limit. `self` is
/// the content of /proc/self/cgroup, `root` the mount point (/sys/fs/cgroup).
int64_t cgroupProcessors(const char *self, const char *root);

} // namespace rapt::runtime
