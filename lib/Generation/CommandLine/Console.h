//===- Console.h - Standard output, and Ctrl-C ----------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "rapt/rapt.h"
#include <string>
#include <string_view>

namespace rapt::run {

inline constexpr int exitFailure = 1, exitUsage = 2, exitBug = 3, exitClosed = 141;

/// Writes all of `text` to the standard output. When the reader has gone, ends the process quietly with 141.
Status print(std::string_view text);

/// Text of a model as a terminal may show it: control characters but newlines and tabs, which could drive the terminal,
/// those that change the direction of writing, and bytes that are no UTF-8 are written as \xNN or \uNNNN.
std::string shownGenerated(std::string_view text);

/// Prints text of a model, on a terminal as shownGenerated gives it.
Status printGenerated(std::string_view text);

/// "rapt-run: error: ..." on the standard error; returns `code`.
int fail(const std::string &message, int code = exitFailure);
/// One line on the standard error.
void note(const std::string &message);

/// While it lives, the first SIGINT or SIGTERM cancels the context's step and a second one ends the process.
class Interrupts {
public:
  explicit Interrupts(rapt_context *context);
  ~Interrupts();
  Interrupts(const Interrupts &) = delete;
  Interrupts &operator=(const Interrupts &) = delete;
  /// 0, or 128 + the signal's number.
  static int caught();
  /// Forgets a signal that was obeyed, so that the next one is the first again.
  static void forget();
};

/// From here on, a mapped file that shrinks ends the process with a line that says so and 1, instead of a bus error.
void guardMappedFiles();

/// Peak resident memory of this process in bytes, 0 when unknown.
uint64_t peakMemory();

} // namespace rapt::run
