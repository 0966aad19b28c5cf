#include "lib/Bench/BenchRun.h"
#include "lib/Support/File.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace rapt::bench {
namespace {

/// Runs before a GPU's repetitions: the first one loads kernels, the second one records its graph.
constexpr int64_t runsToWarmUp = 3;
// The least length of a repetition, which may be several runs: Linux counts processor time in steps of 10 ms.
constexpr double leastSeconds = 5e-3, leastSecondsOfThreads = 0.15;

/// Resets peakMemory, where the system can.
void forgetPeak() {
  if (FILE *file = fopen("/proc/self/clear_refs", "w")) {
    fputs("5", file);
    fclose(file);
  }
}

uint64_t peakMemory() {
  unsigned long long kilobytes = 0;
  if (FILE *file = fopen("/proc/self/status", "r")) {
    for (char line[256]; fgets(line, sizeof line, file);)
      if (sscanf(line, "VmHWM: %llu kB", &kilobytes) == 1)
        break;
    fclose(file);
  }
  return kilobytes * 1024;
}

/// Times a repetition of `runs` runs, without their preparation.
Outcome repeat(Workload &workload, int64_t runs, int threads, Sample &sample) {
  double wall = 0, processors = 0;
  const double start = wallTime(), machine = machineTime(), own = processorTime();
  for (int64_t i = 0; i < runs; ++i) {
    RAPT_RETURN_IF_ERROR(workload.prepare());
    const double processorsBefore = processorTime(), before = wallTime();
    RAPT_RETURN_IF_ERROR(workload.run());
    wall += wallTime() - before;
    processors += processorTime() - processorsBefore;
  }
  const double before = wallTime();
  RAPT_RETURN_IF_ERROR(workload.finish());
  wall += wallTime() - before;
  const double foreign = machineTime() - machine - (processorTime() - own);
  sample = {wall / double(runs), wall > 0 ? processors / (wall * threads) : 0, foreign / (wallTime() - start)};
  return {};
}

/// The least time that the machine needs for the workload: the slower of computing and reading.
void chooseLimit(const WorkloadCost &cost, Limits &limits, Result &result) {
  const double computing = cost.flops > 0 ? cost.flops / limits.rate(cost.dtype) : 0,
               reading = cost.bytes > 0 ? cost.bytes / limits.read(size_t(cost.span)) : 0;
  result.isBoundByReading = reading > computing;
  if (reading > 0 || computing > 0) {
    char text[64];
    snprintf(text, sizeof text, "read %.*f MB", cost.span < 1e7 ? 2 : 0, 1e-6 * cost.span);
    result.limitName = result.isBoundByReading ? text : limits.instructionFor(cost.dtype).name;
  }
}

int fail(const std::string &message, int code = 1) {
  fprintf(stderr, "rapt-bench: error: %s\n", message.c_str());
  return code;
}
int fail(const Outcome &outcome) { return fail(outcome.message, outcome.status == RAPT_BUG ? 3 : 1); }

/// A model or the kernels of a library, whichever the file is.
class Subject {
public:
  Outcome open(const Options &options) {
    bool isModel = false;
    RAPT_RETURN_IF_ERROR(inspect(options.library, isModel));
    if (!isModel)
      return KernelLibrary::open(options.library, kernels);
    auto moduleOptions = sized<rapt_module_options>();
    moduleOptions.weights_path = options.weights.empty() ? nullptr : options.weights.c_str();
    return Module::open(options.library.c_str(), module, &moduleOptions);
  }
  bool isOnGpu() const { return kernels ? kernels->isOnGpu() : *module.info().target_gpu; }
  /// Features of the code, by LLVM's names.
  std::vector<std::string> features() const {
    return kernels ? kernels->features() : featuresOf(module.manifest(), module.info().target_cpu);
  }
  Outcome makeWorkloads(const Options &options, const Pool &pool, Workloads &workloads) const {
    return kernels ? kernels->makeWorkloads(options, pool, workloads)
                   : makeModelWorkloads(options, module, pool, workloads);
  }

private:
  Module module;
  std::unique_ptr<KernelLibrary> kernels;
};

} // namespace

double Result::share() const {
  const double least = limitRate > 0 ? (isBoundByReading ? cost.bytes : cost.flops) / limitRate : 0;
  return seconds.empty() ? 0 : least / median();
}

/// Every repetition counts: what the processors do meanwhile is not what is measured.
static Outcome measureOnGpu(Workload &workload, int64_t runs, int64_t repetitions, Result &result) {
  for (int64_t i = 0; i < repetitions; ++i) {
    Sample sample;
    RAPT_RETURN_IF_ERROR(repeat(workload, runs, 1, sample));
    result.seconds.push_back(sample.seconds);
  }
  result.undisturbed = result.repetitions = size_t(repetitions);
  return {};
}

