//===- Limits.h - Rates of the machine ------------------------------------------===//
//
// Measures the rates of arithmetic instructions and of reading memory, right beside the
// workload: clock rates and other processes change from minute to minute.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "rapt/rapt.h"
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::bench {

/// Seconds of a monotonic clock, and of processor time of this process.
double wallTime();
double processorTime();
/// Busy time of all processors since the machine started, in steps of 10 ms; 0 where it is not known.
double machineTime();

/// A loop of independent multiply-adds, dot products or tile matmuls (AMX), in registers.
struct RateKernel {
  const char *name;  ///< "f32 FMA, 512 bit"
  const char *dtype; ///< of the operands: "f32", "bf16", "i8", "i4" (codes without a sign times 8 bits)
  std::vector<const char *> features; ///< LLVM's names of those that code needs for it; none: any code has it
  bool (*isAvailable)();              ///< whether this machine runs it
  /// Runs `steps` rounds; returns the number of operations, counting multiplications and additions separately. `seed`
  /// has 64 floats from 0.1 to 1 that the compiler cannot fold; `sink` keeps the result alive.
  double (*run)(long steps, const float *seed, float *sink);
};
/// All kernels of this architecture.
const std::vector<RateKernel> &rateKernels();

/// A way to read memory: by vectors, in one stream or in four beside each other, perhaps with prefetches.
struct ReadKernel {
  const char *name;
  std::vector<const char *> features;
  bool (*isAvailable)();
  /// Sums `count` floats, a multiple of 128, in memory aligned to 64 bytes.
  float (*run)(const float *memory, size_t count);
};
/// All kernels of this architecture.
const std::vector<ReadKernel> &readKernels();

/// The features that compiled code uses, as the manifest tells them of its variant for `cpu`; none where it tells none.
std::vector<std::string> featuresOf(std::string_view manifest, std::string_view cpu);

/// The limits of the threads of a pool together, by the instructions that compiled code has. Not copyable; used by one
/// thread.
class Limits {
public:
  /// Without a pool: of the caller's thread. `features`: of the code, by LLVM's names; none: all that the machine has.
  explicit Limits(rapt_pool *pool, std::vector<std::string> features = {});
  Limits(const Limits &) = delete;
  Limits &operator=(const Limits &) = delete;
  ~Limits();

  /// The fastest kernel for matmuls on operands of this type, or of a wider one that they can be converted to.
  const RateKernel &instructionFor(const std::string &dtype);
  /// Operations per second of that kernel, measured for a few milliseconds.
  double measureRate(const std::string &dtype);
  /// The fastest way to read a buffer of `bytes`.
  const ReadKernel &readerFor(size_t bytes);
  /// Bytes per second at which the threads read a buffer of `bytes` repeatedly, each its part, in that way. The buffer
  /// has at most 512 MiB.
  double measureRead(size_t bytes);
  /// Seconds of a dispatch without work in which all threads take part: the median of several, with threads that spin
  /// before it or, with `asleep`, sleep. 0 for one thread.
  double measureForkJoin(bool asleep);
  /// Bytes of the buffer that is kept.
  size_t residentBytes() const { return allocated * sizeof(float); }
  /// The medians of a few measurements, made once.
  double rate(const std::string &dtype);
  double read(size_t bytes);

private:
  /// Runs body(worker) on all threads at the same time; returns the average processor time of a thread in seconds.
  template <typename Body> double together(const Body &body);
  double measure(const RateKernel &kernel);
  double measure(const ReadKernel &kernel, size_t bytes);
  /// Whether the machine and the code have the instructions of a kernel.
  template <typename Kernel> bool has(const Kernel &kernel) const;

  rapt_pool *pool;
  int threads;
  std::vector<std::string> features;
  float seed[64];
  float *memory = nullptr;
  size_t allocated = 0, next = 0; ///< floats; of a buffer larger than a measurement, where the next one goes on
  std::map<std::string, const RateKernel *> chosen;
  std::map<size_t, const ReadKernel *> readers; ///< by bytes
  std::map<std::string, double> rates;
  std::map<size_t, double> reads;
};

} // namespace rapt::bench
