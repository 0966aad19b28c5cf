//===- ScalarsToLLVM.cpp - Scalars and branches of kernels become the LLVM dialect ---------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGPUSCALARSTOLLVM
#include "lib/Target/GPU/NVIDIA/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct ScalarsToLLVM : rapt::impl::AttnGPUScalarsToLLVMBase<ScalarsToLLVM> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Backend)))
      return signalPassFailure();
    constexpr unsigned kIndexBits = 32;
    LowerToLLVMOptions options(&getContext());
    options.overrideIndexBitwidth(kIndexBits);
    LLVMTypeConverter converter(&getContext(), options);
    RewritePatternSet patterns(&getContext());
    arith::populateArithToLLVMConversionPatterns(converter, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
    populateMathToLLVMConversionPatterns(converter, patterns);
    LLVMConversionTarget target(getContext());
    target.addLegalDialect<gpu::GPUDialect, NVVM::NVVMDialect>();
    target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, math::MathDialect>();
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
