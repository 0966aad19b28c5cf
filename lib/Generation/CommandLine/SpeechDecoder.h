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
  /// New tokens of the window, without the one that ends them. `sink`, which may be empty, takes their text.
  Outcome write(const std::string &language, bool withTimestamps, const TextSink &sink, Ids &ids);

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

private:
  Outcome readConfig();
  Outcome chooseLanguageAndTask();
  Outcome chooseRoom();
  Ids promptOf(const std::string &language, bool withTimestamps) const;
  void setTimestamps(bool areWanted);
  /// New tokens behind a prompt.
  int64_t mostNew(const Ids &prompt) const;
  Outcome generate(Continuation &one, const TextSink &sink);
  Outcome search(Continuation &one, const TextSink &sink);
  Outcome choose(Continuation &one, const float *logits, int32_t &id);
  Outcome show(const Continuation &one, int32_t id, const TextSink &sink) const;

  const Options &options;
  Model &model;
  Text text;
  SpeechConfig speech;
  Sequence sequence;
  size_t windows = 0; ///< written so far
  std::string how;
};

} // namespace rapt::run
