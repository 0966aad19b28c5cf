//===- LongTexts.h - Rotary embedding by the length of the text -----------===//
//
// LongRoPE (Ding et al. 2024) has frequencies for texts up to a length, Entry::shortText, and others for longer ones.
// The cache keeps rotated keys, and states of later layers depend on them: when a sequence grows beyond that length,
// everything is computed again, as generate() of transformers does for phi3. Its tokens are kept up to there for that.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/Context.h"

namespace rapt::runtime {

/// Whether the sequence has keys that are not those of its text with `count` more tokens.
inline bool outgrows(const rapt_context &context, const Sequence &s, int64_t count) {
  return s.isStale || (!s.isLong && s.length > 0 && s.length + count > context.entry.shortText);
}

/// The argument `text_length` of a step by which the sequence grows by `count` tokens.
int64_t textLength(const rapt_context &context, const Sequence &sequence, int64_t count);

/// Keeps the tokens that the sequence grows by.
void remember(const rapt_context &context, Sequence &sequence, const rapt_chunk &chunk);

/// Computes the keys and values of a sequence that outgrows its own by `count` tokens. Where that fails they are gone,
/// and computed by the next step.
rapt_status computeAgain(rapt_context &context, rapt_sequence sequence, int64_t count, const Report &report);

} // namespace rapt::runtime
