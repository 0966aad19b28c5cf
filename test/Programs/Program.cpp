#include "test/Programs/Program.h"
#include <cstdio>
#include <iterator>
#include <random>

using namespace rapt::programs;

namespace {

constexpr const char *names[kinds] = {"new",  "free",   "fork",   "truncate",  "step",    "wrong step",
                                      "save", "cancel", "encode", "no memory", "forward", "profile"};
constexpr int weights[kinds] = {14, 8, 10, 10, 34, 5, 8, 4, 10, 4, 4, 1};

Kind someKind(std::mt19937_64 &random) {
  int total = 0, at = 0;
  for (int weight : weights)
    total += weight;
  int left = int(random() % uint64_t(total));
  while (left >= weights[at])
    left -= weights[at++];
  return Kind(at);
}

} // namespace

Program rapt::programs::makeProgram(uint64_t seed) {
  std::mt19937_64 random(seed);
  Program program{seed, {}};
  for (size_t length = 4 + random() % 40; length; --length) {
    Call call{someKind(random), {}};
    for (uint32_t &number : call.numbers)
      number = uint32_t(random());
    program.calls.push_back(call);
  }
  return program;
}

std::string rapt::programs::show(const Program &program) {
  std::string text;
  char line[128];
  for (const Call &call : program.calls) {
    snprintf(line, sizeof line, "  %s %u %u %u %u\n", names[int(call.kind)], call.numbers[0], call.numbers[1],
             call.numbers[2], call.numbers[3]);
    text += line;
  }
  return text;
}
