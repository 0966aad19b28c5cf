// The likeliest continuations of a prompt: each hypothesis is a sequence that forks its cache.
#include "lib/Generation/CommandLine/BeamRows.h"
#include <cmath>
#include <cstdio>

namespace rapt::run {

Outcome BeamRows::open(const Options &options, const Text &text, const Prompt &prompt, int64_t most) {
  lengthPenalty = options.lengthPenalty.value_or(text.config.length_penalty);
  promptTokens = prompt.ids.size();
  const Ids ends(text.ends.begin(), text.ends.end());
  settings.beams = options.beams.value_or(text.config.beams);
  settings.returns = options.returns.value_or(options.beams ? 1 : text.config.returns);
  settings.max_new_tokens = most;
  settings.length_penalty = &lengthPenalty;
  settings.early_stopping = options.earlyStopping.value_or(text.config.early_stopping);
  settings.ends = ends.data();
  settings.end_count = options.ignoreEnd ? 0 : ends.size();
  settings.repetition_penalty = options.repetitionPenalty.value_or(text.config.sampler.repetition_penalty);
  RAPT_RETURN_IF_ERROR(text::Beams::open(settings, prompt.ids, beams));
  const Rules rules(options, text, prompt, most);
  return beams.setRules(rules.get());
}

/// Beams share the whole blocks of the prompt; each may hold blocks of its own behind them, and one that it copies.
int64_t BeamRows::cacheTokens(const Model &model, size_t source) const {
  return model.inBlocks(int64_t(source)) + model.inBlocks(int64_t(promptTokens)) +
         settings.beams * (model.inBlocks(settings.max_new_tokens) + 2 * model.inBlocks(1));
}

std::string BeamRows::summary() const {
  char line[160];
  snprintf(line, sizeof line, "%lld beams, length penalty %g, early stopping %s, up to %s new tokens",
           (long long)settings.beams, lengthPenalty,
           settings.early_stopping == RAPT_STOP_EARLY   ? "true"
           : settings.early_stopping == RAPT_STOP_NEVER ? "never"
                                                        : "false",
           grouped(uint64_t(settings.max_new_tokens)).c_str());
  return line;
}

/// Hands the search the logits behind each chunk: those of ids that are tokens, not of padding of the embedding.
Outcome BeamRows::advance(const std::vector<rapt_chunk> &chunks, size_t vocabulary, const rapt_beam_step *&steps,
                          size_t &count) {
  std::vector<float> logits;
  logits.reserve(chunks.size() * vocabulary);
  for (const rapt_chunk &chunk : chunks)
    logits.insert(logits.end(), chunk.logits, chunk.logits + vocabulary);
  return beams.advance(logits.data(), chunks.size(), vocabulary, steps, count);
}

/// Makes the sequences of the next rows: the first that goes on from a sequence takes it over, the others fork it.
Outcome BeamRows::step(const rapt_beam_step *steps, size_t count) {
  std::vector<Sequence> next(count);
  std::vector<size_t> heirs(sequences.size(), SIZE_MAX);
  for (size_t row = 0; row < count; ++row) {
    size_t parent = size_t(steps[row].parent);
    if (heirs[parent] == SIZE_MAX)
      heirs[parent] = row;
    else
      RAPT_RETURN_IF_ERROR(sequences[parent].fork(next[row]));
  }
  for (size_t parent = 0; parent < sequences.size(); ++parent)
    if (heirs[parent] != SIZE_MAX)
      next[heirs[parent]] = std::move(sequences[parent]);
  sequences = std::move(next);
  return {};
}

Outcome BeamRows::search(const Model &model, const Text &text, const Prompt &prompt, Sequence first, Ids tokens) {
  sequences.clear();
  sequences.push_back(std::move(first));
  std::vector<Ids> rows = {std::move(tokens)};
  while (!rows.empty()) {
    std::vector<rapt_chunk> chunks;
    for (size_t row = 0; row < rows.size(); ++row)
      chunks.push_back(prompt.withVectors(sequences[row].chunk(rows[row])));
    RAPT_RETURN_IF_ERROR(model.context.step(chunks));
    const rapt_beam_step *steps = nullptr;
    size_t count = 0;
    RAPT_RETURN_IF_ERROR(advance(chunks, size_t(text.vocabulary), steps, count));
    RAPT_RETURN_IF_ERROR(step(steps, count));
    rows.clear();
    for (size_t row = 0; row < count; ++row)
      rows.push_back({steps[row].token});
  }
  sequences.clear();
  return {};
}

double BeamRows::divisorOf(size_t tokens) const { return std::pow(double(tokens), lengthPenalty); }

Outcome BeamRows::collect(std::vector<FoundText> &found) const {
  for (size_t index = 0; index < beams.found(); ++index) {
    FoundText &one = found.emplace_back();
    RAPT_RETURN_IF_ERROR(beams.result(index, one.ids, one.score, one.ended));
    one.ids.resize(one.ids.size() - size_t(one.ended));
  }
  return {};
}

} // namespace rapt::run
