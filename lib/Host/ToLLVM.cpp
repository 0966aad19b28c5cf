//===- ToLLVM.cpp - The last conversion --------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Host/LowerDispatches.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMInterface.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNTOLLVM
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Vectors of bf16 go through memory as integers. Where a buffer becomes a register LLVM takes its vectors apart, and
/// on processors without instructions on bf16 it would round each part again, by a function.
void moveAsIntegers(ModuleOp module) {
  auto integers = [](Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector && vector.getElementType().isBF16() ? vector.clone(IntegerType::get(type.getContext(), 16))
                                                      : VectorType();
  };
  module.walk([&](Operation *op) {
    OpBuilder b(op);
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      Type type = load.getType();
      if (VectorType moved = integers(type)) {
        load.getResult().setType(moved);
        b.setInsertionPointAfter(load);
        auto cast = LLVM::BitcastOp::create(b, load.getLoc(), type, load.getResult());
        load.getResult().replaceAllUsesExcept(cast, cast);
      }
    } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
      if (VectorType moved = integers(store.getValue().getType()))
        store.getValueMutable().assign(LLVM::BitcastOp::create(b, store.getLoc(), moved, store.getValue()));
    }
  });
}

struct ToLLVM : rapt::impl::AttnToLLVMBase<ToLLVM> {
  using AttnToLLVMBase::AttnToLLVMBase;
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Backend)))
      return signalPassFailure();
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    LLVMTypeConverter converter(context, options);
    RewritePatternSet patterns(context);
    populateAffineToStdConversionPatterns(patterns);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateFuncToLLVMConversionPatterns(converter, patterns);
    index::populateIndexToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
    populateVectorToLLVMConversionPatterns(converter, patterns);
    ub::populateUBToLLVMConversionPatterns(converter, patterns);
    const host::KernelTable kernels(getOperation());
    host::populateDispatchPatterns(converter, kernels, patterns);
    LLVMConversionTarget target(*context);
    for (const std::string &name : kept)
      target.addLegalDialect(name);
    for (StringRef name : dialects) {
      Dialect *dialect = context->getOrLoadDialect(name);
      auto *conversion = dialect ? dyn_cast<ConvertToLLVMPatternInterface>(dialect) : nullptr;
      if (!conversion) {
        emitError(getOperation().getLoc()) << "the dialect '" << name << "' has no conversion to the llvm dialect";
        return signalPassFailure();
      }
      conversion->populateConvertToLLVMConversionPatterns(target, converter, patterns);
    }
    // Declarations of weights and dims stay: the manifest is written from them, whichever stage compilation starts
    // from.
    target.addLegalOp<ModuleOp, UnrealizedConversionCastOp, attn::ParameterOp, attn::DimOp>();
    host::splitAfterDispatches(getOperation());
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    moveAsIntegers(getOperation());
  }
};

} // namespace
