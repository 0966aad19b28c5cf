//===- TemporaryFile.cpp - A file that has no name until it is whole --------===//
#include "lib/Support/TemporaryFile.h"
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <mutex>
#include <set>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rapt;

namespace {

/// Paths of the temporary files that exist now, where a signal handler can read them.
struct Registry {
  static constexpr int slots = 16;
  char paths[slots][PATH_MAX];
  std::atomic<int> state[slots]; ///< 0 free, 1 being filled, 2 in use
};
Registry registry;
std::atomic<unsigned> counter;

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

void delist(int slot) {
  if (slot >= 0)
    registry.state[slot] = 0;
}

/// The process of a name that is exactly .rapt-PID-N.tmp, else 0.
pid_t processOf(std::string_view name) {
  constexpr std::string_view before = ".rapt-", after = ".tmp";
  if (!name.starts_with(before) || !name.ends_with(after) || name.size() <= before.size() + after.size())
    return 0;
  name = name.substr(before.size(), name.size() - before.size() - after.size());
  const char *end = name.data() + name.size();
  pid_t process = 0;
  unsigned number = 0;
  auto [dash, error] = std::from_chars(name.data(), end, process);
  if (error != std::errc() || dash == end || *dash != '-' || process <= 0)
    return 0;
  auto [last, wrong] = std::from_chars(dash + 1, end, number);
  return wrong == std::errc() && last == end ? process : 0;
}

int openAgain(const char *path, int flags, unsigned mode) {
  int file;
  do
    file = open(path, flags | O_CLOEXEC, mode);
  while (file < 0 && errno == EINTR);
  return file;
}

std::string pathOf(int file) { return "/proc/self/fd/" + std::to_string(file); }

} // namespace

std::string rapt::directoryOf(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void TemporaryFile::removeStale(const std::string &directory) {
  DIR *folder = opendir(directory.c_str());
  if (!folder)
    return;
  while (const dirent *entry = readdir(folder)) {
    const pid_t process = processOf(entry->d_name);
    if (!process || kill(process, 0) == 0 || errno != ESRCH)
      continue;
    // In another container or on another machine the process may be alive: then it holds the lock.
    const int file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && flock(file, LOCK_EX | LOCK_NB) == 0)
      unlinkat(dirfd(folder), entry->d_name, 0);
    if (file >= 0)
      close(file);
  }
  closedir(folder);
}

/// Gives `name` one that nobody has; enlisted before there is such a file, since a signal may come as soon as there is.
void TemporaryFile::chooseName() {
  name = directory + "/.rapt-" + std::to_string(getpid()) + "-" + std::to_string(counter++) + ".tmp";
  slot = enlist(name);
}

void TemporaryFile::forgetName() {
  name.clear();
  delist(slot);
  slot = -1;
}

std::unique_ptr<TemporaryFile> TemporaryFile::create(const std::string &directory, unsigned mode, bool named) {
  static std::mutex mutex;
  static std::set<std::string> cleaned;
  if (std::lock_guard lock(mutex); cleaned.insert(directory).second)
    removeStale(directory);
  int file = named ? -1 : openAgain(directory.c_str(), O_TMPFILE | O_RDWR, mode);
  if (file >= 0)
    flock(file, LOCK_EX); // before publish() gives it a name, under which another command may find it
  if (file >= 0 && access(pathOf(file).c_str(), F_OK) == 0)
    return std::unique_ptr<TemporaryFile>(new TemporaryFile(directory, file));
  if (file >= 0)
    close(file);
  for (int attempt = 0; attempt < 100; ++attempt) {
    auto made = std::unique_ptr<TemporaryFile>(new TemporaryFile(directory, -1));
    made->chooseName();
    made->file = openAgain(made->name.c_str(), O_RDWR | O_CREAT | O_EXCL, mode);
    const int error = errno;
    if (made->file < 0)
      made->forgetName();
    struct stat status;
    // Another command may have taken it for a dead one's before it was locked.
    if (made->file >= 0 &&
        (flock(made->file, LOCK_EX) != 0 || (fstat(made->file, &status) == 0 && status.st_nlink > 0)))
      return made;
    errno = error;
    if (made->file < 0 && errno != EEXIST)
      return nullptr;
  }
  return nullptr;
}

TemporaryFile::~TemporaryFile() {
  const int error = errno;
  if (file >= 0)
    close(file);
  if (!name.empty())
    unlink(name.c_str());
  delist(slot);
  errno = error;
}

bool TemporaryFile::publish(const std::string &path) {
  // A link cannot replace a file, a rename can.
  for (int attempt = 0; name.empty(); ++attempt) {
    chooseName();
    if (linkat(AT_FDCWD, pathOf(file).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      break;
    const int error = errno;
    forgetName();
    errno = error;
    if (error != EEXIST || attempt == 100)
      return false;
  }
  if (rename(name.c_str(), path.c_str()) != 0)
    return false;
  forgetName();
  // Not every file system can flush a directory; the rename itself has happened.
  if (const int folder = openAgain(directory.c_str(), O_RDONLY | O_DIRECTORY, 0); folder >= 0) {
    fsync(folder);
    close(folder);
  }
  return true;
}

void TemporaryFile::discardAll() {
  for (int slot = 0; slot < Registry::slots; ++slot)
    if (registry.state[slot] == 2)
      unlink(registry.paths[slot]);
}
