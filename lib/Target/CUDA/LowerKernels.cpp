//===- LowerKernels.cpp - Kernels take one struct by value -------------------------------===//
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Host/LowerDispatches.h"
#include "lib/Target/CUDA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDALOWERKERNELS
#include "lib/Target/CUDA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Function Parameters".
constexpr int64_t kMostThreads = 1024, kMostArgumentBytes = 4096;

LogicalResult lowerKernel(LLVM::LLVMFuncOp kernel, DictionaryAttr facts) {
  auto threads = facts.getAs<IntegerAttr>("threads");
  if (kernel.isExternal() || !threads || threads.getInt() < 1 || threads.getInt() > kMostThreads)
    return kernel.emitOpError() << "is a kernel, which needs code and from 1 to " << kMostThreads << " threads";
  auto type = LLVM::LLVMStructType::getLiteral(kernel.getContext(), llvm::to_vector(kernel.getArgumentTypes()));
  const int64_t bytes = host::argumentBytes(kernel.getArgumentTypes());
  if (bytes > kMostArgumentBytes)
    return kernel.emitOpError() << "takes " << bytes << " bytes of arguments; a kernel can take " << kMostArgumentBytes;
  Block &body = kernel.getBody().front();
  ImplicitLocOpBuilder b = ImplicitLocOpBuilder::atBlockBegin(kernel.getLoc(), &body);
  auto pointer = LLVM::LLVMPointerType::get(kernel.getContext());
  const unsigned count = body.getNumArguments();
  Value arguments = body.addArgument(pointer, kernel.getLoc());
  for (unsigned i = 0; i < count; ++i) {
    BlockArgument argument = body.getArgument(i);
    Value field = LLVM::GEPOp::create(b, pointer, type, arguments, ArrayRef<LLVM::GEPArg>{0, int32_t(i)});
    argument.replaceAllUsesWith(LLVM::LoadOp::create(b, argument.getType(), field));
  }
  body.eraseArguments(0, count);
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(kernel.getFunctionType().getReturnType(), {pointer}));
  kernel.removeArgAttrsAttr();
  kernel.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
  kernel.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(8));
  kernel->removeAttr(attn_host::AttnHostDialect::kernelAttr);
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr({int32_t(threads.getInt()), 1, 1}));
  return success();
}

struct LowerKernels : rapt::impl::AttnCUDALowerKernelsBase<LowerKernels> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Backend)))
      return signalPassFailure();
    for (auto kernels : getOperation().getOps<gpu::GPUModuleOp>())
      for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
        auto facts = function->getAttrOfType<DictionaryAttr>(attn_host::AttnHostDialect::kernelAttr);
        if (facts && failed(lowerKernel(function, facts)))
          return signalPassFailure();
        if (facts || function.isExternal())
          continue;
        function.setLinkage(LLVM::Linkage::Internal);
        function.setAlwaysInline(true);
      }
  }
};

} // namespace
