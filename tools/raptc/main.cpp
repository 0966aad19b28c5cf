//===- main.cpp - raptc: compiles attention models --------------------------------===//
#include "lib/Driver/Batch.h"
#include "lib/Driver/Compile.h"
#include "lib/Driver/Input.h"
#include "lib/Support/File.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace rapt;

static int fail(const std::string &message, int status) {
  llvm::errs() << "raptc: error: " << message << "\n";
  return status;
}

static int print(const std::string &text) {
  const Status written = writeStandardOutput(text);
  return written ? 0 : fail(written.error().message, driver::WrongInput);
}

/// Runs a command; `program` is argv[0]. Nothing follows it in this process where `endsProcess`.
static int run(const std::vector<std::string> &arguments, const char *program, bool isInBatch, bool endsProcess) {
  auto options = driver::parseOptions(arguments);
  if (!options)
    return fail(options.error().message, driver::WrongUsage);
  if (options->batch || options->batchInProcess) {
    if (isInBatch)
      return fail("a batch within a batch", driver::WrongUsage);
    return driver::runBatch("raptc", options->batch ? driver::BatchPlace::Child : driver::BatchPlace::Here,
                            [&](const auto &line) { return run(line, program, /*isInBatch=*/true, options->batch); });
  }
  if (options->help || options->helpHidden)
    return print(driver::helpText(options->helpHidden));
  if (options->version)
    return print("raptc " RAPT_VERSION "\n");
  if (options->listFamilies)
    return print(driver::familyNames());
  if (options->listCpus) {
    auto names = driver::cpuNames(*options);
    if (!names)
      return fail(names.error().message, driver::WrongUsage);
    return print(*names);
  }
  options->program = program;
  if (Status taken = driver::takeStream(*options); !taken)
    return fail(taken.error().message, driver::WrongInput);
  return driver::compile(*options, llvm::sys::fs::getMainExecutable(program, reinterpret_cast<void *>(&fail)),
                         endsProcess);
}

int main(int argc, char **argv) {
  return run({argv + 1, argv + argc}, argv[0], /*isInBatch=*/false, /*endsProcess=*/true);
}
