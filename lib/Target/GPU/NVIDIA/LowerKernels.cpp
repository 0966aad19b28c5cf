//===- LowerKernels.cpp - Kernels take one struct by value -------------------------------===//
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Host/LowerDispatches.h"
#include "lib/Target/GPU/NVIDIA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDALOWERKERNELS
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and "Function Parameters".
constexpr int64_t kMostThreads = 1024, kMostArgumentBytes = 4096;

/// Sets that loops are not unrolled.
void keepLoops(LLVM::LLVMFuncOp function) {
  auto never = LLVM::LoopUnrollAttr::get(function.getContext(), /*disable=*/BoolAttr::get(function.getContext(), true),
                                         {}, {}, {}, {}, {}, {});
  auto annotation = LLVM::LoopAnnotationAttr::get(function.getContext(), {}, {}, {}, never, {}, {}, {}, {}, {}, {}, {},
                                                  {}, {}, {}, {});
  DominanceInfo dominance(function);
  for (Block &block : function.getBody()) {
    Operation *end = block.getTerminator();
    const bool isBack = llvm::any_of(end->getSuccessors(), [&](Block *to) { return dominance.dominates(to, &block); });
    if (auto branch = dyn_cast<LLVM::BrOp>(end); branch && isBack)
      branch.setLoopAnnotationAttr(annotation);
    else if (auto choice = dyn_cast<LLVM::CondBrOp>(end); choice && isBack)
      choice.setLoopAnnotationAttr(annotation);
  }
}

/// Keeps what the schedule of a kernel with shared memory has decided. LLVM would unroll the loops over a known number
/// of steps, and ptxas spill registers for more blocks than shared memory lets a multiprocessor have, which it does not
/// know. Where warpgroups set their own numbers of registers it spills less without being told.
void keepSchedule(LLVM::LLVMFuncOp kernel) {
  SmallVector<LLVM::LLVMFuncOp> functions{kernel};
  kernel.walk([&](LLVM::CallOp call) {
    if (auto callee = call.getCallee()
                          ? SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(call, call.getCalleeAttr())
                          : LLVM::LLVMFuncOp();
        callee && !callee.isExternal())
      functions.push_back(callee);
  });
  bool setsRegisters = false;
  for (LLVM::LLVMFuncOp function : functions) {
    keepLoops(function);
    function.walk([&](NVVM::SetMaxRegisterOp) { setsRegisters = true; });
  }
  if (!setsRegisters)
    kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    IntegerAttr::get(IntegerType::get(kernel.getContext(), 32), 1));
}

LogicalResult lowerKernel(LLVM::LLVMFuncOp kernel, attn_host::KernelAttr facts) {
  const int64_t threads = facts.getThreads();
  if (kernel.isExternal() || threads < 1 || threads > kMostThreads)
    return kernel.emitOpError() << "is a kernel, which needs code and from 1 to " << kMostThreads << " threads";
  const auto mapCount = unsigned(std::min<int64_t>(facts.getMaps(), kernel.getNumArguments()));
  SmallVector<Type> fields(kernel.getArgumentTypes());
  std::fill_n(fields.begin(), mapCount, host::tensorMapType(kernel.getContext()));
  auto type = LLVM::LLVMStructType::getLiteral(kernel.getContext(), fields);
  const int64_t bytes = host::argumentBytes(fields);
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
    if (i >= mapCount)
      field = LLVM::LoadOp::create(b, argument.getType(), field);
    argument.replaceAllUsesWith(field);
  }
  body.eraseArguments(0, count);
  // The kernel behind this one may have its thread blocks wait, too, as soon as all of this one's have started.
  if (facts.getOverlaps())
    NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
  kernel.setFunctionType(LLVM::LLVMFunctionType::get(kernel.getFunctionType().getReturnType(), {pointer}));
  kernel.removeArgAttrsAttr();
  kernel.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(type));
  kernel.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(mapCount ? 64 : 8));
  if (mapCount) // hardware reads them where they are
    kernel.setArgAttr(0, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  kernel->removeAttr(attn_host::AttnHostDialect::kernelAttr);
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), b.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  if (facts.getShared() > 0)
    keepSchedule(kernel);
  return success();
}

struct LowerKernels : rapt::impl::AttnCUDALowerKernelsBase<LowerKernels> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Backend)))
      return signalPassFailure();
    for (auto kernels : getOperation().getOps<gpu::GPUModuleOp>())
      for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
        auto facts = function->getAttrOfType<attn_host::KernelAttr>(attn_host::AttnHostDialect::kernelAttr);
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
