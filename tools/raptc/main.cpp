//===- main.cpp - raptc: compiles attention models --------------------------------===//
#include "lib/Artifact/StagedFile.h"
#include "lib/Driver/Compile.h"
#include "lib/Import/Import.h"
#include "lib/Target/CPU/Emit.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <unistd.h>

using namespace rapt;

/// Ctrl-C leaves no temporary file.
static void leave(int signal) {
  artifact::StagedFile::discardAll();
  _exit(128 + signal);
}

static int fail(const std::string &message, int status) {
  llvm::errs() << "raptc: error: " << message << "\n";
  return status;
}

int main(int argc, char **argv) {
  signal(SIGXFSZ, SIG_IGN); // the write fails and is reported with the limit
  signal(SIGINT, leave);
  signal(SIGTERM, leave);
  auto options = driver::parseOptions({argv + 1, argv + argc});
  if (!options)
    return fail(options.error().message, 2);
  if (options->help || options->helpHidden) {
    llvm::outs() << driver::helpText(options->helpHidden);
    return 0;
  }
  if (options->version) {
    llvm::outs() << "raptc " RAPT_VERSION "\n";
    return 0;
  }
  if (options->listFamilies) {
    for (std::string_view family : listFamilies())
      llvm::outs() << family << "\n";
    return 0;
  }
  if (options->cpu == "help") {
    for (const std::string &cpu : cpu::listCpus())
      llvm::outs() << cpu << "\n";
    return 0;
  }
  if (Status status = driver::compileStage(*options, llvm::outs(), llvm::errs()); !status)
    return fail(status.error().message, 1);
  return 0;
}
