//===- SentencePrompts.h - Texts that a model expects ahead of others -------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include <string>

namespace rapt::run {

/// The ways of sentence-transformers with texts that become vectors.
struct SentenceTexts {
  std::string prompt;    ///< ahead of each text: the one of --prompt-name, or the model's default; may be empty
  size_t mostTokens = 0; ///< at which a text is cut there; 0: none
};

/// Reads the section sentences.json. Errors: --prompt-name names no prompt, or one that the pooling leaves out.
Outcome readSentenceTexts(const Options &options, const Model &model, SentenceTexts &usual);

} // namespace rapt::run
