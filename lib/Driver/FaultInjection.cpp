//===- FaultInjection.cpp - Bugs on request ----------------------------------------------------===//
#include "lib/Driver/FaultInjection.h"
#include "mlir/IR/BuiltinOps.h"
#include <csignal>
#include <cstdlib>
#include <unistd.h>

using namespace mlir;
using namespace rapt;
using namespace rapt::driver;

namespace {

/// Takes all of the stack, unless `above` counts to 0.
[[gnu::noinline]] unsigned exhaust(volatile unsigned *above) {
  volatile unsigned here[1024];
  here[0] = *above + 1;
  return here[0] == 0 ? 0 : exhaust(here) + here[0];
}

void act(StringRef kind) {
  if (kind == "abort")
    abort();
  if (kind == "segv")
    raise(SIGSEGV);
  if (kind == "overflow") {
    volatile unsigned start = 0;
    exit(int(exhaust(&start)));
  }
  while (kind == "wait")
    pause();
}

struct FaultyPass : PassWrapper<FaultyPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FaultyPass)
  explicit FaultyPass(StringRef kind) : kind(kind) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (kind == "fail") {
      module.emitError("failure on request");
      return signalPassFailure();
    }
    if (kind == "verify") // a symbol that is there twice
      for (Operation &op : *module.getBody())
        if (isa<SymbolOpInterface>(op))
          return (void)OpBuilder(module.getBody(), module.getBody()->end()).clone(op);
    act(kind);
  }

  std::string kind;
};

} // namespace

void driver::injectFault(const Options &options, StringRef place) {
  auto [kind, where] = StringRef(options.fault).split('@');
  if (where == place)
    act(kind);
}

std::unique_ptr<Pass> driver::makeFaultyPass(const Options &options, StringRef stage) {
  auto [kind, where] = StringRef(options.fault).split('@');
  return where == stage ? std::make_unique<FaultyPass>(kind) : nullptr;
}
