//===- VerifyBackend.cpp - Contract of the stage backend -----------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYBACKEND
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Whether a result of `op` or an argument of its blocks is a tensor.
bool givesTensor(Operation *op) {
  const auto isTensor = [](Type type) { return isa<TensorType>(type); };
  return llvm::any_of(op->getResultTypes(), isTensor) || llvm::any_of(op->getRegions(), [&](Region &region) {
           return llvm::any_of(region, [&](Block &block) { return llvm::any_of(block.getArgumentTypes(), isTensor); });
         });
}

struct VerifyBackend : rapt::impl::AttnVerifyBackendBase<VerifyBackend> {
  using AttnVerifyBackendBase::AttnVerifyBackendBase;
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), {Stage::Tiled, Stage::Backend})))
      return signalPassFailure();
    if (failed(verifyEach(getOperation(), [&](Operation *op) -> LogicalResult {
          if (isa<memref::AllocOp, memref::ReallocOp, memref::DeallocOp, memref::CopyOp>(op))
            return op->emitOpError(
                "is left: the backend stage promises code that neither allocates nor copies buffers");
          if (auto stack = dyn_cast<memref::AllocaOp>(op); stack && !stack.getType().hasStaticShape())
            return op->emitOpError() << "puts " << stack.getType()
                                     << " on the stack: the backend stage promises static shapes there";
          if (isa<scf::ForallOp, scf::ParallelOp>(op))
            return op->emitOpError("is left: the backend stage promises tasks that attn_host.parallel_for calls");
          if (isa<attn::AttnDialect>(op->getDialect()) && !op->hasTrait<attn::StaysInHostProgram>())
            return op->emitOpError("is left: the backend stage promises vectors");
          if (givesTensor(op))
            return op->emitOpError("gives a tensor: the backend stage promises buffers");
          if (llvm::is_contained(dialects, op->getName().getDialectNamespace()))
            return success();
          return verifyDialects<attn::AttnDialect, attn_host::AttnHostDialect, affine::AffineDialect,
                                arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                                memref::MemRefDialect, scf::SCFDialect, ub::UBDialect, vector::VectorDialect>(
              op, Stage::Backend);
        })))
      signalPassFailure();
  }
};

} // namespace
