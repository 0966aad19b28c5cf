//===- Limits.h - Rates of the machine ------------------------------------------===//
//
// Rates of instructions and of reading memory, measured where they are needed: a
// figure means something only beside the limit of the same minutes.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "rapt/rapt.h"
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace rapt::bench {

/// Seconds of a clock that only goes forward, and of all processors that worked for this process.
double wallTime();
double processorTime();
/// Busy time of all processors since the machine started, in steps of 10 ms; 0 where it is not known.
double machineTime();

/// A loop of independent multiply-adds, dot products or tile matmuls (AMX), in registers.
struct RateKernel {
  const char *name;  ///< "f32 FMA, 512 bit"
  const char *dtype; ///< of the operands: "f32", "bf16", "i8"
  bool (*isAvailable)();
  /// Runs `steps` rounds; returns the operations, multiplications and additions apart. `seed` has 64 floats that the
  /// compiler does not know, from 0.1 to 1; what comes out goes to `sink`.
  double (*run)(long steps, const float *seed, float *sink);
};
/// All that this architecture can have.
const std::vector<RateKernel> &rateKernels();
/// Adds up `count` floats from 64-byte aligned memory, a multiple of 128, with the widest vectors there are.
float sumFloats(const float *memory, size_t count);

/// Limits of some threads of a pool together. Not copied; used by one thread.
class Limits {
public:
  /// Without a pool: of the caller's thread.
  explicit Limits(rapt_pool *pool);
  Limits(const Limits &) = delete;
  Limits &operator=(const Limits &) = delete;
  ~Limits();

  /// The fastest instruction for matmuls on operands of this type; that of f32 where the machine has none for it.
  const RateKernel &instructionFor(const std::string &dtype);
  /// Operations a second of that instruction now, a few milliseconds long.
  double measureRate(const std::string &dtype);
  /// Bytes a second with which the threads now read a buffer of `bytes` again and again, each its part; at most 512 MiB
  /// of it are kept.
  double measureRead(size_t bytes);
  /// Seconds that a dispatch costs in which all threads take part and do nothing: the median of a few whose
  /// threads wait for it in a loop, or with `asleep` sleep when it comes. 0 of one thread.
  double measureForkJoin(bool asleep);
  /// Bytes of the buffer that is kept.
  size_t residentBytes() const { return allocated * sizeof(float); }
  /// The medians of a few measurements, made once.
  double rate(const std::string &dtype);
  double read(size_t bytes);

private:
  /// Runs body(worker) on all threads at the same time; the seconds of a processor that one took, on average.
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
