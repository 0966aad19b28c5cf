//===- VerifyBackend.cpp - Contract of the stage backend -----------------------------===//
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYBACKEND
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct VerifyBackend : rapt::impl::AttnVerifyBackendBase<VerifyBackend> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), {Stage::Tiled, Stage::Backend})))
      return signalPassFailure();
    if (failed(verifyEach(getOperation(), [](Operation *op) -> LogicalResult {
          if (isa<memref::AllocOp, memref::CopyOp>(op))
            return op->emitOpError(
                "is left: the backend stage promises code that neither allocates nor copies buffers");
          if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
            return op->emitOpError("gives a tensor: the backend stage promises buffers");
          return success();
        })))
      signalPassFailure();
  }
};

} // namespace
