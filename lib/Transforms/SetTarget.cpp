//===- SetTarget.cpp - Target, stage and storage become part of the IR ------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNSETTARGET
#define GEN_PASS_DEF_ATTNSETSTAGE
#define GEN_PASS_DEF_ATTNSELECTSTORAGE
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct SetTarget : rapt::impl::AttnSetTargetBase<SetTarget> {
  using AttnSetTargetBase::AttnSetTargetBase;
  void runOnOperation() override {
    TargetInfo info;
    info.vectorBytes = vectorBytes;
    info.vectorRegisters = vectorRegisters;
    info.byteDot = byteDot;
    info.bf16Dot = bf16Dot;
    info.amxBf16 = amxBf16;
    info.amxInt8 = amxInt8;
    info.emulated = emulated;
    getOperation()->setAttr(attn::AttnDialect::targetAttr, info.toAttr(&getContext()));
  }
};

struct SetStage : rapt::impl::AttnSetStageBase<SetStage> {
  using AttnSetStageBase::AttnSetStageBase;
  void runOnOperation() override {
    getOperation()->setAttr(attn::AttnDialect::stageAttr, StringAttr::get(&getContext(), stage));
  }
};

struct SelectStorage : rapt::impl::AttnSelectStorageBase<SelectStorage> {
  using AttnSelectStorageBase::AttnSelectStorageBase;
  void runOnOperation() override {
    Builder b(&getContext());
    Type type = llvm::StringSwitch<Type>(dtype)
                    .Case("f32", b.getF32Type())
                    .Case("bf16", b.getBF16Type())
                    .Case("f16", b.getF16Type())
                    .Default({});
    if (!type) {
      getOperation().emitError() << "storage type must be f32, bf16 or f16, found '" << dtype << "'";
      return signalPassFailure();
    }
    auto retype = [&](RankedTensorType old) { return RankedTensorType::get(old.getShape(), type); };
    llvm::StringSet<> matrices, tables;
    getOperation().walk([&](attn::ParameterSliceOp slice) {
      if (llvm::any_of(slice->getUsers(), llvm::IsaPred<attn::AttentionOp, attn::AttentionWeightsOp>))
        tables.insert(slice.getParameter());
    });
    for (auto parameter : getOperation().getOps<attn::ParameterOp>()) {
      // Norms and biases are read as f32 vectors, tables of attention by element; their bytes do not matter.
      if (parameter.getSliceType().getRank() < 2 || tables.contains(parameter.getSymName()))
        continue;
      parameter.setType(retype(cast<RankedTensorType>(parameter.getType())));
      matrices.insert(parameter.getSymName());
    }
    getOperation().walk([&](attn::ParameterSliceOp slice) {
      if (matrices.contains(slice.getParameter()))
        slice.getValue().setType(retype(cast<RankedTensorType>(slice.getValue().getType())));
    });
  }
};

} // namespace
