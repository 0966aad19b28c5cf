//===- FakeHybrid.h - Models with states, in C++ -----------------------------------===//
//
// A sequence has a state, a hash of its tokens; a state of a convolution, its last three tokens; a cache of all tokens,
// or of a window of them: any of these. Logits are hashes of what the model has.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "FakeModel.h"

namespace rapt::test {

struct Hybrid {
  bool hasState, hasInputs, hasCache;
  bool isSerial = false;  ///< takes one token of each sequence
  bool hasSource = false; ///< whose hash is the state before the first token
  int64_t window = 0;     ///< of the cache; 0: none

  rapt_module *open() const;
  /// Whether these are the logits behind the last token of `text`.
  testing::AssertionResult isAnswer(const float *logits, const Text &text, const Text &source = {}) const;
};

inline constexpr Hybrid hybrid{true, true, true}, linearOnly{true, false, false}, convolvedOnly{false, true, false},
    convolvedAndPaged{false, true, true}, serial{true, true, true, true}, withSource{true, false, false, false, true},
    windowed{true, true, true, false, false, 11};

/// Bytes of a slot of the state, and of that of the convolution.
inline constexpr int64_t hashBytes = 8, inputBytes = 12;

/// Opens `hybrid` with `to` in place of the first `from` of its manifest, and makes a context of it.
rapt_status makeDamaged(const std::string &from, const std::string &to, Message &message);

/// Calls of a step until one fails; negative: none does.
extern thread_local int callsUntilFault;

} // namespace rapt::test
