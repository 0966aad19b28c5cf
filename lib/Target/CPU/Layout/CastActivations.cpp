//===- CastActivations.cpp - Activations of bf16 dot-product matmuls ---------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCASTACTIVATIONS
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct CastActivations : rapt::impl::AttnCastActivationsBase<CastActivations> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    if (!TargetInfo::of(getOperation()).hasBf16Matmul())
      return;
    llvm::DenseMap<Value, Value> casts;
    getOperation().walk([&](attn::LinearOp matmul) {
      RankedTensorType input = matmul.getInput().getType();
      if (!attn_cpu::isInterleaved(matmul.getLayout()) || !input.getElementType().isF32() || input.isDynamicDim(1))
        return;
      Value &rows = casts[matmul.getInput()];
      if (!rows) {
        OpBuilder b(&getContext());
        b.setInsertionPointAfterValue(matmul.getInput());
        auto type =
            RankedTensorType::get({input.getDimSize(0), attn_cpu::padToPanel(input.getDimSize(1))}, b.getBF16Type());
        rows = attn_cpu::CastRowsOp::create(b, matmul.getInput().getLoc(), type, matmul.getInput());
      }
      matmul.getInputMutable().assign(rows);
    });
  }
};

} // namespace
