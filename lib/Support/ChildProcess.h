//===- ChildProcess.h - Programs that are run on files in memory -----------------===//
//
// Input and output of a child process are memory files: nothing is written to $TMPDIR,
// which may be full or read-only.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

/// A file in memory that a child process can open by its path.
class MemoryFile {
public:
  explicit MemoryFile(std::string_view content);
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile();
  /// Whether the file was made with all of its content.
  Status status(size_t bytes) const;
  std::string path() const { return "/proc/self/fd/" + std::to_string(file); }
  /// Its content, which `writer` wrote.
  Expected<std::string> text(const std::string &writer) const;
  int descriptor() const { return file; }

private:
  int file, error;
};

/// Runs a program, `name` in messages, with its standard output in `result`. Errors tell how it ended and the first
/// line it complained.
Status runProgram(const std::vector<std::string> &command, const std::string &name, const MemoryFile &result);

} // namespace rapt