Outcome measure(Workload &workload, Limits &limits, int threads, int64_t repetitions, bool acceptDisturbed,
                Result &result) {
  result.workload = workload.name;
  result.unit = workload.unit;
  result.amount = workload.amount;
  result.threads = threads;
  RAPT_RETURN_IF_ERROR(workload.measureCost(result.cost)); // the first run reads the weights
  result.peakMemory = peakMemory() - std::min<uint64_t>(peakMemory(), limits.residentBytes()); // without ours
  Sample sample;
  if (workload.isOnGpu)
    RAPT_RETURN_IF_ERROR(repeat(workload, runsToWarmUp, threads, sample));
  RAPT_RETURN_IF_ERROR(repeat(workload, 1, threads, sample));
  const int64_t runs = std::clamp<int64_t>(
      int64_t(std::ceil((threads == 1 ? leastSeconds : leastSecondsOfThreads) / std::max(sample.seconds, 1e-7))), 1,
      100000);
  if (workload.isOnGpu)
    return measureOnGpu(workload, runs, repetitions, result);
  chooseLimit(result.cost, limits, result);
  std::vector<Sample> samples;
  std::vector<double> rates;
  const int64_t most = acceptDisturbed ? repetitions : 3 * repetitions;
  while (int64_t(samples.size()) < most && int64_t(result.undisturbed) < repetitions) {
    if (!result.limitName.empty())
      rates.push_back(result.isBoundByReading ? limits.measureRead(size_t(result.cost.span))
                                              : limits.measureRate(result.cost.dtype));
    const double before = limits.measureRate("f32");
    RAPT_RETURN_IF_ERROR(repeat(workload, runs, threads, sample));
    sample.speed = std::min(before, limits.measureRate("f32"));
    samples.push_back(sample);
    Counted counted = count(samples, threads, acceptDisturbed);
    result.seconds = std::move(counted.seconds);
    result.undisturbed = counted.undisturbed;
  }
  result.isDisturbed = int64_t(result.undisturbed) < repetitions;
  result.repetitions = samples.size();
  result.limitRate = bench::median(rates);
  return {};
}

namespace {
/// Prints the cost of a dispatch with each number of threads.
int runForkJoin(const Options &options) {
  static constexpr const char *heads[] = {"| threads | fork and join, spinning | asleep |\n|---|---|---|\n",
                                          "threads,spinning_s,asleep_s\n", "["};
  std::string text = heads[int(options.format)];
  for (int64_t count : options.threads.empty() ? std::vector<int64_t>{rapt_default_threads()} : options.threads) {
    Pool pool;
    if (Outcome outcome = Pool::make(count, pool); !outcome)
      return fail(outcome);
    Limits limits(pool.get());
    const double spinning = limits.measureForkJoin(/*asleep=*/false), asleep = limits.measureForkJoin(/*asleep=*/true);
    char row[128];
    switch (options.format) {
    case Format::Markdown:
      snprintf(row, sizeof row, "| %lld | %.3g us | %.3g us |\n", (long long)count, 1e6 * spinning, 1e6 * asleep);
      break;
    case Format::CSV:
      snprintf(row, sizeof row, "%lld,%.4g,%.4g\n", (long long)count, spinning, asleep);
      break;
    case Format::JSON:
      snprintf(row, sizeof row, "%s{\"threads\": %lld, \"spinning_s\": %.4g, \"asleep_s\": %.4g}",
               text.size() > 1 ? ", " : "", (long long)count, spinning, asleep);
      break;
    }
    text += row;
  }
  text += options.format == Format::JSON ? "]\n" : "";
  const Status written = writeStandardOutput(text);
  return written ? 0 : fail(written.error().message);
}
} // namespace

int runBenchmarks(const Options &options) {
  if (options.forkJoin)
    return runForkJoin(options);
  Subject subject;
  if (Outcome outcome = subject.open(options); !outcome)
    return fail(outcome);
  std::vector<int64_t> threads = options.threads;
  if (subject.isOnGpu())
    threads = {1}; // the caller's
  else if (threads.empty())
    threads = {rapt_default_threads()};
  std::vector<Result> results;
  for (int64_t count : threads) {
    Pool pool;
    if (!subject.isOnGpu())
      if (Outcome outcome = Pool::make(count, pool); !outcome)
        return fail(outcome);
    Limits limits(pool.get(), subject.features());
    Workloads workloads;
    forgetPeak();
    if (Outcome outcome = subject.makeWorkloads(options, pool, workloads); !outcome)
      return fail(outcome);
    for (auto &workload : workloads) {
      Result result;
      if (Outcome outcome =
              measure(*workload, limits, int(count), options.repetitions, options.acceptDisturbed, result);
          !outcome)
        return fail(workload->name + ": " + outcome.message, outcome.status == RAPT_BUG ? 3 : 1);
      results.push_back(std::move(result));
      workload.reset(); // its memory is not the next one's
      forgetPeak();
    }
  }
  const Status written = writeStandardOutput(report(results, options.format));
  return written ? 0 : fail(written.error().message);
}

} // namespace rapt::bench
