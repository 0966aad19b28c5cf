// The loop of a process that test/Perf/compare asks to run one engine: a line on stdin, an answer line on stdout.
#ifndef COMPARE_WORKER_H
#define COMPARE_WORKER_H
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

// The numbers that every engine computes on, so that results can be compared: number i of array `salt`.
inline float number(uint64_t i, uint64_t salt) { return float((i * 7919 + salt * 104729) % 2048) / 1024 - 1; }
inline int64_t token(uint64_t i, int64_t vocabulary) { return int64_t((i + 1) * 7919 % uint64_t(vocabulary)); }
// The length of text i of `count` texts of `least` to `most` tokens, of which most are short. Its token j is token
// i * 512 + j.
inline int64_t textLength(int64_t i, int64_t least, int64_t most, int64_t count) {
  const int64_t rank = i * 37 % count;
  return least + (most - least) * rank * rank / ((count - 1) * (count - 1));
}

struct Floats { // 64-byte aligned
  float *data;
  size_t count;
  explicit Floats(size_t count)
      : data(static_cast<float *>(aligned_alloc(64, (count * 4 + 127) / 64 * 64))), count(count) {}
  void fill(uint64_t salt) {
    for (size_t i = 0; i < count; ++i)
      data[i] = number(i, salt);
  }
  void fillShares(uint64_t salt) { // from 0 to 1
    for (size_t i = 0; i < count; ++i)
      data[i] = (number(i, salt) + 1) / 2;
  }
};

struct Case {
  std::function<void()> run;
  const float *output = nullptr;
  size_t count = 0;
};
using Words = std::vector<std::string>;

inline double seconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// "time RUNS CASE..." answers with seconds of wall clock for all runs, and of processors; "write FILE CASE..." writes
// the case's output there; "rate DTYPE" and the like are cases, too. "lacks REASON" is the answer where making or
// running a case throws. A case runs twice before it is timed first, and
// for 5 ms before several runs are, as waking a thread takes milliseconds on some virtual machines.
inline int serve(const std::string &name, const std::function<Case(const Words &)> &make) {
  std::map<std::string, Case> cases;
  std::cout << name << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream stream(line);
    std::string what, argument, rest;
    stream >> what >> argument;
    std::getline(stream >> std::ws, rest);
    auto at = cases.find(rest);
    if (at == cases.end()) {
      std::istringstream parts(rest);
      Words words;
      for (std::string word; parts >> word;)
        words.push_back(word);
      try {
        at = cases.emplace(rest, make(words)).first;
        at->second.run();
        at->second.run();
      } catch (const std::exception &problem) {
        cases.erase(rest);
        printf("lacks %s\n", problem.what());
        fflush(stdout);
        continue;
      }
    }
    const long runs = what == "time" ? atol(argument.c_str()) : 1;
    const double processors = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (double begin = seconds(CLOCK_MONOTONIC); runs > 1 && seconds(CLOCK_MONOTONIC) < begin + 5e-3;)
      at->second.run();
    const double wall = seconds(CLOCK_MONOTONIC);
    for (long i = 0; i < runs; ++i)
      at->second.run();
    const double took = seconds(CLOCK_MONOTONIC) - wall, own = seconds(CLOCK_PROCESS_CPUTIME_ID) - processors;
    if (what == "write") {
      FILE *file = fopen(argument.c_str(), "wb");
      if (!file || fwrite(at->second.output, 4, at->second.count, file) != at->second.count || fclose(file))
        return perror(argument.c_str()), 1;
    }
    printf("%.9f %.9f\n", took, own);
    fflush(stdout);
  }
  return 0;
}
#endif
