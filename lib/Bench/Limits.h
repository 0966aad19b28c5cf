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
  const char *dtype; ///< of the operands: "f32", "bf16", "i8"
  bool (*isAvailable)();
  /// Runs `steps` rounds; returns the number of operations, counting multiplications and additions separately. `seed`
  /// has 64 floats from 0.1 to 1 that the compiler cannot fold; `sink` keeps the result alive.
  double (*run)(long steps, const float *seed, float *sink);
};
/// All kernels of this architecture.
const std::vector<RateKernel> &rateKernels();
/// Sums `count` floats, a multiple of 128, in memory aligned to 64 bytes, with the widest vectors.
float sumFloats(const float *memory, size_t count);

/// The limits of the threads of a pool together. Not copyable; used by one thread.
class Limits {
public:
  /// Without a pool: of the caller's thread.
  explicit Limits(rapt_pool *pool);
  Limits(const Limits &) = delete;
  Limits &operator=(const Limits &) = delete;
  ~Limits();

  /// The fastest kernel for matmuls on operands of this type; that of f32 where the machine has none.
  const RateKernel &instructionFor(const std::string &dtype);
  /// Operations per second of that kernel, measured for a few milliseconds.
  double measureRate(const std::string &dtype);
  /// Bytes per second at which the threads read a buffer of `bytes` repeatedly, each its part. The buffer has at most
  /// 512 MiB.
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

  rapt_pool *pool;
  int threads;
  float seed[64];
  float *memory = nullptr;
  size_t allocated = 0, next = 0; ///< floats; of a buffer larger than a measurement, where the next one goes on
  std::map<std::string, const RateKernel *> chosen;
  std::map<std::string, double> rates;
  std::map<size_t, double> reads;
};

} // namespace rapt::bench
