//===- NoMemory.cpp - When the system gives no more memory -----------------===//
#include "lib/Support/NoMemory.h"
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace rapt;

SignalText &SignalText::operator<<(const char *part) {
  while (*part && used + 1 < sizeof text)
    text[used++] = *part++;
  text[used] = 0;
  return *this;
}

SignalText &SignalText::operator<<(unsigned number) {
  char digits[12];
  char *end = digits + sizeof digits - 1;
  *end = 0;
  do
    *--end = char('0' + number % 10);
  while (number /= 10);
  return *this << end;
}

bool SignalText::writeTo(int file) const { return writeAll(file, text, used); }

bool rapt::writeAll(int file, const char *data, size_t size) {
  while (size > 0) {
    ssize_t put = write(file, data, size);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    data += put;
    size -= size_t(put);
  }
  return true;
}

bool rapt::hasMemory(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  munmap(memory, bytes);
  return true;
}

static std::atomic<void (*)()> noMemoryHandler{abort};

void rapt::setNoMemoryHandler(void (*handler)()) { noMemoryHandler = handler; }

void rapt::reportNoMemory() { noMemoryHandler.load()(); }

SignalText rapt::noMemoryText(const char *program, const char *doing) {
  SignalText line;
  line << program << ": error: out of memory";
  if (*doing)
    line << " while " << doing;
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    line << ": " << unsigned(usage.ru_maxrss / 1024) << " MB are in use";
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    line << ", and this process may have " << unsigned(limit.rlim_cur >> 20) << " MB of addresses (ulimit -v)";
  return line << "\n";
}
