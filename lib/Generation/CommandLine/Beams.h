//===- Beams.h - Text by beam search --------------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Generation/CommandLine/BeamRows.h"
#include "lib/Generation/CommandLine/ResultSink.h"

namespace rapt::run {

/// A search for continuations of `prompt` of up to `most` tokens, as the options and generation_config.json say.
class BeamRun {
public:
  BeamRun(const Options &options, Model &model, const Text &text, const Prompt &prompt, int64_t most,
          AttentionMaps &maps)
      : options(options), model(model), text(text), prompt(prompt), most(most), maps(maps) {}
  /// Makes the model's context.
  Outcome prepare();
  /// Searches, and draws the maps that are wanted, of the best text.
  Outcome run();
  /// Prints the texts, best first.
  Status finish(const ResultSink &sink) const;

private:
  Outcome search();
  Outcome collect();
  Outcome draw();
  json::Value toJson() const;

  const Options &options;
  Model &model;
  const Text &text;
  const Prompt &prompt;
  const int64_t most;
  AttentionMaps &maps;
  BeamRows rows;
  std::vector<FoundText> found;
  std::vector<std::string> texts; ///< of what was found
  double seconds = 0;
};

} // namespace rapt::run
