//===- VerifyLaidOut.cpp - Contract of the stage laid-out --------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/Transforms/StageContract.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYLAIDOUT
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct VerifyLaidOut : rapt::impl::AttnVerifyLaidOutBase<VerifyLaidOut> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), {Stage::Canonical, Stage::LaidOut})))
      return signalPassFailure();
    if (failed(verifyEach(getOperation(), [](Operation *op) -> LogicalResult {
          auto parameter = dyn_cast<attn::ParameterOp>(op);
          if (parameter && (!parameter.getLayout() || !parameter.getOffset() || !parameter.getStride()))
            return op->emitOpError("has no layout, offset and stride, which the laid-out stage promises");
          if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<attn::KVCacheType>))
            return op->emitOpError("gives a cache without a layout, which the laid-out stage promises");
          return success();
        })))
      signalPassFailure();
  }
};

} // namespace
