#include "lib/Runtime/File.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rapt::runtime {

File::~File() {
  if (descriptor >= 0)
    close(descriptor);
}

rapt_status File::check(const char *name, const Report &report) {
  struct stat status;
  if (fstat(descriptor, &status))
    return report.fail(RAPT_IO, "%s: cannot be examined: %s", name, strerror(errno));
  if (!S_ISREG(status.st_mode))
    return report.fail(RAPT_BAD_FILE, "%s: is %s, not a regular file", name,
                       S_ISDIR(status.st_mode) ? "a directory" : "a device, pipe or socket");
  bytes = uint64_t(status.st_size);
  return RAPT_OK;
}

rapt_status File::open(const char *path, const Report &report) {
  do // without O_NONBLOCK a FIFO would hang here
    descriptor = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0)
    return report.fail(RAPT_IO, "%s: cannot be opened: %s", path, strerror(errno));
  return check(path, report);
}

rapt_status File::duplicate(int from, const char *name, const Report &report) {
  descriptor = fcntl(from, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0)
    return report.fail(RAPT_IO, "%s: cannot be duplicated: %s", name, strerror(errno));
  return check(name, report);
}

bool File::readExactly(void *to, uint64_t count, uint64_t offset) const {
  auto *memory = static_cast<char *>(to);
  while (count) {
    ssize_t got = pread(descriptor, memory, count > (1u << 30) ? 1u << 30 : count, off_t(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    memory += got;
    offset += uint64_t(got);
    count -= uint64_t(got);
  }
  return true;
}

} // namespace rapt::runtime
