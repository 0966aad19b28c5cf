//===- Workload.h - Something to measure ------------------------------------------===//
#pragma once
#include "lib/Bench/Options.h"
#include "rapt/rapt.hpp"
#include <memory>

namespace rapt::bench {

/// Operations and bytes of one run, and where the bytes lie.
struct WorkloadCost {
  double flops = 0;  ///< of matmuls
  std::string dtype; ///< of most of their operands
  double bytes = 0;  ///< that are read: weights and cache, of a kernel all arrays
  double span = 0;   ///< of the memory in which they lie; less than `bytes` where something is read again and again
};

/// Code that can run again and again.
class Workload {
public:
  virtual ~Workload() = default;
  /// Makes the next run possible; not timed.
  virtual Outcome prepare() { return {}; }
  virtual Outcome run() = 0;
  /// Determines the cost of a run; may run it.
  virtual Outcome measureCost(WorkloadCost &cost) = 0;

  std::string name;  ///< "prefill 512"
  std::string unit;  ///< "tokens", "images"; empty: runs
  double amount = 1; ///< of units in a run
};

using Workloads = std::vector<std::unique_ptr<Workload>>;

/// Makes the workloads of a model that the options ask for, on a pool's threads. Fails with a line when the model
/// cannot run one. `module` and `pool` must outlive the result.
Outcome makeModelWorkloads(const Options &options, const Module &module, const Pool &pool, Workloads &workloads);

/// Kernels of a library without a model.
class KernelLibrary {
public:
  /// RAPT_BAD_FILE where the file is a model, or was made without its manifest.
  static Outcome open(const std::string &path, std::unique_ptr<KernelLibrary> &library);
  virtual ~KernelLibrary() = default;
  virtual Outcome makeWorkloads(const Options &options, const Pool &pool, Workloads &workloads) = 0;
};

/// Whether a library holds a model, by its manifest.
Outcome inspect(const std::string &path, bool &isModel);

} // namespace rapt::bench
