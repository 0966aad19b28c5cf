//===- main.cpp - raptc: compiles attention models --------------------------------===//
#include "lib/Driver/Compile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace rapt;

static int fail(const std::string &message, int status) {
  llvm::errs() << "raptc: error: " << message << "\n";
  return status;
}

int main(int argc, char **argv) {
  auto options = driver::parseOptions({argv + 1, argv + argc});
  if (!options)
    return fail(options.error().message, driver::WrongUsage);
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
  options->program = argv[0];
  return driver::compile(*options, llvm::sys::fs::getMainExecutable(argv[0], reinterpret_cast<void *>(&fail)));
}
