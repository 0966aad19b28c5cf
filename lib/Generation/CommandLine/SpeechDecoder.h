//===- SpeechDecoder.h - The tokens of a window of sound ---------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Continuation.h"
#include "lib/Generation/Segments.h"
#include "lib/Generation/SpeechConfig.h"
#include <functional>
#include <string_view>

namespace rapt::run {

/// Takes a part of a text as it comes.
using TextSink = std::function<Outcome(std::string_view)>;

/// How a window is written.
struct WindowRequest {
  std::string language;
  bool withTimestamps = false;
  Ids previous = {}; ///< what was said before, timestamps included
};

/// New tokens of a window, without the one that ends them.
struct WindowText {
  Ids ids;
  SpeechAttempt attempt; ///< its numbers are known where thresholds judge them
};

/// A speech model with its tokenizer and settings. One window of sound is its source at a time.
class SpeechDecoder {
public:
  explicit SpeechDecoder(const Options &options, Model &model) : options(options), model(model) {}

  /// Reads the sections of the model, and obeys --language and --task.
  Outcome open();
  /// Makes the context, for one window.
  Outcome prepare();
  /// Runs the encoder.
  Outcome listen(const std::vector<float> &features);
  /// The code of the language: asked for, or the likeliest of the window; "" where the model knows one.
  Outcome findLanguage(std::string &code);
  /// Writes the window, at another temperature as long as the thresholds refuse the text and there is one. `sink`,
  /// which may be empty, takes the text of the first attempt.
  Outcome write(const WindowRequest &request, const TextSink &sink, WindowText &result);

  /// Whether a text may be refused or taken for silence, so that nothing is shown before it is whole.
  const SpeechThresholds &thresholds() const { return speech.thresholds; }
  /// Whether a window knows the text before it.
  bool knowsPrevious() const { return speech.knowsPrevious; }

  const SpeechConfig &config() const { return speech; }
  /// "transcribe" or "translate"
  const std::string &task() const { return speech.task; }
  bool isLanguageGiven() const { return speech.languages.empty() || !speech.language.empty(); }
  /// Whether the model has tokens for times.
  bool hasTimestamps() const { return speech.noTimestamps && *speech.noTimestamps + 1 < model.info.vocabulary; }
  TimestampUnit timestamps() const;
  const Text &getText() const { return text; }
  /// "greedy", or how it samples or searches.
  const std::string &summary() const { return how; }
  /// Whether tokens may be drawn, from the seed.
  bool maySample() const { return isSampled; }

private:
  Outcome readConfig();
  Outcome chooseLanguageAndTask();
  Outcome chooseRoom();
  Outcome chooseFallback();
  /// Tokens of earlier text ahead of a prompt.
  int64_t mostPrevious() const;
  Ids promptOf(const WindowRequest &request) const;
  void setTimestamps(bool areWanted);
  /// New tokens behind a prompt.
  int64_t mostNew(const Ids &prompt) const;
  /// Begins attempt number `number`: `own` are its options, `one.next` the tokens of its first step.
  Outcome beginAttempt(size_t number, Options &own, Continuation &one, SpeechAttempt &attempt);
  Outcome measureSilence(const Ids &prompt, double &probability);
  Outcome judge(const Ids &ids, SpeechAttempt &attempt) const;
  Outcome generate(const Options &own, size_t number, Continuation &one, const TextSink &sink);
  Outcome search(const Options &own, Continuation &one, const TextSink &sink);
  Outcome choose(Continuation &one, const float *logits, int32_t &id);
  Outcome show(const Continuation &one, int32_t id, const TextSink &sink) const;

  const Options &options;
  Model &model;
  Text text;
  SpeechConfig speech;
  Sequence sequence;
  size_t windows = 0;               ///< written so far
  std::vector<double> temperatures; ///< of the attempts; empty: one, as the options say
  bool hasPrevious = false;         ///< prompts have earlier text
  double logProbability = 0;        ///< of the tokens of the attempt
  std::string how;
  bool isSampled = false;
};

} // namespace rapt::run
