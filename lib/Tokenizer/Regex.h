//===- Regex.h - Oniguruma, bounded ----------------------------------------===//
//
// Hugging Face's tokenizers compile their patterns with Oniguruma, so that is
// the dialect of tokenizer.json. A pattern comes from outside: every search has a
// limit on retries and on the matcher's stack, so that a pathological one ends
// in an error and never in a hang.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Tokenizer/FunctionRef.h"
#include <memory>
#include <string_view>

namespace rapt {

/// A compiled pattern; immutable and usable from many threads at once.
class Regex {
public:
  /// Errors: a pattern above 64 KiB, or one that Oniguruma refuses (its reason is in the message).
  static Expected<Regex> compile(std::string_view pattern);

  /// Calls `visit(begin, end)` for each match from left to right; matches do not overlap and may be empty.
  /// Errors: whatever `visit` returns, or a limit of the matcher, told with the byte offset.
  Status forEachMatch(std::string_view text, FunctionRef<Status(size_t, size_t)> visit) const;

  const std::string &pattern() const;

private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled;
};

} // namespace rapt
