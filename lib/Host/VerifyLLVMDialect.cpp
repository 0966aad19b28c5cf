//===- VerifyLLVMDialect.cpp - Contract of the stage llvm-dialect ----------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVERIFYLLVMDIALECT
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct VerifyLLVMDialect : rapt::impl::AttnVerifyLLVMDialectBase<VerifyLLVMDialect> {
  using AttnVerifyLLVMDialectBase::AttnVerifyLLVMDialectBase;
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), {Stage::Backend, Stage::LLVMDialect})))
      return signalPassFailure();
    if (failed(verifyEach(getOperation(), [&](Operation *op) -> LogicalResult {
          if (isa<attn::AttnDialect>(op->getDialect()) && !isa<attn::ParameterOp, attn::DimOp>(op))
            return op->emitOpError("is left: the llvm-dialect stage promises declarations alone");
          if (op->hasAttr(attn::AttnDialect::entryAttr) && !op->hasAttr(attn::AttnDialect::buffersAttr))
            return op->emitOpError() << "is an entry without " << attn::AttnDialect::buffersAttr
                                     << ", which the llvm-dialect stage promises";
          if (isa<UnrealizedConversionCastOp>(op))
            return op->emitOpError("is left by a conversion: the llvm-dialect stage promises its types alone");
          if (llvm::is_contained(dialects, op->getName().getDialectNamespace()))
            return success();
          return verifyDialects<attn::AttnDialect, LLVM::LLVMDialect>(op, Stage::LLVMDialect);
        })))
      signalPassFailure();
  }
};

} // namespace
