//===- Statistics.h - Statistics of repetitions --------------------------------===//
#pragma once
#include <cstddef>
#include <vector>

namespace rapt::bench {

/// One repetition: its time, and the share of `threads` processors that the process had.
struct Sample {
  double seconds = 0;
  double processors = 0; ///< processor time / (threads * seconds)
  double foreign = 0;    ///< processors that other processes used
  double speed = 1;      ///< rate of multiply-adds in registers right before or after it, the slower one
};

/// The quantile `share` of sorted values, interpolated; 0 without values.
double percentile(std::vector<double> values, double share);
double median(std::vector<double> values);

/// The repetitions that were not preempted: the process had at least 95 % of its processors. Multithreaded code may
/// leave processors idle: it needs 95 % of the best repetition's share, and other processes at most 15 % of a
/// processor.
std::vector<double> undisturbed(const std::vector<Sample> &samples, int threads);

/// The repetitions that a row's figures are computed from.
struct Counted {
  std::vector<double> seconds; ///< never empty where there are samples
  size_t undisturbed = 0;      ///< repetitions that were not preempted; others count only where none was, or on request
};
Counted count(const std::vector<Sample> &samples, int threads, bool acceptDisturbed);

/// Whether the medians of both halves agree within 10 %; never for fewer than four values.
bool isResolved(const std::vector<double> &values);

} // namespace rapt::bench
