//===- BenchRun.h - Measures workloads beside the machine's limits ------------------===//
#pragma once
#include "lib/Bench/Limits.h"
#include "lib/Bench/Statistics.h"
#include "lib/Bench/Workload.h"

namespace rapt::bench {

/// The figures of a workload's repetitions.
struct Result {
  std::string workload, unit;
  double amount = 1; ///< of units in a run
  int threads = 1;
  WorkloadCost cost;
  std::vector<double> seconds; ///< of the repetitions that count, in order
  size_t undisturbed = 0;      ///< repetitions that were not preempted
  size_t repetitions = 0;      ///< all repetitions
  bool isDisturbed = false;    ///< fewer repetitions than requested were not preempted
  std::string limitName;       ///< empty where the cost is not known
  double limitRate = 0;        ///< operations or bytes per second, the median of measurements between the runs
  bool isBoundByReading = false;
  uint64_t peakMemory = 0; ///< resident bytes of the process

  double median() const { return bench::median(seconds); }
  /// The least time that the limit allows, as a share of the time that a run took.
  double share() const;
  bool isResolved() const { return bench::isResolved(seconds); }
};

/// Runs a workload and measures its limit alternately, until `repetitions` were not preempted or three times as many
/// were made; exactly `repetitions` times with `acceptDisturbed`. There are figures in any case. On a GPU there is no
/// limit, and every repetition counts: the limits are those of the machine's processors.
Outcome measure(Workload &workload, Limits &limits, int threads, int64_t repetitions, bool acceptDisturbed,
                Result &result);

/// Measures all that the options request and prints it to the standard output. Returns the exit status; reports its
/// failures itself.
int runBenchmarks(const Options &options);

/// The results in the requested format, with a final newline.
std::string report(const std::vector<Result> &results, Format format);

} // namespace rapt::bench
