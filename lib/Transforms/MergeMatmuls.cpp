//===- MergeMatmuls.cpp - Runs the rule that merges matmuls of one input -----------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Fusion/Fusion.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNMERGEMATMULS
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

namespace {
struct MergeMatmuls : rapt::impl::AttnMergeMatmulsBase<MergeMatmuls> {
  void runOnOperation() override {
    if (failed(rapt::checkStage(*this, getOperation(), rapt::Stage::Imported)))
      return signalPassFailure();
    rapt::mergeMatmuls(getOperation());
    // The arrays of kernels are the caller's, whose columns another pass pads.
    if (!rapt::attn::isKernelModule(getOperation()))
      rapt::fuseRotations(getOperation());
  }
};
} // namespace
