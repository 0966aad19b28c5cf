// The command line is lib/Bench.
// Measures compiled models and kernels, each figure beside the limit of the machine.
#include "lib/Bench/BenchRun.h"
#include "lib/Support/File.h"
#include <cstdio>

using namespace rapt;
using namespace rapt::bench;

static int fail(const std::string &message, int status) {
  fprintf(stderr, "rapt-bench: error: %s\n", message.c_str());
  return status;
}

int main(int argc, char **argv) {
  Expected<Options> options = parseOptions(argc, argv);
  if (!options)
    return fail(options.error().message, 2);
  if (options->help || options->version) {
    const std::string text = options->help ? helpText() : std::string("rapt-bench ") + rapt_version() + "\n";
    const Status written = writeStandardOutput(text);
    return written ? 0 : fail(written.error().message, 1);
  }
  return runBenchmarks(*options);
}
