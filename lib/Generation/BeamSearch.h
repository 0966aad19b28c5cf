//===- BeamSearch.h - The likeliest continuations of one prompt ------------===//
//
// Beam search by the rules of Hugging Face's `generate`, as a state machine: it
// says which hypotheses go on with which token, its owner runs the model and
// hands back their logits. So a decoder that forks its cache, an encoder-decoder
// and a recurrent model share it, and several searches can share one batch
// without changing each other's results.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/TokenRules.h"
#include "lib/Support/Expected.h"
#include <cstdint>
#include <span>
#include <vector>

namespace rapt {

/// The most of one search.
inline constexpr int64_t mostBeams = 4096;

/// When a search ends that has as many finished hypotheses as beams.
enum class EarlyStopping {
  Estimate, ///< false: when no hypothesis at its present length could enter the finished ones.
  Yes,      ///< true: at once.
  Never     ///< "never": when none could at any length; the same as Estimate with a length penalty of 0 or less.
};

struct BeamOptions {
  int64_t beams = 1;        ///< Hypotheses that go on at a time; 1 to 4096.
  int64_t returned = 1;     ///< Sequences in the result; 1 to `beams`.
  double lengthPenalty = 1; ///< A sequence's score is its log likelihood / (new tokens ^ lengthPenalty); finite.
  EarlyStopping earlyStopping = EarlyStopping::Estimate;
  int64_t maxNewTokens = 1;     ///< At least 1.
  std::vector<int32_t> ends;    ///< Ids that end a sequence.
  double repetitionPenalty = 1; ///< Multiplies the log likelihood of tokens seen before, the prompt's included; > 0.
  TokenRules rules;             ///< `ends` above are not among its own.
};

/// One row of the next step of the model: the past of row `parent` of the step before, then `token`.
struct BeamStep {
  int64_t parent = 0;
  int32_t token = 0;
};

/// A sequence without its prompt.
struct BeamResult {
  std::vector<int32_t> tokens; ///< The id that ended it included.
  double score = 0;            ///< Log likelihood / (tokens ^ lengthPenalty).
  bool ended = false;          ///< By one of `ends`, not by the number of tokens.
};

class BeamSearch {
public:
  /// `prompt`: ids that penalties count; what the decoder was given, for an encoder-decoder. Errors: an option out of
  /// its range, with its name and value.
  static Expected<BeamSearch> create(const BeamOptions &options, std::span<const int32_t> prompt);

  /// Replaces the rules of the options. Errors: a negative number, or the search has begun.
  Status setRules(TokenRules rules);

  /// Rows of logits that `advance` takes next: 1 for the prompt, then as many as `steps`.
  size_t rows() const { return live.size(); }

  /// Takes the logits behind each row, f32 [rows, vocabulary], and chooses the next steps. Among equal scores the
  /// first row wins, then the lowest id. Errors: no logits, a number of them that the rows do not divide, NaN or
  /// +infinity, a row without any above -infinity, or rules that leave no token; the search is then as before.
  Status advance(std::span<const float> logits);

  /// The rows that the model runs next. Empty once the search is done.
  std::span<const BeamStep> steps() const { return next; }
  bool isDone() const { return done; }

  /// The best finished sequences, best first; up to `returned` of them. Before the search is done: those so far.
  std::vector<BeamResult> results() const;

private:
  struct Hypothesis {
    std::vector<int32_t> tokens; // new ones
    double score = 0;            // log likelihood
  };
  struct Candidate {
    double score;
    int64_t row;
    int32_t token;
  };
  explicit BeamSearch(const BeamOptions &options, std::span<const int32_t> prompt);
  Status appendCandidates(size_t row, std::span<const float> logits, std::vector<Candidate> &all) const;
  void applyRules(const Hypothesis &hypothesis, std::span<double> scores) const;
  void choose(const std::vector<Candidate> &best);
  void finish(BeamResult result);
  bool canImprove() const;
  double normalized(double score, int64_t length) const;
  bool isEnd(int32_t token) const;

  BeamOptions settings;
  std::vector<int32_t> prompt;
  std::vector<Hypothesis> live;
  std::vector<BeamStep> next;
  std::vector<BeamResult> finished; // best first, at most `beams`
  int64_t length = 0;               // new tokens of the live hypotheses
  bool done = false;
};

} // namespace rapt
