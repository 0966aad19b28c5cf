// The command line is lib/Generation/CommandLine.
// Runs compiled models: text, images, vectors, tensors, perplexity, or a card that says what the model is.
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Generation/CommandLine/Text.h"

using namespace rapt::run;

static int run(const Options &options) {
  const bool isAbout = options.info || !options.hasWork();
  return isAbout && options.inputs.empty() ? printCard(options) : runTask(options);
}

int main(int argc, char **argv) {
  auto options = parseOptions(argc, argv);
  if (!options)
    return fail(options.error().message, exitUsage);
  if (auto status = takeStandardInput(*options); !status)
    return fail(status.error().message);
  if (auto status = checkOptions(*options); !status)
    return fail(status.error().message, exitUsage);
  if (options->help || options->version) {
    auto status = print(options->help ? helpText() : std::string("rapt-run ") + rapt_version() + "\n");
    return status ? 0 : fail(status.error().message);
  }
  if (!options->reference.empty())
    return runReference(*options, argv[0]);
  if (auto status = checkLibrary(options->library); !status)
    return fail(status.error().message);
  int code = run(*options);
  return options->profile ? reportProfile(*options->profile, code) : code;
}
