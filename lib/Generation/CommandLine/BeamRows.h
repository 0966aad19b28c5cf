//===- BeamRows.h - A beam search over a model's sequences -----------------------===//
#pragma once
#include "lib/Generation/CommandLine/Rules.h"

namespace rapt::run {

/// A text that a search found.
struct FoundText {
  Ids ids; ///< new ones, without the one that ended them
  double score = 0;
  bool ended = false;
};

/// Each hypothesis of a search is a sequence that forks its cache.
class BeamRows {
public:
  /// Whether beams are asked for: on the line, or by generation_config.json where the line does not ask to sample.
  static bool areAskedFor(const Options &options, const Text &text) {
    return options.beams || (text.config.beams > 1 && !options.samples());
  }

  /// Begins a search behind `prompt` for up to `most` tokens, as the options and generation_config.json say.
  Outcome open(const Options &options, const Text &text, const Prompt &prompt, int64_t most);
  /// Tokens of the cache that the search takes, with `source` tokens of an encoder.
  int64_t cacheTokens(const Model &model, size_t source) const;
  /// "4 beams, length penalty 1, early stopping false, up to 20 new tokens"
  std::string summary() const;
  /// Searches behind `tokens`, the end of the prompt, whose begin `first` has. The sequences end with the search.
  Outcome search(const Model &model, const Text &text, const Prompt &prompt, Sequence first, Ids tokens);
  /// The sum of the logarithms of a found text's probabilities for each unit of its score; `tokens` with its end.
  double divisorOf(size_t tokens) const;
  /// Takes the results over, the best first.
  Outcome collect(std::vector<FoundText> &found) const;

private:
  Outcome step(const rapt_beam_step *steps, size_t count);
  Outcome advance(const std::vector<rapt_chunk> &chunks, size_t vocabulary, const rapt_beam_step *&steps,
                  size_t &count);

  rapt_beam_options settings = sized<rapt_beam_options>();
  double lengthPenalty = 1;
  size_t promptTokens = 0;
  text::Beams beams;
  std::vector<Sequence> sequences; ///< one a row
};

} // namespace rapt::run
