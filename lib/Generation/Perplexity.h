//===- Perplexity.h - How well a model predicts a text ---------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <span>
#include <vector>

namespace rapt {

/// Negative log likelihood of `target` in nats: log sum exp of the logits minus the target's, in f64.
/// Errors: target out of range, a logit that is NaN or +infinity.
Expected<double> negativeLogLikelihood(std::span<const float> logits, int32_t target);

/// The sum over the predicted tokens of a text.
struct PerplexityTotal {
  double nats = 0;
  uint64_t tokens = 0; ///< Predicted tokens.
  uint64_t bytes = 0;  ///< Bytes of text that they stand for.

  double natsPerToken() const { return tokens ? nats / double(tokens) : 0; }
  double perplexity() const;
  double bitsPerByte() const;
};

/// Tokens [begin, end) are run from an empty cache; of them, [firstScored, end) are predicted, each from those before
/// it.
struct PerplexityWindow {
  size_t begin, end, firstScored;
};

/// Windows of at most `positions` tokens over `count` tokens, such that every token but the first is predicted exactly
/// once: the first window predicts all it can, each further one the next `stride` tokens with as much context as fits.
/// Errors: fewer than 2 tokens or positions, a stride outside [1, positions - 1].
Expected<std::vector<PerplexityWindow>> planWindows(size_t count, size_t positions, size_t stride);

} // namespace rapt
