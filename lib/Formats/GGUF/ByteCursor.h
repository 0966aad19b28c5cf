//===- ByteCursor.h - Reading a file's header from front to back ---------------===//
#pragma once
#include "lib/Support/File.h"
#include <cstring>
#include <memory>

namespace rapt::gguf {

/// A position in the first bytes of a file, which are read some at a time.
class ByteCursor {
public:
  /// Errors say that the file ends, or that more than `most` bytes are asked for.
  ByteCursor(std::shared_ptr<const InputFile> file, uint64_t most);

  uint64_t position() const { return windowBegin + inWindow; }
  /// Bytes behind the position that may be read.
  uint64_t left() const { return end - position(); }

  Status read(std::span<std::byte> out);
  /// A number of a few bytes, little-endian as every machine that Rapt runs on.
  template <typename T> Status read(T &number) { return read(std::as_writable_bytes(std::span(&number, 1))); }
  /// A text of that many bytes, which the caller has compared with a limit.
  Status read(std::string &text, uint64_t bytes);

private:
  std::shared_ptr<const InputFile> file;
  uint64_t end;
  std::string window;
  uint64_t windowBegin = 0;
  size_t inWindow = 0;
};

} // namespace rapt::gguf
