//===- Workload.h - Code that rapt-bench measures ---------------------------------===//
#pragma once
#include "lib/Bench/Options.h"
#include "rapt/rapt.hpp"
#include <memory>

namespace rapt::bench {

/// Operations and bytes of one run.
struct WorkloadCost {
  double flops = 0;  ///< of matmuls
  std::string dtype; ///< of most of their operands
  double bytes = 0;  ///< bytes read: weights and KV cache, or all arrays of a kernel
  double span = 0;   ///< bytes of distinct memory; less than `bytes` where memory is read repeatedly
};

/// Code that can run repeatedly.
class Workload {
public:
  virtual ~Workload() = default;
  /// Prepares the next run; not timed.
  virtual Outcome prepare() { return {}; }
  virtual Outcome run() = 0;
  /// Waits for runs that have only been started.
  virtual Outcome finish() { return {}; }
  /// Determines the cost of a run; may run it.
  virtual Outcome measureCost(WorkloadCost &cost) = 0;

  std::string name;  ///< "prefill 512"
  std::string unit;  ///< "tokens", "images"; empty: runs
  double amount = 1; ///< of units in a run
  bool isOnGpu = false;
};

using Workloads = std::vector<std::unique_ptr<Workload>>;

/// Makes the requested workloads of a model, on a pool's threads or a GPU. Fails with a message where the model cannot
/// run one. `module` and `pool` must outlive the result.
Outcome makeModelWorkloads(const Options &options, const Module &module, const Pool &pool, Workloads &workloads);

/// Kernels of a library without a model.
class KernelLibrary {
public:
  /// RAPT_BAD_FILE where the file is a model, or was made without its manifest.
  static Outcome open(const std::string &path, std::unique_ptr<KernelLibrary> &library);
  virtual ~KernelLibrary() = default;
  virtual bool isOnGpu() const = 0;
  /// Features of the code, by LLVM's names.
  virtual std::vector<std::string> features() const = 0;
  virtual Outcome makeWorkloads(const Options &options, const Pool &pool, Workloads &workloads) = 0;
};

/// Whether a library holds a model, by its manifest.
Outcome inspect(const std::string &path, bool &isModel);

} // namespace rapt::bench
