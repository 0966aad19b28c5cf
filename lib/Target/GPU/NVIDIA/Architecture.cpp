//===- Architecture.cpp - Architectures of GPUs ------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Architecture.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace rapt;

// The version of PTX decides the oldest driver: 8.0 is that of CUDA 12.0, 8.6 that of CUDA 12.7, which has copies by
// TMA to the memory of one thread block.
static constexpr StringRef kFeatures = "+ptx80", kExactFeatures = "+ptx86";
static constexpr StringRef kArchitectures[] = {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a"};

static constexpr int64_t kOverlapArch = 90; ///< the first with griddepcontrol

ArrayRef<StringRef> cuda::architectures() { return kArchitectures; }

TargetInfo cuda::capabilitiesOf(StringRef architecture) {
  TargetInfo info;
  info.vectorBytes = 16;
  info.deviceExact = architecture.consume_back("a");
  architecture.consume_front("sm_");
  architecture.getAsInteger(10, info.deviceArch);
  info.kernelsOverlap = info.deviceArch >= kOverlapArch;
  return info;
}

std::string cuda::nameOf(const TargetInfo &capabilities) {
  return "sm_" + std::to_string(capabilities.deviceArch) + (capabilities.deviceExact ? "a" : "");
}

LogicalResult cuda::verifyArchitecture(ModuleOp module) {
  const std::string name = nameOf(TargetInfo::of(module));
  if (llvm::is_contained(kArchitectures, name))
    return success();
  InFlightDiagnostic error = module.emitError("attn.target names the architecture ");
  error << name << "; known are ";
  llvm::interleaveComma(kArchitectures, error);
  return error;
}

Attribute cuda::nvvmTarget(const TargetInfo &capabilities, MLIRContext *context) {
  return NVVM::NVVMTargetAttr::get(context, /*optLevel=*/3, "nvptx64-nvidia-cuda", nameOf(capabilities),
                                   capabilities.deviceExact ? kExactFeatures : kFeatures);
}
