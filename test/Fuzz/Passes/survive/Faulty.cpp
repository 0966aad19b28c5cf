//===- Faulty.cpp - A pass that fails, to see that faults are found --------------------------===//
#include "Faulty.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {
struct Faulty : PassWrapper<Faulty, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(Faulty)
  StringRef getArgument() const final { return "survive-test-fault"; }
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (isa<rapt::attn::LinearOp>(op))
        abort();
      if (isa<mlir::arith::AddFOp>(op))
        signalPassFailure();
    });
  }
};
} // namespace

void survive::registerFaultyPass() { PassRegistration<Faulty>(); }
