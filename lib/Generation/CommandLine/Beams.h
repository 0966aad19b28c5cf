//===- Beams.h - Text by beam search --------------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/AttentionMaps.h"

namespace rapt::run {

/// Searches continuations of `prompt` of up to `most` tokens as the options and generation_config.json say, and prints
/// them, best first. Draws the maps that are wanted, of the best. Makes the model's context. Returns the exit status,
/// and tells its failure itself.
int searchBeams(const Options &options, Model &model, const Text &text, const Prompt &prompt, int64_t most,
                AttentionMaps &maps);

} // namespace rapt::run
