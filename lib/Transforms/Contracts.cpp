//===- Contracts.cpp - What each stage promises to the next ----------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYIMPORTED
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Entries name every argument and result, for they become the buffers of the artifact.
LogicalResult verifyEntry(func::FuncOp entry) {
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (!entry.getArgAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr))
      return entry.emitOpError() << "argument " << i << " of an entry needs " << attn::AttnDialect::nameAttr;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (!entry.getResultAttrOfType<StringAttr>(i, attn::AttnDialect::nameAttr))
      return entry.emitOpError() << "result " << i << " of an entry needs " << attn::AttnDialect::nameAttr;
  return success();
}

struct VerifyImported : rapt::impl::AttnVerifyImportedBase<VerifyImported> {
  void runOnOperation() override {
    WalkResult result = getOperation().walk([](Operation *op) {
      if (auto entry = dyn_cast<func::FuncOp>(op); entry && entry->hasAttr(attn::AttnDialect::entryAttr))
        return failed(verifyEntry(entry)) ? WalkResult::interrupt() : WalkResult::advance();
      if (isa<attn::AttnDialect, arith::ArithDialect, math::MathDialect, func::FuncDialect>(op->getDialect()) ||
          isa<ModuleOp, scf::ForOp, scf::YieldOp, tensor::DimOp, tensor::EmptyOp>(op))
        return WalkResult::advance();
      op->emitOpError(
          "is not of the imported stage (attn, func, scf.for, tensor.dim, tensor.empty, scalar arith and math)");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
