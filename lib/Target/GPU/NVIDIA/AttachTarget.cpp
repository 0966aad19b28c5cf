//===- AttachTarget.cpp - GPU modules get their architecture -----------------------------===//
#include "lib/Target/GPU/NVIDIA/Architecture.h"
#include "lib/Target/GPU/NVIDIA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDAATTACHTARGET
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct AttachTarget : rapt::impl::AttnCUDAAttachTargetBase<AttachTarget> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkStage(*this, module, Stage::Tiled)))
      return signalPassFailure();
    if (failed(cuda::verifyArchitecture(module)))
      return signalPassFailure();
    ArrayAttr targets = ArrayAttr::get(&getContext(), cuda::nvvmTarget(TargetInfo::of(module), &getContext()));
    for (auto kernels : module.getOps<gpu::GPUModuleOp>())
      kernels.setTargetsAttr(targets);
  }
};

} // namespace
