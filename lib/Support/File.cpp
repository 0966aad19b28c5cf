//===- File.cpp - Reading by position, writing by rename --------------------===//
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace rapt;

static std::string describe(int error) { return std::generic_category().message(error); }

std::string rapt::shownPath(std::string_view path) { return json::printable(path, 4096); }

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Why open() failed: a link whose target is missing is not a missing file.
static Error openFailure(const std::string &path, int error) {
  std::string target(PATH_MAX, '\0');
  ssize_t length = error == ENOENT ? readlink(path.c_str(), target.data(), target.size()) : -1;
  if (length < 0)
    return Error{shownPath(path) + ": " + describe(error)};
  target.resize(size_t(length));
  std::string reason = shownPath(path) + ": a dangling symbolic link: its target " + shownPath(target) + " is missing";
  std::string partial = target + ".incomplete";
  if (partial.front() != '/')
    partial = path.substr(0, path.rfind('/') + 1) + partial;
  if (access(partial.c_str(), F_OK) == 0)
    reason += "; the download is unfinished (" + shownPath(partial) + " is there)";
  return Error{reason + "; download the file again"};
}

static const char *kindOf(mode_t mode) {
  return S_ISDIR(mode)                    ? "a directory"
         : S_ISFIFO(mode)                 ? "a FIFO"
         : S_ISSOCK(mode)                 ? "a socket"
         : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                          : "a special file";
}

Expected<std::shared_ptr<const InputFile>> InputFile::open(const std::string &path) {
  if (path.find('\0') != path.npos)
    return Error{shownPath(path) + ": a file name cannot hold a NUL byte"};
  int descriptor;
  do // O_NONBLOCK: opening a FIFO that nobody writes to must not hang
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0)
    return openFailure(path, errno);
  struct stat status;
  if (fstat(descriptor, &status) != 0) {
    int error = errno;
    close(descriptor);
    return Error{shownPath(path) + ": " + describe(error)};
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor);
    return Error{shownPath(path) + ": " + kindOf(status.st_mode) + ", not a regular file"};
  }
  return std::shared_ptr<const InputFile>(new InputFile(path, descriptor, uint64_t(status.st_size)));
}

InputFile::InputFile(std::string name, int descriptor, uint64_t bytes)
    : name(std::move(name)), descriptor(descriptor), bytes(bytes) {}

InputFile::~InputFile() { close(descriptor); }

uint64_t InputFile::sizeNow() const {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? uint64_t(status.st_size) : 0;
}

Expected<size_t> InputFile::readSome(uint64_t offset, std::span<std::byte> out) const {
  size_t done = 0;
  while (done < out.size()) {
    // Linux moves at most 2 GiB - 4 KiB in one call.
    size_t count = std::min(out.size() - done, size_t(1) << 30);
    ssize_t got = pread(descriptor, out.data() + done, count, off_t(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return Error{shownPath(name) + ": cannot read: " + describe(errno)};
    if (got == 0)
      break;
    done += size_t(got);
  }
  return done;
}

Status InputFile::read(uint64_t offset, std::span<std::byte> out) const {
  RAPT_ASSIGN_OR_RETURN(size_t got, readSome(offset, out));
  if (got == out.size())
    return {};
  return Error{shownPath(name) + ": the file ends at byte " + std::to_string(sizeNow()) + ", needed up to byte " +
               std::to_string(offset + out.size()) + " (it had " + std::to_string(bytes) + " bytes when opened)"};
}

Expected<std::string> rapt::readFile(const std::string &path, uint64_t most) {
  RAPT_ASSIGN_OR_RETURN(auto file, InputFile::open(path));
  uint64_t size = file->size();
  if (size > most)
    return Error{shownPath(path) + ": " + std::to_string(size) + " bytes, more than the " + std::to_string(most) +
                 " allowed"};
  std::string text(size, '\0');
  RAPT_RETURN_IF_ERROR(file->read(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Expected<std::string> rapt::readStream(int descriptor, const std::string &name, uint64_t most) {
  std::string text;
  while (true) {
    char piece[1 << 16];
    const ssize_t got = ::read(descriptor, piece, sizeof piece);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return Error{name + ": " + describe(errno)};
    if (got == 0)
      return text;
    text.append(piece, size_t(got));
    if (text.size() > most)
      return Error{name + ": more than the " + std::to_string(most) + " bytes allowed"};
  }
}

bool rapt::isFifo(const std::string &path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

Expected<std::string> rapt::readFileOrFifo(const std::string &path, uint64_t most) {
  if (!isFifo(path))
    return readFile(path, most);
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return openFailure(path, errno);
  Expected<std::string> text = readStream(descriptor, shownPath(path), most);
  close(descriptor);
  return text;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

bool rapt::isNullDevice(const std::string &path) {
  struct stat status, null;
  return stat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode) && stat("/dev/null", &null) == 0 &&
         S_ISCHR(null.st_mode) && status.st_rdev == null.st_rdev;
}

Status rapt::writeStandardOutput(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = ::write(STDOUT_FILENO, text.data(), std::min(text.size(), size_t(1) << 30));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return Error{"standard output: " + describe(errno)};
    text.remove_prefix(size_t(put));
  }
  return {};
}

Expected<std::unique_ptr<OutputFile>> OutputFile::create(const std::string &path) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return Error{shownPath(path) + ": cannot write: it is " + kindOf(status.st_mode)};
  std::unique_ptr<TemporaryFile> file = TemporaryFile::create(directoryOf(path), 0666);
  if (!file)
    return Error{shownPath(path) + ": cannot create: " + describe(errno)};
  return std::unique_ptr<OutputFile>(new OutputFile(path, std::move(file)));
}

Error OutputFile::failure(const char *action) const {
  return Error{shownPath(path) + ": cannot " + action + ": " + describe(errno)};
}

Status OutputFile::write(std::span<const std::byte> data) {
  while (!data.empty()) {
    ssize_t put = ::write(file->descriptor(), data.data(), std::min(data.size(), size_t(1) << 30));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return failure("write");
    data = data.subspan(size_t(put));
  }
  return {};
}

Status OutputFile::commit() {
  if (fsync(file->descriptor()) != 0)
    return failure("write");
  return file->publish(path) ? Status() : Status(failure("create"));
}
