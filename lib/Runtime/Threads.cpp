#include "lib/Runtime/Threads.h"
#include "rapt/rapt.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace rapt::runtime {
namespace {

constexpr size_t pathMost = 4096 + 64;

/// The start of a small file as text; false when it cannot be read.
bool readSmall(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t got = read(file, text, size - 1);
  close(file);
  text[got > 0 ? got : 0] = 0;
  return got > 0;
}

/// "quota period" in microseconds (two numbers, or "max 100000") to processors.
int64_t processorsOf(const char *text) {
  long long quota = 0, period = 0;
  if (sscanf(text, "%lld %lld", &quota, &period) != 2 || quota <= 0 || period <= 0)
    return INT64_MAX;
  return quota / period + (quota % period != 0);
}

int64_t quotaV2(const char *directory) {
  char path[pathMost + 16], text[64];
  snprintf(path, sizeof path, "%s/cpu.max", directory);
  return readSmall(path, text, sizeof text) ? processorsOf(text) : INT64_MAX;
}

int64_t quotaV1(const char *directory) {
  char path[pathMost + 32], text[64];
  snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", directory);
  if (!readSmall(path, text, 31))
    return INT64_MAX;
  size_t used = strcspn(text, "\n");
  text[used++] = ' ';
  snprintf(path, sizeof path, "%s/cpu.cfs_period_us", directory);
  return readSmall(path, text + used, sizeof text - used) ? processorsOf(text) : INT64_MAX;
}

/// The least of `quota` over the group's directory and its parents up to `root`.
int64_t leastUpwards(const char *root, const char *group, size_t groupLength, int64_t (*quota)(const char *)) {
  char directory[pathMost];
  int length = snprintf(directory, sizeof directory, "%s%.*s", root, int(groupLength), group);
  size_t rootLength = strlen(root);
  int64_t least = INT64_MAX;
  if (length < 0 || size_t(length) >= sizeof directory)
    return least;
  while (true) {
    int64_t here = quota(directory);
    least = here < least ? here : least;
    char *slash = strrchr(directory, '/');
    if (!slash || size_t(slash - directory) < rootLength)
      return least;
    *slash = 0;
  }
}

} // namespace

int64_t cgroupProcessors(const char *self, const char *root) {
  int64_t least = INT64_MAX;
  for (const char *line = self; *line;) { // hierarchy-id:controllers:path
    size_t length = strcspn(line, "\n");
    const char *first = static_cast<const char *>(memchr(line, ':', length));
    const char *second = first ? static_cast<const char *>(memchr(first + 1, ':', line + length - first - 1)) : nullptr;
    if (second) {
      size_t groupLength = size_t(line + length - second - 1);
      bool v2 = second == first + 1;
      char controllers[128];
      snprintf(controllers, sizeof controllers, ",%.*s,", int(second - first - 1), first + 1);
      int64_t here = INT64_MAX;
      if (v2)
        here = leastUpwards(root, second + 1, groupLength, quotaV2);
      else if (strstr(controllers, ",cpu,")) {
        char v1Root[pathMost];
        snprintf(v1Root, sizeof v1Root, "%s/cpu", root);
        here = leastUpwards(v1Root, second + 1, groupLength, quotaV1);
      }
      least = here < least ? here : least;
    }
    line += length + (line[length] == '\n');
  }
  return least;
}

/// Processors this process may be scheduled on. The set grows until the kernel's fits.
static int64_t affinityProcessors() {
  for (int processors = 1024; processors <= 1 << 20; processors *= 2) {
    cpu_set_t *set = CPU_ALLOC(processors);
    if (!set)
      break;
    size_t bytes = CPU_ALLOC_SIZE(processors);
    int failed = sched_getaffinity(0, bytes, set);
    int count = failed ? 0 : CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
    if (!failed)
      return count;
  }
  return 1;
}

} // namespace rapt::runtime

extern "C" int64_t rapt_default_threads(void) {
  char groups[4096];
  int64_t threads = rapt::runtime::affinityProcessors();
  if (rapt::runtime::readSmall("/proc/self/cgroup", groups, sizeof groups)) {
    int64_t granted = rapt::runtime::cgroupProcessors(groups, "/sys/fs/cgroup");
    threads = granted < threads ? granted : threads;
  }
  return threads < 1 ? 1 : threads;
}
