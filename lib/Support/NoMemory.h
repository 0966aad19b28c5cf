//===- NoMemory.h - When the system gives no more memory -------------------===//
#pragma once
#include <cstddef>

namespace rapt {

/// A line that is put together without memory of the heap: signal handlers may use it. Its end is cut off where it does
/// not fit.
class SignalText {
public:
  SignalText &operator<<(const char *part);
  SignalText &operator<<(unsigned number);
  const char *get() const { return text; }
  size_t size() const { return used; }
  /// False where not all of it could be written.
  bool writeTo(int file) const;

private:
  char text[3 * 4096] = {}; // three paths
  size_t used = 0;
};

/// Writes all bytes. Async-signal-safe.
bool writeAll(int file, const char *data, size_t size);

/// Whether the system would give so many bytes. Async-signal-safe.
bool hasMemory(size_t bytes);

/// "PROGRAM: error: out of memory while DOING: 61 MB are in use, and this process may have 64 MB of addresses (ulimit
/// -v)"; `doing` may be empty. Async-signal-safe.
SignalText noMemoryText(const char *program, const char *doing);

/// Sets what reportNoMemory calls, which ends the process.
void setNoMemoryHandler(void (*handler)());
/// Ends the process because it gets no memory, in the way that it has chosen.
void reportNoMemory();

} // namespace rapt
