//===- File.h - A regular file that is read, never trusted ---------------------===//
#pragma once
#include "lib/Runtime/Message.h"
#include <cstdint>

namespace rapt::runtime {

/// Owns a descriptor. Reads by offset, so that a shared descriptor's position does not matter.
class File {
public:
  File() = default;
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File();

  /// Opens a regular file (links are followed). `path` must live as long as messages are made with it.
  rapt_status open(const char *path, const Report &report);
  /// Duplicates the caller's descriptor; `name` stands for it in messages.
  rapt_status duplicate(int descriptor, const char *name, const Report &report);
  /// All of [offset, offset + bytes), retrying interrupted and short reads. False at the end of the file or on errors.
  bool readExactly(void *to, uint64_t bytes, uint64_t offset) const;

  uint64_t size() const { return bytes; }
  int get() const { return descriptor; }

private:
  rapt_status check(const char *name, const Report &report);
  int descriptor = -1;
  uint64_t bytes = 0;
};

} // namespace rapt::runtime
