//===- VerifyLaidOut.cpp - Verifies the contract of the stage laid-out --------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Layout/VerifyLayouts.h"
#include "lib/Target/CPU/Schedule/Fusions.h"
#include "lib/Target/CPU/Schedule/Passes.h"
#include "lib/Target/CPU/Schedule/Verify.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYLAIDOUT
#include "lib/Target/CPU/Schedule/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct VerifyLaidOut : rapt::impl::AttnVerifyLaidOutBase<VerifyLaidOut> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), {Stage::Canonical, Stage::LaidOut})))
      return signalPassFailure();
    if (failed(verifyTarget(getOperation(), Stage::LaidOut)) ||
        failed(verifyEach(getOperation(),
                          [](Operation *op) -> LogicalResult {
                            if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<attn::KVCacheType>))
                              return op->emitOpError(
                                  "gives a cache without a layout, which the laid-out stage promises");
                            if (isa<attn_cpu::AttnCPUDialect>(op->getDialect()) && !isa<attn_cpu::CastRowsOp>(op))
                              return op->emitOpError("is an op of tiles, which the laid-out stage must not have");
                            if (failed(verifyDialects<attn::AttnDialect, attn_cpu::AttnCPUDialect, arith::ArithDialect,
                                                      func::FuncDialect, linalg::LinalgDialect, math::MathDialect,
                                                      scf::SCFDialect, tensor::TensorDialect>(op, Stage::LaidOut)))
                              return failure();
                            return verifyTypes(op, Stage::LaidOut);
                          })) ||
        failed(cpu::verifyLayouts(getOperation())) || failed(cpu::verifyModuleSchedule(getOperation())) ||
        failed(cpu::verifySchedules(getOperation())) || failed(cpu::verifyFusions(getOperation())))
      signalPassFailure();
  }
};

} // namespace
