//===- Sampler.h - From logits to the next token ---------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <span>
#include <vector>

namespace rapt {

struct SamplingOptions {
  double temperature = 0;       ///< 0 takes the largest logit (ties: the lowest id); finite and >= 0.
  int64_t topK = 0;             ///< Only the topK largest logits (ties: the lowest ids); 0 keeps all.
  double topP = 1;              ///< The most likely tokens up to and including the one that reaches topP; in (0, 1].
  double minP = 0;              ///< Only tokens at least minP times as likely as the most likely one; in [0, 1].
  double repetitionPenalty = 1; ///< Logits of tokens seen before are divided by it, negative ones multiplied; > 0.
  uint64_t seed = 0;
  uint64_t sequence = 0; ///< Sequences of one seed draw independent numbers.
};

/// Chooses the tokens of one sequence. Order of the steps: repetition penalty, temperature, top-k, top-p, min-p, then
/// one number of CounterRandom.h picks from what is left, in the order of ids. A copy goes its own way from there.
class Sampler {
public:
  /// Errors: an option out of its range (NaN included), told with its name and value.
  static Expected<Sampler> create(const SamplingOptions &options);

  /// Tells the repetition penalty of a token of the prompt or of one that was chosen. Errors: a negative id.
  Status accept(int32_t id);

  /// The next token by `logits` (f32, one for each id). Errors: no logits, NaN or +infinity among them, or none above
  /// -infinity; the sampler is then as before.
  Expected<int32_t> sample(std::span<const float> logits);

  /// How many of the most likely tokens `sampleTop` needs; 0 where only all logits do.
  int64_t topNeeded() const;

  /// `sample` by the most likely tokens below `count`, in their order as rapt_step_top tells them: at least topNeeded()
  /// of them, or all. The choice is that by all logits, and so are the errors.
  Expected<int32_t> sampleTop(std::span<const int32_t> ids, std::span<const float> logits, size_t count);

  const SamplingOptions &options() const { return settings; }

private:
  struct Candidate {
    double score; // logit, later relative probability
    int32_t id;
  };
  explicit Sampler(const SamplingOptions &options) : settings(options) {}
  Status collect(std::span<const float> logits);
  Expected<int32_t> choose();
  void sortById();
  void keepTopK();
  void keepTopP();
  void keepMinP();
  int32_t pick();

  SamplingOptions settings;
  uint64_t draws = 0;
  std::vector<bool> seen;            // by id
  std::vector<int32_t> seenIds;      // the same as a list
  std::vector<Candidate> candidates; // of the call in progress
};

} // namespace rapt
