//===- TimestampRule.h - Timestamps among the tokens of speech --------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <span>

namespace rapt {

/// Where Whisper's timestamps may stand. A text begins with one. Each part of the text has one before and one behind
/// it, so that two stand together between parts. They never decrease.
struct TimestampRule {
  int64_t begin = 0;   ///< The first timestamp; all ids above are timestamps. 0: no rule.
  int64_t text = 0;    ///< Ids below are text. The id that ends a text is not below.
  int64_t initial = 0; ///< So many timestamps may be the first token, from `begin` on; 0: all.

  bool isEmpty() const { return begin == 0; }

  /// Errors: a negative number, and text among the timestamps.
  Status check() const;

  /// Sets the scores of forbidden tokens to -infinity. `made`: the new tokens so far. Where all timestamps together are
  /// more likely than the likeliest other token, only timestamps are left. The id before `begin`, which a prompt has
  /// where no timestamps are wanted, never comes.
  void apply(std::span<const int32_t> made, std::span<float> scores) const;
  void apply(std::span<const int32_t> made, std::span<double> scores) const;
};

} // namespace rapt
