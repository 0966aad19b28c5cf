//===- TemporaryFile.h - A file that has no name until it is whole ----------===//
//
// Where the file system can (O_TMPFILE), the file has no name at all and vanishes with
// its process, however that ends. Elsewhere it is called .rapt-PID-N.tmp, and the next
// command that writes into the folder removes those whose process is dead: a process
// locks what it writes (flock), and the system drops the locks of the dead.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <memory>
#include <string>

namespace rapt {

/// Directory part of `path`, "." when it has none.
std::string directoryOf(const std::string &path);

class TemporaryFile {
public:
  /// A file for reading and writing in `directory`; null and errno set where there can be none. `mode` is subject to
  /// the umask. `named` skips what the file system can do without a name.
  static std::unique_ptr<TemporaryFile> create(const std::string &directory, unsigned mode, bool named = false);
  /// Without publish() the file goes.
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  int descriptor() const { return file; }
  /// Gives the file, which has been synced, the name `path` in its directory, where it replaces what is there at once,
  /// and syncs the directory. False with errno set on failure.
  bool publish(const std::string &path);

  /// Removes the names of temporary files of this process. Async-signal-safe: for handlers of SIGINT and SIGTERM.
  static void discardAll();
  /// Removes what dead processes left in `directory`; create() does so once for each directory.
  static void removeStale(const std::string &directory);

private:
  TemporaryFile(std::string directory, int file) : directory(std::move(directory)), file(file) {}
  void chooseName();
  void forgetName();

  std::string directory, name; ///< `name` is empty while the file has none
  int file;
  int slot = -1; ///< of the names that discardAll removes
};

} // namespace rapt
