#include "lib/Runtime/Message.h"
#include "rapt/rapt.h"
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace rapt::runtime {

/// Bytes of the UTF-8 character at `p`, 0 when it is not one. Stops at the terminating NUL by itself.
static size_t characterLength(const unsigned char *p) {
  auto follows = [&](int i, unsigned low = 0x80, unsigned high = 0xBF) { return p[i] >= low && p[i] <= high; };
  if (p[0] < 0x80)
    return 1;
  if (p[0] >= 0xC2 && p[0] <= 0xDF)
    return follows(1) ? 2 : 0;
  if (p[0] >= 0xE0 && p[0] <= 0xEF)
    return follows(1, p[0] == 0xE0 ? 0xA0 : 0x80, p[0] == 0xED ? 0x9F : 0xBF) && follows(2) ? 3 : 0;
  if (p[0] >= 0xF0 && p[0] <= 0xF4)
    return follows(1, p[0] == 0xF0 ? 0x90 : 0x80, p[0] == 0xF4 ? 0x8F : 0xBF) && follows(2) && follows(3) ? 4 : 0;
  return 0;
}

void copyPrintable(char *to, size_t size, const char *from) {
  static const char digits[] = "0123456789ABCDEF";
  size_t used = 0;
  for (auto *p = reinterpret_cast<const unsigned char *>(from); *p;) {
    size_t length = characterLength(p);
    bool plain = length > 1 || (length == 1 && *p >= 0x20 && *p != 0x7F);
    char escaped[4] = {'\\', 'x', digits[*p >> 4], digits[*p & 15]};
    const char *piece = plain ? reinterpret_cast<const char *>(p) : escaped;
    size_t pieceLength = plain ? length : sizeof escaped;
    if (used + pieceLength + 1 > size)
      break;
    memcpy(to + used, piece, pieceLength);
    used += pieceLength;
    p += plain ? length : 1;
  }
  to[used] = 0;
}

rapt_status Report::fail(rapt_status status, const char *format, ...) const {
  if (!text || !size)
    return status;
  char line[6144]; // a path of 4095 bytes and what is said about it
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  copyPrintable(text, size, line);
  return status;
}

} // namespace rapt::runtime

extern "C" {

const char *rapt_version(void) { return RAPT_VERSION; }

const char *rapt_status_name(rapt_status status) {
  static const char *const names[] = {"OK",       "INVALID", "BAD_FILE",  "MISMATCH", "CPU",    "NOMEM",       "FULL",
                                      "TOO_LONG", "BUSY",    "CANCELLED", "IO",       "FORKED", "UNSUPPORTED", "BUG"};
  static_assert(sizeof names / sizeof names[0] == RAPT_BUG + 1);
  unsigned number; // a caller's number need not be one of the enumeration's, as which reading it would be undefined
  memcpy(&number, &status, sizeof number);
  return number <= RAPT_BUG ? names[number] : "unknown";
}
}
