//===- LogProbabilities.h - How likely the model finds the tokens of a text --------===//
//
// --logprobs: natural logarithms of the probabilities that the model's logits say, before temperature, penalties and
// other rules of the choice.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"
#include "lib/Support/Json.h"
#include <span>

namespace rapt::run {

struct TokenProbability {
  int32_t id;
  double logarithm;
};

/// A token and the likeliest alternatives, best first.
struct JudgedToken {
  TokenProbability own;
  std::vector<TokenProbability> best;
};

/// Judges a token by all logits that it was chosen from, with the `most` likeliest below `vocabulary`.
JudgedToken judgeToken(int32_t id, std::span<const float> logits, size_t vocabulary, size_t most);

/// Lines of the logarithm, the id and its text; those of the likeliest are indented.
Outcome showTokens(const Tokenizer &tokenizer, const std::vector<JudgedToken> &tokens, std::string &lines);
/// The same as JSON: [{"token", "piece", "logprob", "top"}, ...]; pieces only with a tokenizer.
Outcome listTokens(const Tokenizer &tokenizer, const std::vector<JudgedToken> &tokens, json::Array &list);

} // namespace rapt::run
