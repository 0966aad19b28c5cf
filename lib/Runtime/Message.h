//===- Message.h - One line into the caller's memory ---------------------------===//
#pragma once
#include "rapt/rapt_status.h"
#include <cstddef>

namespace rapt::runtime {

/// The caller's buffer for the message of a failure; empty without one.
class Report {
public:
  Report(char *text, size_t size) : text(text), size(size) {
    if (text && size)
      text[0] = 0;
  }
  /// Writes one line, control characters and invalid UTF-8 as \xNN, and returns `status`.
  [[gnu::format(printf, 3, 4)]] rapt_status fail(rapt_status status, const char *format, ...) const;

private:
  char *text;
  size_t size;
};

/// Copies `from` to `to` as Report::fail shows it. Cut at a character when `size` is short.
void copyPrintable(char *to, size_t size, const char *from);

} // namespace rapt::runtime
