//===- Fuzz.h - Parts that the fuzz targets share ------------------------------===//
//
// A target is one LLVMFuzzerTestOneInput, which must survive any bytes. It also
// states what holds of accepted inputs (`require`), so that it finds wrong
// answers besides bad accesses.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace rapt::fuzz {

/// Ends the process as a finding. `what` names the promise that was broken.
inline void require(bool holds, const char *what, std::string_view detail = {}) {
  if (holds)
    return;
  fprintf(stderr, "broken promise: %s %.*s\n", what, int(detail.size()), detail.data());
  abort();
}

/// A message for the user: one line, not empty, without control characters.
inline void requireMessage(std::string_view message) {
  require(!message.empty(), "a failure has a message");
  for (char c : message)
    require(static_cast<unsigned char>(c) >= ' ', "a message is one printable line:", message);
}
inline void requireMessage(const Error &error) { requireMessage(error.message); }

/// Splits an input at bytes 0xFF, which no valid text holds. The last part has the rest, such bytes included; missing
/// parts are empty.
inline std::vector<std::string> split(const uint8_t *data, size_t size, size_t parts) {
  std::vector<std::string> found(parts);
  size_t part = 0;
  for (size_t i = 0; i < size; ++i)
    if (data[i] == 0xFF && part + 1 < parts)
      ++part;
    else
      found[part] += char(data[i]);
  return found;
}

/// A regular file in memory, for readers that take a path.
class MemoryFile {
public:
  MemoryFile() : descriptor(memfd_create("input", MFD_CLOEXEC)), name("/proc/self/fd/" + std::to_string(descriptor)) {
    require(descriptor >= 0, "the machine has memfd_create");
  }
  /// Replaces the content; `size` above that of the bytes adds zeros.
  const std::string &write(std::string_view bytes, size_t size = 0) {
    bool good = ftruncate(descriptor, 0) == 0 &&
                pwrite(descriptor, bytes.data(), bytes.size(), 0) == ssize_t(bytes.size()) &&
                (size <= bytes.size() || ftruncate(descriptor, off_t(size)) == 0);
    require(good, "a file in memory can be written");
    return name;
  }
  const std::string &path() const { return name; }

private:
  int descriptor;
  std::string name;
};

/// Bytes in memory of exactly their size and alignment: a read behind them is an error of the sanitizer's.
class ExactBytes {
public:
  ExactBytes(std::string_view bytes, size_t alignment) : size(bytes.size()) {
    alignment = alignment < sizeof(void *) ? sizeof(void *) : alignment;
    require(posix_memalign(&memory, alignment, size ? size : 1) == 0, "there is memory for an input");
    bytes.copy(static_cast<char *>(memory), size);
  }
  ~ExactBytes() { free(memory); }
  ExactBytes(const ExactBytes &) = delete;
  ExactBytes &operator=(const ExactBytes &) = delete;
  char *data() { return static_cast<char *>(memory); }
  const size_t size;

private:
  void *memory = nullptr;
};

/// Sum of bytes, so that all of them are read.
inline unsigned readAll(const void *data, size_t size) {
  unsigned sum = 0;
  for (size_t i = 0; i < size; ++i)
    sum += static_cast<const volatile unsigned char *>(data)[i];
  return sum;
}

} // namespace rapt::fuzz
