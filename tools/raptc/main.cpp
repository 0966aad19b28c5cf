//===- main.cpp - raptc: compiles attention models --------------------------------===//
#include "lib/Driver/Batch.h"
#include "lib/Driver/Compile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace rapt;

static int fail(const std::string &message, int status) {
  llvm::errs() << "raptc: error: " << message << "\n";
  return status;
}

/// Runs a command; `program` is argv[0].
static int run(const std::vector<std::string> &arguments, const char *program, bool isInBatch) {
  auto options = driver::parseOptions(arguments);
  if (!options)
    return fail(options.error().message, driver::WrongUsage);
  if (options->batch && isInBatch)
    return fail("--batch within a batch", driver::WrongUsage);
  if (options->batch)
    return driver::runBatch("raptc", [&](const auto &line) { return run(line, program, /*isInBatch=*/true); });
  if (options->help || options->helpHidden) {
    llvm::outs() << driver::helpText(options->helpHidden);
    return 0;
  }
  if (options->version) {
    llvm::outs() << "raptc " RAPT_VERSION "\n";
    return 0;
  }
  if (options->listFamilies) {
    llvm::outs() << driver::familyNames();
    return 0;
  }
  if (options->listCpus) {
    auto names = driver::cpuNames(*options);
    if (!names)
      return fail(names.error().message, driver::WrongUsage);
    llvm::outs() << *names;
    return 0;
  }
  options->program = program;
  return driver::compile(*options, llvm::sys::fs::getMainExecutable(program, reinterpret_cast<void *>(&fail)));
}

int main(int argc, char **argv) { return run({argv + 1, argv + argc}, argv[0], /*isInBatch=*/false); }
