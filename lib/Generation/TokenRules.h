//===- TokenRules.h - Rules about the next token ---------------------------===//
#pragma once
#include "lib/Generation/TimestampRule.h"
#include "lib/Support/Expected.h"
#include <cstdint>
#include <span>
#include <vector>

namespace rapt {

/// A score for the last of some tokens, where the others come directly before it. As in Hugging Face's `generate`, only
/// a text of at least as many tokens counts.
struct BiasedSequence {
  std::vector<int32_t> ids; ///< at least one
  double bias = 0;          ///< added; -infinity: the tokens never come so

  bool operator==(const BiasedSequence &) const = default;
};

/// The rules of Hugging Face's `generate` that forbid tokens by those before them. The default forbids none.
struct TokenRules {
  int64_t noRepeatNgram = 0; ///< No text has the same this many tokens twice, the prompt included; 0: no rule.
  int64_t minLength = 0;     ///< None of `ends` before the text, with its prompt, has so many tokens.
  int64_t minNewTokens = 0;  ///< None of `ends` before so many new tokens.
  int64_t maxNewTokens = 0;  ///< Where `last` holds: at the new token of this number, counted from 1.
  std::vector<int32_t> ends;
  std::vector<int32_t> first;       ///< The first new token is one of them; empty: no rule.
  std::vector<int32_t> last;        ///< The last new token is one of them; empty: no rule.
  std::vector<int32_t> banned;      ///< These never come.
  bool renormalizes = false;        ///< Likelihoods of what is left sum to 1 again; of beams, whose scores are sums.
  std::vector<int32_t> bannedFirst; ///< These are not the first new token that the model chooses.
  TimestampRule timestamps;         ///< Applied to what the other rules leave.
  std::vector<BiasedSequence> sequences;

  /// Whether they forbid nothing, whatever comes before.
  bool areEmpty() const;

  /// Errors: a negative number, told with the name of generation_config.json, and a sequence without ids or with a bias
  /// that is +infinity or not a number.
  Status check() const;

  /// Adds the biases that are finite, which come before a repetition penalty; `forbid` does the rest.
  void addBiases(std::span<const int32_t> ids, std::span<double> scores) const;
  void forbid(std::span<const int32_t> ids, size_t prompt, std::span<double> scores) const;

  /// Adds biases, and sets the scores of forbidden tokens, one for each id, to -infinity. `ids`: the text so far, whose
  /// first `prompt` are given. Where only tokens of `first` or `last` are allowed, theirs are 0, as a likelihood of 1.
  void apply(std::span<const int32_t> ids, size_t prompt, std::span<float> scores) const;
  void apply(std::span<const int32_t> ids, size_t prompt, std::span<double> scores) const;
};

} // namespace rapt
