//===- SentencePrompts.h - Texts that a model expects ahead of others -------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include <string>

namespace rapt::run {

/// The text that --prompt-name chooses of the section prompts.json, or the model's default; empty where the model has
/// none.
Outcome chooseSentencePrompt(const Options &options, const Model &model, std::string &prompt);

} // namespace rapt::run
