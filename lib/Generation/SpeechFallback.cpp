//===- SpeechFallback.cpp --------------------------------------------------===//
#include "lib/Generation/SpeechFallback.h"

namespace rapt {

bool SpeechThresholds::refuse(const SpeechAttempt &attempt) const {
  const bool isUnlikely = meanLogProbability && attempt.meanLogProbability < *meanLogProbability;
  if (noSpeech && attempt.noSpeech > *noSpeech && isUnlikely)
    return false; // silence
  return isUnlikely || (compressionRatio && attempt.compressionRatio > *compressionRatio);
}

bool SpeechThresholds::findSilence(const SpeechAttempt &attempt) const {
  const bool isLikely = meanLogProbability && attempt.meanLogProbability > *meanLogProbability;
  return noSpeech && attempt.noSpeech > *noSpeech && !isLikely;
}

std::vector<double> temperaturesFrom(double first, double step) {
  std::vector<double> all = {first};
  for (double next = first + step; next < 1 + 1e-6; next = first + double(all.size()) * step)
    all.push_back(next);
  return all;
}

} // namespace rapt
