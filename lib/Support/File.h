//===- File.h - Reading files that may be anything, writing them whole -----===//
//
// Input paths name whatever a user or a download left there: reading checks that
// it is a regular file and never blocks on a FIFO. Output appears under its name
// only when complete.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/TemporaryFile.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace rapt {

/// `path` for messages: what is not printable is escaped.
std::string shownPath(std::string_view path);

/// A regular file open for reading, at the size it had when opened. Reading is by position and safe from many threads.
class InputFile {
public:
  /// Follows symbolic links. Errors name the path and tell a missing file, a dangling link (and its target), a
  /// directory, FIFO or device apart.
  static Expected<std::shared_ptr<const InputFile>> open(const std::string &path);
  ~InputFile();
  InputFile(const InputFile &) = delete;
  InputFile &operator=(const InputFile &) = delete;

  const std::string &path() const { return name; }
  uint64_t size() const { return bytes; }
  /// The size now; a file may shrink while it is open.
  uint64_t sizeNow() const;

  /// Fills `out` from byte `offset` on. The number of bytes read is less than asked only when the file ends there.
  Expected<size_t> readSome(uint64_t offset, std::span<std::byte> out) const;
  /// As readSome; a file that ends before `out` is full (it shrank) is an error with both numbers.
  Status read(uint64_t offset, std::span<std::byte> out) const;

private:
  InputFile(std::string name, int descriptor, uint64_t bytes);
  std::string name;
  int descriptor;
  uint64_t bytes;
};

/// The whole of a regular file; more than `most` bytes is an error that names both numbers.
Expected<std::string> readFile(const std::string &path, uint64_t most);

/// All that comes from an open file, `name` in messages; more than `most` bytes is an error.
Expected<std::string> readStream(int descriptor, const std::string &name, uint64_t most);
/// As readFile, and of a FIFO, which is waited for: a path that the user gave for this alone.
Expected<std::string> readFileOrFifo(const std::string &path, uint64_t most);
bool isFifo(const std::string &path);

/// Whether what is written to `path` is meant for nobody: the device is neither opened nor replaced then.
bool isNullDevice(const std::string &path);

/// Writes all of `text` to the standard output.
Status writeStandardOutput(std::string_view text);

/// Writes a file that appears at `path` on commit. Destroyed without commit it leaves nothing, so that `path` holds its
/// old content or all of the new.
class OutputFile {
public:
  static Expected<std::unique_ptr<OutputFile>> create(const std::string &path);
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// Appends all of `data`; errors (no space, a limit) name the path and the cause.
  Status write(std::span<const std::byte> data);
  /// Flushes to the disk, renames to the path and flushes the directory.
  Status commit();

private:
  OutputFile(std::string path, std::unique_ptr<TemporaryFile> file) : path(std::move(path)), file(std::move(file)) {}
  Error failure(const char *action) const;
  std::string path;
  std::unique_ptr<TemporaryFile> file;
};

} // namespace rapt
