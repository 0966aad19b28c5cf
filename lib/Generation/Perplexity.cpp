//===- Perplexity.cpp ------------------------------------------------------===//
#include "lib/Generation/Perplexity.h"
#include <algorithm>
#include <cmath>
#include <string>

namespace rapt {

Expected<double> negativeLogLikelihood(std::span<const float> logits, int32_t target) {
  if (target < 0 || size_t(target) >= logits.size())
    return Error{"token id " + std::to_string(target) + " is out of range; there are " + std::to_string(logits.size()) +
                 " logits"};
  double largest = -INFINITY;
  for (size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id]) || logits[id] == INFINITY)
      return Error{"the logit of token " + std::to_string(id) + " is " +
                   (std::isnan(logits[id]) ? "not a number" : "infinite")};
    largest = std::max(largest, double(logits[id]));
  }
  if (largest == -INFINITY)
    return Error{"all " + std::to_string(logits.size()) + " logits are -infinity"};
  double sum = 0;
  for (float logit : logits)
    sum += std::exp(double(logit) - largest);
  return largest + std::log(sum) - double(logits[target]);
}

double PerplexityTotal::perplexity() const { return std::exp(natsPerToken()); }

double PerplexityTotal::bitsPerByte() const { return bytes ? nats / std::log(2.0) / double(bytes) : 0; }

Expected<std::vector<PerplexityWindow>> planWindows(size_t count, size_t positions, size_t stride) {
  if (count < 2)
    return Error{"perplexity needs at least 2 tokens, but the text has " + std::to_string(count)};
  if (positions < 2)
    return Error{"perplexity needs at least 2 positions, but there are " + std::to_string(positions)};
  if (stride < 1 || stride >= positions)
    return Error{"the stride is " + std::to_string(stride) + ", but must be between 1 and " +
                 std::to_string(positions - 1)};
  std::vector<PerplexityWindow> windows;
  size_t end = std::min(count, positions);
  windows.push_back({0, end, 1});
  while (end < count) {
    size_t firstScored = end;
    end = std::min(count, end + stride);
    windows.push_back({end - positions, end, firstScored});
  }
  return windows;
}

} // namespace rapt
