//===- StagedFile.h - An output that appears under its name only when whole ----===//
//
// Written by position from several threads as a temporary file in the output's
// directory, then synced and renamed. Whatever goes wrong before, nothing of it stays.
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

namespace rapt::artifact {

class StagedFile {
public:
  /// Creates the temporary file in the directory of `path`, which must exist and be writable; `path` itself may be
  /// missing, a regular file or a link (which the commit replaces), not a directory or device. `mode` is subject to
  /// the umask. Messages name `path`.
  static Expected<std::unique_ptr<StagedFile>> create(const std::string &path, unsigned mode = 0666);
  /// The same with all of its bytes in it.
  static Expected<std::unique_ptr<StagedFile>> createWith(const std::string &path, std::string_view bytes,
                                                          unsigned mode = 0666);
  StagedFile(const StagedFile &) = delete;
  StagedFile &operator=(const StagedFile &) = delete;

  /// Sets the size and takes the space now, so that a full disk is told before the work, with both numbers.
  Status reserve(uint64_t bytes);
  /// Writes all of `data` at `offset`. Safe from several threads.
  Status writeAt(uint64_t offset, std::span<const std::byte> data);
  /// Asks the system to begin writing this range to the disk; only a hint.
  void beginWriteback(uint64_t offset, uint64_t bytes);
  /// Syncs, renames to `path` (the one given at creation when empty) and syncs the directory.
  Status commit(const std::string &path = {});

  int descriptor() const { return file->descriptor(); }

private:
  StagedFile(std::string path, std::unique_ptr<TemporaryFile> file) : path(std::move(path)), file(std::move(file)) {}
  Error failure(const char *action, int error) const;

  std::string path;
  std::unique_ptr<TemporaryFile> file;
  uint64_t reserved = 0;
};

using rapt::directoryOf;

} // namespace rapt::artifact
