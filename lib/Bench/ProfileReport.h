//===- ProfileReport.h - Times of a model's ops beside the machine's limits --------------===//
#pragma once
#include "lib/Bench/Limits.h"
#include "lib/Support/Json.h"
#include "rapt/rapt.hpp"
#include "rapt/rapt_profile.h"
#include <string>
#include <vector>

namespace rapt::bench {

/// A rapt_profile_row that outlives its module.
struct OpTime {
  std::string entry;    ///< "step", and "step, 1 token" of runs with one token a sequence
  std::string op, name; ///< `op` is empty outside of ops, `entry` around the entries
  int64_t layer = -1;
  uint64_t calls = 0;
  double seconds = 0;
  std::string dtype;
  double flops = 0, weightBytes = 0, cacheBytes = 0, activationBytes = 0;

  double bytes() const { return weightBytes + cacheBytes + activationBytes; }
};

/// The rows of a context that has a profile.
Outcome readProfile(rapt_context *context, std::vector<OpTime> &rows);

/// The sum of an op's rows over the layers `firstLayer` to `lastLayer`; summaries keep the order of the rows.
struct OpSummary {
  OpTime total;
  int64_t firstLayer = -1, lastLayer = -1;
};
std::vector<OpSummary> sumLayers(const std::vector<OpTime> &rows);

/// The least time that the machine needs for a row: for its matmuls, for reading weights and KV cache once per run of
/// an entry, and for activations, which are in a processor cache.
class LimitModel {
public:
  /// `weightsOfModel`: bytes, which ops may read several times. Without limits, as on a GPU, every least time is 0.
  LimitModel(const std::vector<OpTime> &rows, double weightsOfModel, Limits *limits);
  double secondsFor(const OpTime &row) const;
  /// One line that names the limits.
  std::string describe() const;

private:
  Limits *limits;
  std::vector<std::pair<std::string, double>> bytesOfRun; ///< of each entry
};

/// A table of ops and a table of layers.
std::string profileTable(const std::vector<OpTime> &rows, double weightsOfModel, Limits *limits);
/// All rows, each with its limit.
json::Value profileJson(const std::vector<OpTime> &rows, double weightsOfModel, Limits *limits);

} // namespace rapt::bench
