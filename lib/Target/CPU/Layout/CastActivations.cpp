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
      const int64_t columns = input.getShape().back();
      if (!attn_cpu::isInterleaved(matmul.getLayout()) || !input.getElementType().isF32() ||
          ShapedType::isDynamic(columns))
        return;
      Value &rows = casts[matmul.getInput()];
      if (!rows) {
        OpBuilder b(&getContext());
        b.setInsertionPointAfterValue(matmul.getInput());
        SmallVector<int64_t> shape(input.getShape());
        shape.back() = attn_cpu::padToPanel(columns);
        rows = attn_cpu::CastRowsOp::create(b, matmul.getInput().getLoc(),
                                            RankedTensorType::get(shape, b.getBF16Type()), matmul.getInput());
      }
      matmul.getInputMutable().assign(rows);
    });
  }
};

} // namespace
