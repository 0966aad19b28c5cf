//===- Continuation.h - A prompt and what is generated after it -------------------===//
#pragma once
#include "lib/Generation/CommandLine/LogProbabilities.h"
#include "lib/Generation/CommandLine/PromptVectors.h"
#include "lib/Generation/CommandLine/Rules.h"
#include <span>

namespace rapt::run {

/// One prompt, what it needs, and what was made of it.
struct Continuation {
  Prompt prompt;
  size_t given = 0;     ///< tokens of what the user gave
  int64_t capacity = 0; ///< tokens that fit, prompt and new ones
  int64_t kept = 0;     ///< of them the cache must hold at a time
  int64_t most = -1;    ///< new tokens, -1 for as many as fit
  rapt_sampler_options sampling = sized<rapt_sampler_options>();
  text::Sampler sampler;
  Rules rules;
  bool needsLogits = false; ///< all of them, not the most likely alone
  text::Stream stream;      ///< empty when ids are printed
  Sequence sequence;
  Ids made, next;                  ///< `next`: tokens of the next step
  Ids topIds;                      ///< the most likely tokens, where a GPU finds them
  std::vector<float> topLogits;    ///< theirs
  std::vector<JudgedToken> judged; ///< `made`, where --logprobs asks
  std::string output;              ///< what is not printed yet, or all of it for --json
  const char *reason = nullptr;    ///< why it ended; null while it goes on

  /// Reads the prompt, which is `content` unless ids are given, with `vectors` in it, and decides how many tokens the
  /// cache must hold. Never cuts the prompt or the number of new tokens.
  Outcome open(const Options &options, const Model &model, const Text &text, const PromptVectors &vectors,
               const std::string &content);
  /// Prepares a model whose sources are images: `pixels` is one.
  Outcome openImage(const Options &options, const Model &model, const Text &text, std::vector<float> pixels);
  /// New tokens that are wanted and fit.
  int64_t mostNew() const {
    const int64_t fits = capacity - int64_t(prompt.ids.size());
    return most < 0 ? fits : std::min(most, fits);
  }
  /// Prepares a prompt of these ids, which are text.
  Outcome openIds(const Options &options, const Model &model, const Text &text, Ids ids);
  /// Makes what chooses and shows tokens. `number`: which of the command's prompts it is.
  Outcome prepare(const Options &options, const Text &text, size_t number);
  /// Chooses the next token by its logits, or where they are null by the most likely tokens, and sets `reason` where
  /// the text ends by it. `piece`: the text that it makes certain, or its id where ids are printed.
  Outcome take(const Options &options, const Model &model, const Text &text, const float *logits, std::string &piece);
  /// Ends the text; appends to `piece` what the stream held back, which is text, too.
  Outcome end(const char *why, std::string &piece);
  /// Tokens of the cache, in whole blocks, that it takes with its source.
  int64_t blockTokens(const Model &model) const {
    return model.inBlocks(kept) + model.inBlocks(prompt.sourceLength(model));
  }
  /// Whether tokens are drawn, from the seed.
  bool isSampled() const { return sampling.temperature > 0; }
  /// "greedy", or the settings of the sampling.
  std::string summary() const;

private:
  Outcome readIds(const Options &options, const Model &model, const Text &text, const std::string &content);
  Outcome chooseSource(const Options &options, const Model &model, const Text &text);
  Outcome chooseRoom(const Options &options, const Model &model, const Text &text);
  Outcome openSampler(const Options &options, const Text &text, size_t number);
  Outcome openStream(const Options &options, const Text &text);
  Outcome choose(const Text &text, const float *logits, int32_t &id);
  Outcome show(int32_t id, std::string &piece, bool &stopped);
};

/// Steps the chunks of as many continuations together. A GPU finds the most likely tokens where they are enough, so
/// that no logits are copied.
Outcome stepTogether(const Model &model, const Text &text, std::span<Continuation *const> live,
                     std::vector<rapt_chunk> &chunks);

} // namespace rapt::run
