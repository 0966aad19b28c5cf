//===- BenchRun.h - Workloads and limits in turns -----------------------------------===//
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
  std::vector<double> seconds; ///< of the runs that count, in order
  size_t undisturbed = 0;      ///< repetitions
  size_t repetitions = 0;      ///< disturbed ones too
  bool isDisturbed = false;    ///< fewer were undisturbed than were asked for
  std::string limitName;       ///< empty where the cost is not known
  double limitRate = 0;        ///< operations or bytes a second, the median beside the runs
  bool isBoundByReading = false;
  uint64_t peakMemory = 0; ///< resident bytes of the process

  double median() const { return bench::median(seconds); }
  /// The least time that the limit allows, of the time that it took.
  double share() const;
  bool isResolved() const { return bench::isResolved(seconds); }
};

/// Runs a workload in turns with its limit, until `repetitions` were undisturbed or three times as many were made; just
/// `repetitions` times with `acceptDisturbed`. There are figures in any case.
Outcome measure(Workload &workload, Limits &limits, int threads, int64_t repetitions, bool acceptDisturbed,
                Result &result);

/// Everything that the options ask for, to the standard output. Returns the exit status and tells its failure itself.
int runBenchmarks(const Options &options);

/// The results in the format asked for, with a line end.
std::string report(const std::vector<Result> &results, Format format);

} // namespace rapt::bench
