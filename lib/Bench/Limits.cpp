#include "lib/Bench/Limits.h"
#include "lib/Bench/Statistics.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

namespace rapt::bench {
namespace {

double secondsOf(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

constexpr double measuredSeconds = 4e-3;        // of one measurement
constexpr size_t leastBytes = size_t(16) << 10; // of the buffer that is read: it fits L1
constexpr size_t mostBytes = size_t(512) << 20;
constexpr size_t bytesOfMeasurement = size_t(64) << 20; // of it at a time
constexpr size_t floatsOfRound = 128;                   // of a ReadKernel
constexpr int repetitions = 5;
// Where another thread has half of the core, instructions that need all of it are as slow as wider ones.
constexpr double clearlyFaster = 1.25;
// Repetitions of dispatches without work. The pause is longer than threads of the pool spin. A thread that does not
// join is not waited for.
constexpr int spunDispatches = 20001, sleptDispatches = 201;
constexpr long sleepNanoseconds = 2'000'000;
constexpr double longestMeeting = 10e-3;

} // namespace

double wallTime() { return secondsOf(CLOCK_MONOTONIC); }
double processorTime() { return secondsOf(CLOCK_PROCESS_CPUTIME_ID); }

double machineTime() {
  unsigned long long user = 0, nice = 0, system = 0, idle, waiting, interrupts = 0, soft = 0, stolen = 0;
  if (FILE *file = fopen("/proc/stat", "r")) {
    if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &waiting, &interrupts,
               &soft, &stolen) != 8)
      user = nice = system = interrupts = soft = stolen = 0;
    fclose(file);
  }
  return double(user + nice + system + interrupts + soft + stolen) / double(sysconf(_SC_CLK_TCK));
}

std::vector<std::string> featuresOf(std::string_view manifest, std::string_view cpu) {
  const Expected<json::Value> parsed = json::parse(manifest);
  const json::Value *target = parsed ? parsed->find("target") : nullptr;
  std::vector<std::string> features;
  auto read = [&](const json::Value &variant) {
    const json::Value *name = variant.find("cpu"), *own = variant.find("features");
    if (!name || !own || !name->asString() || *name->asString() != cpu || !own->asArray())
      return;
    for (const json::Value &feature : *own->asArray())
      if (const std::string *text = feature.asString())
        features.push_back(*text);
  };
  if (!target)
    return features;
  read(*target); // of an only variant
  const json::Value *variants = target->find("variants");
  if (const json::Array *list = variants ? variants->asArray() : nullptr)
    for (const json::Value &variant : *list)
      read(variant);
  return features;
}

Limits::Limits(rapt_pool *pool, std::vector<std::string> features)
    : pool(pool), threads(pool ? int(rapt_pool_threads(pool)) : 1), features(std::move(features)) {
  for (int i = 0; i < 64; ++i)
    seed[i] = 0.1f + float((i * 37 + threads) % 64) / 80;
}

Limits::~Limits() { free(memory); }

template <typename Body> double Limits::together(const Body &body) {
  struct Run {
    const Body &body;
    int threads;
    std::atomic<int> arrived{0};
    std::atomic<double> seconds{0};
  } run{body, threads};
  auto task = [](void *closure, int64_t begin, int64_t end, int64_t) {
    Run &run = *static_cast<Run *>(closure);
    for (int64_t i = begin; i < end; ++i) {
      // All begin at the same time, unless a thread does not come.
      run.arrived.fetch_add(1);
      for (double start = wallTime(); run.arrived.load() < run.threads && wallTime() - start < 1e-3;) {
      }
      // The thread's own time: while others have its processor, it stands still.
      const double start = secondsOf(CLOCK_THREAD_CPUTIME_ID);
      run.body(int(i));
      const double took = secondsOf(CLOCK_THREAD_CPUTIME_ID) - start;
      for (double sum = run.seconds.load(); !run.seconds.compare_exchange_weak(sum, sum + took);) {
      }
    }
  };
  if (threads == 1) {
    task(&run, 0, 1, 0);
  } else {
    rapt_executor executor = rapt_pool_executor(pool);
    executor.parallel_for(executor.user, task, &run, threads);
  }
  return run.seconds.load() / threads;
}

double Limits::measure(const RateKernel &kernel) {
  std::atomic<double> operations{0};
  static std::atomic<float> sink; // keeps the results alive
  long steps = 2000;
  for (;;) {
    double done = 0;
    const double seconds = together([&](int) {
      float result = 0;
      double mine = kernel.run(steps, seed, &result);
      operations.store(mine);
      sink.store(result, std::memory_order_relaxed);
    });
    done = operations.load() * threads;
    if (seconds >= measuredSeconds / 2 || steps > (1l << 40))
      return seconds > 0 ? done / seconds : 0;
    steps = std::max(steps * 2, long(double(steps) * measuredSeconds / std::max(seconds, 1e-6)));
  }
}

