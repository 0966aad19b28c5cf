// The command line is lib/Bench.
// Measures compiled models and kernels, each figure beside the limit of the machine.
#include "lib/Bench/BenchRun.h"
#include <cstdio>

using namespace rapt;
using namespace rapt::bench;

int main(int argc, char **argv) {
  Expected<Options> options = parseOptions(argc, argv);
  if (!options) {
    fprintf(stderr, "rapt-bench: error: %s\n", options.error().message.c_str());
    return 2;
  }
  if (options->help || options->version) {
    const std::string text = options->help ? helpText() : std::string("rapt-bench ") + rapt_version() + "\n";
    return fputs(text.c_str(), stdout) == EOF || fflush(stdout) == EOF;
  }
  return runBenchmarks(*options);
}
