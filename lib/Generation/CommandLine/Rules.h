//===- Rules.h - Rules about the tokens of a run --------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Text.h"

namespace rapt::run {

/// The rules of one text: those of generation_config.json, changed by the options.
class Rules {
public:
  Rules() = default;
  Rules(Rules &&) = default; // lists point into vectors, which moves keep
  Rules &operator=(Rules &&) = default;

  /// `most`: the number of new tokens.
  Rules(const Options &options, const Text &text, const Prompt &prompt, int64_t most);

  bool areEmpty() const { return empty; }
  const rapt_token_rules &get() const { return rules; }

  /// Replaces `logits` of the next token by those under the rules, which live until the next call.
  Outcome apply(const Prompt &prompt, const Ids &made, size_t vocabulary, const float *&logits);

private:
  rapt_token_rules rules = sized<rapt_token_rules>();
  bool empty = true;
  Ids ends, first, banned, all;
  std::vector<float> allowed;
};

/// Gives an encoder-decoder the languages of the options: the token around its source, and the first one of its text
/// (or the one that its text starts from, where that is a language). Errors: a token that the vocabulary lacks, and a
/// model without languages.
Outcome chooseLanguages(const Options &options, const Model &model, const Text &text, Prompt &prompt);

} // namespace rapt::run
