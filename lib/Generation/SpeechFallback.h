//===- SpeechFallback.h - When a window of sound is written again ------------===//
//
// Whisper's transcribe.py: a text that repeats itself or that the model finds unlikely is
// written again at a higher temperature, and a window without speech is left out.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

namespace rapt {

/// The text of a window, as one attempt has written it.
struct SpeechAttempt {
  double temperature = 0;
  double compressionRatio = 0;   ///< bytes of the text for each byte that zlib makes of it
  double meanLogProbability = 0; ///< of the new tokens, with the one that ends them
  double noSpeech = 0;           ///< the probability of <|nospeech|> behind <|startoftranscript|>
};

/// The thresholds of generation_config.json and of the command line; those that are not given judge nothing.
struct SpeechThresholds {
  std::optional<double> compressionRatio, meanLogProbability, noSpeech;

  bool areEmpty() const { return !compressionRatio && !meanLogProbability && !noSpeech; }
  /// Whether the next temperature is tried.
  bool refuse(const SpeechAttempt &attempt) const;
  /// Whether the window is taken for silence.
  bool findSilence(const SpeechAttempt &attempt) const;
};

/// `first`, then each one `step` above it, up to 1.
std::vector<double> temperaturesFrom(double first, double step);

inline constexpr size_t mostTemperatures = 100;

/// Text that came from a temperature above it is not given to the next window.
inline constexpr double mostForPrevious = 0.5;

} // namespace rapt