double Limits::measureForkJoin(bool asleep) {
  struct Meeting {
    int threads;
    std::atomic<int> arrived{0};
  };
  auto task = [](void *closure, int64_t begin, int64_t end, int64_t) {
    Meeting &meeting = *static_cast<Meeting *>(closure);
    for (int64_t i = begin; i < end; ++i) {
      meeting.arrived.fetch_add(1);
      for (double start = wallTime();
           meeting.arrived.load() < meeting.threads && wallTime() - start < longestMeeting;) {
      }
    }
  };
  if (threads == 1)
    return 0;
  rapt_executor executor = rapt_pool_executor(pool);
  std::vector<double> measured;
  for (int i = 0; i < (asleep ? sleptDispatches : spunDispatches); ++i) {
    if (asleep) {
      const timespec pause{0, sleepNanoseconds};
      nanosleep(&pause, nullptr);
    }
    Meeting meeting{threads};
    const double start = wallTime();
    executor.parallel_for(executor.user, task, &meeting, threads);
    measured.push_back(wallTime() - start);
  }
  return median(measured);
}

template <typename Kernel> bool Limits::has(const Kernel &kernel) const {
  auto isInCode = [&](const char *name) { return std::find(features.begin(), features.end(), name) != features.end(); };
  return kernel.isAvailable() &&
         (features.empty() || std::all_of(kernel.features.begin(), kernel.features.end(), isInCode));
}

const RateKernel &Limits::instructionFor(const std::string &dtype) {
  const RateKernel *&best = chosen[dtype];
  if (best)
    return *best;
  double most = 0;
  auto consider = [&](const std::string &type) {
    const RateKernel *own = nullptr;
    double mostOfType = 0;
    for (const RateKernel &kernel : rateKernels())
      if (kernel.dtype == type && has(kernel))
        for (int i = 0; i < repetitions; ++i) // the best of several: a disturbed one must not decide
          if (double rate = measure(kernel); rate > mostOfType)
            mostOfType = rate, own = &kernel;
    if (own && mostOfType > clearlyFaster * most)
      most = mostOfType, best = own;
  };
  // The type's own instructions first, and then those of the types that it can be widened to.
  consider(dtype);
  if (dtype == "i4")
    consider("i8");
  if (dtype != "f32")
    consider("f32");
  return *best;
}

double Limits::measureRate(const std::string &dtype) { return measure(instructionFor(dtype)); }

const ReadKernel &Limits::readerFor(size_t bytes) {
  const ReadKernel *&best = readers[std::clamp(bytes, leastBytes, mostBytes)];
  if (best)
    return *best;
  double most = -1;
  for (const ReadKernel &kernel : readKernels())
    if (has(kernel))
      for (int i = 0; i < repetitions; ++i)
        if (double rate = measure(kernel, bytes); rate > most)
          most = rate, best = &kernel;
  return *best;
}

double Limits::measureRead(size_t bytes) { return measure(readerFor(bytes), bytes); }

double Limits::measure(const ReadKernel &kernel, size_t bytes) {
  const size_t round = floatsOfRound * size_t(threads);
  const size_t all = std::max(std::clamp(bytes, leastBytes, mostBytes) / sizeof(float) / round, size_t(1)) * round;
  if (all > allocated) {
    free(memory);
    memory = static_cast<float *>(aligned_alloc(64, all * sizeof(float)));
    allocated = memory ? all : 0;
    for (size_t i = 0; i < allocated; ++i)
      memory[i] = float(i & 7);
    next = 0;
  }
  if (!memory)
    return 0;
  // Each call reads the next part of a large buffer, so that caches hold as little of it as possible.
  const size_t part = std::min(all, std::max(bytesOfMeasurement / sizeof(float) / round, size_t(1)) * round);
  if (next + part > all)
    next = 0;
  const float *begin = memory + next;
  next += part < all ? part : 0;
  const size_t mine = part / size_t(threads);
  const long passes = part < all ? 1 : std::max<long>(long(bytesOfMeasurement / 2 / (all * sizeof(float))), 1);
  std::atomic<float> sink{0};
  const double seconds = together([&](int worker) {
    float total = 0;
    for (long pass = 0; pass < passes; ++pass)
      total += kernel.run(begin + mine * size_t(worker), mine);
    sink.store(total);
  });
  return seconds > 0 ? double(part) * sizeof(float) * double(passes) / seconds : 0;
}

double Limits::rate(const std::string &dtype) {
  double &rate = rates[dtype];
  if (rate == 0) {
    std::vector<double> measured;
    for (int i = 0; i < repetitions; ++i)
      measured.push_back(measureRate(dtype));
    rate = median(measured);
  }
  return rate;
}

double Limits::read(size_t bytes) {
  double &rate = reads[std::clamp(bytes, leastBytes, mostBytes)];
  if (rate == 0) {
    std::vector<double> measured;
    measureRead(bytes);
    for (int i = 0; i < repetitions; ++i)
      measured.push_back(measureRead(bytes));
    rate = median(measured);
  }
  return rate;
}

} // namespace rapt::bench
