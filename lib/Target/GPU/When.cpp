//===- When.cpp - Branches of kernels -----------------------------------------------------===//
#include "lib/Target/GPU/When.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

void rapt::any_gpu::when(ImplicitLocOpBuilder &b, Value condition, function_ref<void()> code,
                         function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/bool(otherwise));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  code();
  if (!otherwise)
    return;
  b.setInsertionPointToStart(branch.elseBlock());
  otherwise();
}
