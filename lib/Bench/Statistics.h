//===- Statistics.h - Statistics of repetitions --------------------------------===//
#pragma once
#include <cstddef>
#include <vector>

namespace rapt::bench {

/// One repetition: how long it took, and how much of `threads` processors the process had meanwhile.
struct Sample {
  double seconds = 0;
  double processors = 0; ///< processor time / (threads * seconds)
  double foreign = 0;    ///< processors that other processes had
  double speed = 1;      ///< of multiply-adds in registers right before or after it, whichever was slower
};

/// The value below which a share of the sorted values lies, interpolated; 0 without values.
double percentile(std::vector<double> values, double share);
double median(std::vector<double> values);

/// The repetitions during which nobody took the processors away: those with at least 95 % of them. Code of several
/// threads may never keep all busy: it needs 95 % of what the best repetition had, and that others had at most 15 % of
/// one.
std::vector<double> undisturbed(const std::vector<Sample> &samples, int threads);

/// The repetitions behind a row's figures.
struct Counted {
  std::vector<double> seconds; ///< never empty where there are samples
  size_t undisturbed = 0;      ///< repetitions, which alone count unless there is none, or all are accepted
};
Counted count(const std::vector<Sample> &samples, int threads, bool acceptDisturbed);

/// Whether the medians of both halves agree within 10 %; never for fewer than four values.
bool isResolved(const std::vector<double> &values);

} // namespace rapt::bench
