//===- StagedFile.cpp - An output that appears under its name only when whole --===//
#include "lib/Artifact/StagedFile.h"
#include "lib/Support/File.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>

namespace rapt::artifact {

namespace {

/// Paths of the temporary files that exist now, where a signal handler can read them.
struct Registry {
  static constexpr int slots = 16;
  char paths[slots][PATH_MAX];
  std::atomic<int> state[slots]; ///< 0 free, 1 being filled, 2 in use
};
Registry registry;

int enlist(const std::string &path) {
  for (int slot = 0; slot < Registry::slots; ++slot) {
    int free = 0;
    if (path.size() < PATH_MAX && registry.state[slot].compare_exchange_strong(free, 1)) {
      std::memcpy(registry.paths[slot], path.c_str(), path.size() + 1);
      registry.state[slot] = 2;
      return slot;
    }
  }
  return -1;
}

std::string describe(int error) { return std::generic_category().message(error); }

} // namespace

std::string directoryOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

Expected<std::unique_ptr<StagedFile>> StagedFile::create(const std::string &path, unsigned mode) {
  const std::string shown = shownPath(path), directory = directoryOf(path);
  struct stat status;
  if (stat(directory.c_str(), &status) != 0)
    return Error{shown + ": cannot write: directory " + shownPath(directory) + ": " + describe(errno)};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return Error{shown + ": cannot write: it is " + (S_ISDIR(status.st_mode) ? "a directory" : "not a regular file")};
  static std::atomic<unsigned> counter;
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string temporary = directory + "/.rapt-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + ".tmp";
    // Enlisted first: a signal may come as soon as the file exists.
    const int slot = enlist(temporary);
    const int file = open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file >= 0)
      return std::unique_ptr<StagedFile>(new StagedFile(path, std::move(temporary), file, slot));
    if (slot >= 0)
      registry.state[slot] = 0;
    if (errno != EEXIST && errno != EINTR)
      break;
  }
  return Error{shown + ": cannot write into directory " + shownPath(directory) + ": " + describe(errno)};
}

StagedFile::StagedFile(std::string path, std::string temporary, int file, int slot)
    : path(std::move(path)), temporary(std::move(temporary)), file(file), slot(slot) {}

StagedFile::~StagedFile() {
  if (file >= 0)
    close(file);
  if (!temporary.empty())
    unlink(temporary.c_str());
  if (slot >= 0)
    registry.state[slot] = 0;
}

void StagedFile::discardAll() {
  for (int slot = 0; slot < Registry::slots; ++slot)
    if (registry.state[slot] == 2)
      unlink(registry.paths[slot]);
}

Error StagedFile::failure(const char *action, int error) const {
  std::string message = shownPath(path) + ": cannot " + action + ": " + describe(error);
  struct statvfs space;
  if (error == ENOSPC || error == EDQUOT) {
    if (reserved)
      message += ": needs " + std::to_string(reserved) + " bytes";
    if (fstatvfs(file, &space) == 0)
      message += (reserved ? ", " : ": ") + std::to_string(uint64_t(space.f_bavail) * space.f_frsize) +
                 " bytes are free in " + shownPath(directoryOf(path));
  }
  struct rlimit limit;
  if (error == EFBIG && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    message += ": needs " + std::to_string(reserved) + " bytes, the limit on file sizes (ulimit -f) is " +
               std::to_string(limit.rlim_cur);
  return Error{message};
}

Expected<std::unique_ptr<StagedFile>> StagedFile::createWith(const std::string &path, std::string_view bytes,
                                                             unsigned mode) {
  auto file = create(path, mode);
  if (!file)
    return file.error();
  if (Status status = (*file)->reserve(bytes.size()); !status)
    return status.error();
  if (Status status = (*file)->writeAt(0, std::as_bytes(std::span(bytes))); !status)
    return status.error();
  return file;
}

Status StagedFile::reserve(uint64_t bytes) {
  reserved = bytes;
  int error = 0;
  if (bytes > 0)
    do
      error = fallocate(file, 0, 0, off_t(bytes)) == 0 ? 0 : errno;
    while (error == EINTR);
  // Not every file system can allocate ahead; there a full disk shows at the writes.
  if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL)
    error = ftruncate(file, off_t(bytes)) == 0 ? 0 : errno;
  if (error)
    return failure("write", error);
  return {};
}

Status StagedFile::writeAt(uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put = pwrite(file, data.data(), std::min(data.size(), size_t(1) << 30), off_t(offset));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return failure("write", errno);
    data = data.subspan(size_t(put));
    offset += uint64_t(put);
  }
  return {};
}

void StagedFile::beginWriteback(uint64_t offset, uint64_t bytes) {
  sync_file_range(file, off_t(offset), off_t(bytes), SYNC_FILE_RANGE_WRITE);
}

Status StagedFile::commit(const std::string &target) {
  if (!target.empty())
    path = target;
  if (fsync(file) != 0)
    return failure("write", errno);
  const int closing = file;
  file = -1;
  if (close(closing) != 0)
    return failure("write", errno);
  if (rename(temporary.c_str(), path.c_str()) != 0)
    return failure("create", errno);
  temporary.clear();
  if (slot >= 0)
    registry.state[slot] = 0;
  slot = -1;
  // Not every file system can flush a directory; the rename itself has happened.
  if (const int folder = open(directoryOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return {};
}

} // namespace rapt::artifact
