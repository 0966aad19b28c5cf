//===- StagedFile.cpp - An output that appears under its name only when whole --===//
#include "lib/Artifact/StagedFile.h"
#include "lib/Support/File.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>

namespace rapt::artifact {

static std::string describe(int error) { return std::generic_category().message(error); }

Expected<std::unique_ptr<StagedFile>> StagedFile::create(const std::string &path, unsigned mode) {
  const std::string shown = shownPath(path), directory = directoryOf(path);
  struct stat status;
  if (stat(directory.c_str(), &status) != 0)
    return Error{shown + ": cannot write: directory " + shownPath(directory) + ": " + describe(errno)};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return Error{shown + ": cannot write: it is " + (S_ISDIR(status.st_mode) ? "a directory" : "not a regular file")};
  std::unique_ptr<TemporaryFile> file = TemporaryFile::create(directory, mode);
  if (!file)
    return Error{shown + ": cannot write into directory " + shownPath(directory) + ": " + describe(errno)};
  return std::unique_ptr<StagedFile>(new StagedFile(path, std::move(file)));
}

Error StagedFile::failure(const char *action, int error) const {
  std::string message = shownPath(path) + ": cannot " + action + ": " + describe(error);
  struct statvfs space;
  if (error == ENOSPC || error == EDQUOT) {
    if (reserved)
      message += ": needs " + std::to_string(reserved) + " bytes";
    if (fstatvfs(descriptor(), &space) == 0)
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
  RAPT_ASSIGN_OR_RETURN(auto file, create(path, mode));
  RAPT_RETURN_IF_ERROR(file->reserve(bytes.size()));
  RAPT_RETURN_IF_ERROR(file->writeAt(0, std::as_bytes(std::span(bytes))));
  return file;
}

Status StagedFile::reserve(uint64_t bytes) {
  reserved = bytes;
  int error = 0;
  if (bytes > 0)
    do
      error = fallocate(descriptor(), 0, 0, off_t(bytes)) == 0 ? 0 : errno;
    while (error == EINTR);
  // Not every file system can allocate ahead; there a full disk shows at the writes.
  if (error == EOPNOTSUPP || error == ENOSYS || error == EINVAL)
    error = ftruncate(descriptor(), off_t(bytes)) == 0 ? 0 : errno;
  if (error)
    return failure("write", error);
  return {};
}

Status StagedFile::writeAt(uint64_t offset, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t put = pwrite(descriptor(), data.data(), std::min(data.size(), size_t(1) << 30), off_t(offset));
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
  sync_file_range(descriptor(), off_t(offset), off_t(bytes), SYNC_FILE_RANGE_WRITE);
}

Status StagedFile::commit(const std::string &target) {
  if (!target.empty())
    path = target;
  if (fsync(descriptor()) != 0)
    return failure("write", errno);
  return file->publish(path) ? Status() : Status(failure("create", errno));
}

} // namespace rapt::artifact
