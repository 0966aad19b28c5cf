//===- CUDA.cpp - The target of NVIDIA GPUs ----------------------------------------------===//
//
// The host program is that of every target; its dispatches are launches of kernels. An op
// without a schedule of its own takes the neutral decomposition, a point of its tiles to a
// thread.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Conversion/Passes.h"
#include "lib/Host/Passes.h"
#include "lib/Target/GPU/Bufferize.h"
#include "lib/Target/GPU/NVIDIA/Architecture.h"
#include "lib/Target/GPU/NVIDIA/Assembler.h"
#include "lib/Target/GPU/NVIDIA/Codegen/Passes.h"
#include "lib/Target/GPU/NVIDIA/Passes.h"
#include "lib/Target/GPU/Passes.h"
#include "lib/Target/Generic/Passes.h"
#include "lib/Target/Generic/RowTarget.h"
#include "lib/Target/Generic/Stages.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace rapt {
#define GEN_PASS_REGISTRATION
#include "lib/Target/GPU/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Target/GPU/NVIDIA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Dialects of device code in the host program's module.
const std::string kDeviceDialects[] = {"gpu", "nvvm"};
/// Those of kernels on fragments, besides.
const std::string kKernelDialects[] = {"attn_gpu", "gpu", "nvvm"};
constexpr int64_t kStack = 4096; ///< bytes of a thread's scratch in its local memory

class CUDATarget : public generic::RowTarget {
public:
  StringRef name() const override { return "cuda"; }
  StringRef device() const override { return "cuda"; }
  ArrayRef<StringRef> architectures() const override { return cuda::architectures(); }

  TargetInfo capabilities(const host::Machine &, StringRef, StringRef architecture) const override {
    return cuda::capabilitiesOf(architecture);
  }

  std::optional<artifact::Layout> layoutInFile(attn::ParameterLayoutInterface layout) const override {
    auto panels = dyn_cast<attn_gpu::QuantizedPanelsAttr>(layout);
    if (!panels)
      return std::nullopt;
    return artifact::Layout{artifact::Layout::Panels, /*columnGroup=*/0, panels.getRowGroup(), panels.getInterleave()};
  }

  void addPasses(OpPassManager &passes, Stage stage) const override {
    if (stage == Stage::LaidOut) {
      passes.addPass(createAttnGPUPairChannels());
      passes.addPass(createAttnGPUQuantizedLayout());
      AttnGenericLayoutOptions others;
      others.laidOut = true;
      passes.addPass(createAttnGenericLayout(others));
      AttnGenericScheduleOptions tiles;
      tiles.queries = tiles.rows = tiles.columns = 1;
      tiles.positions = tiles.channels = 1;
      tiles.keys = 8; // their scores, and the keys, are in local memory
      passes.addPass(createAttnGenericSchedule(tiles));
      passes.addPass(createAttnCUDASchedule());
    } else if (stage == Stage::Tiled) {
      passes.addPass(createAttnGPUTile());
      generic::addTiles(passes);
    } else if (stage == Stage::Backend) {
      generic::addBuffers(passes);
      passes.addPass(createAttnHostCodeToTasks());
      passes.addPass(createAttnOutlineParallel());
      AttnPlanMemoryOptions memory;
      memory.stack = kStack;
      passes.addPass(createAttnPlanMemory(memory));
      generic::addLoops(passes);
      passes.addPass(createAttnCUDATensorMaps());
      passes.addPass(createAttnGPUOutlineKernels());
      passes.addPass(createAttnCUDAAttachTarget());
      passes.addPass(createAttnCUDAExpand());
      addSimplification(passes);
    } else if (stage == Stage::LLVMDialect) {
      addLLVMDialect(passes);
    }
  }

  void addContract(OpPassManager &passes, Stage stage) const override {
    if (stage == Stage::LaidOut || stage == Stage::Tiled) {
      AttnVerifyGenericOptions contract;
      contract.tiled = stage == Stage::Tiled;
      contract.dialects.push_back("attn_gpu");
      passes.addPass(createAttnVerifyGeneric(contract));
    } else if (stage == Stage::Backend) {
      AttnVerifyBackendOptions contract;
      contract.dialects.assign(std::begin(kKernelDialects), std::end(kKernelDialects));
      passes.addPass(createAttnVerifyBackend(contract));
    } else {
      AttnVerifyLLVMDialectOptions contract;
      contract.dialects.assign(std::begin(kDeviceDialects), std::end(kDeviceDialects));
      passes.addPass(createAttnVerifyLLVMDialect(contract));
    }
  }

  std::string deviceSource(ModuleOp module) const override {
    std::string source;
    llvm::raw_string_ostream stream(source);
    if (gpu::GPUModuleOp kernels = onlyKernels(module))
      kernels->print(stream, OpPrintingFlags().useLocalScope().assumeVerified());
    return source;
  }

  void setDeviceText(ModuleOp module, StringRef text) const override {
    gpu::GPUModuleOp kernels = onlyKernels(module);
    OpBuilder b(kernels);
    auto object = gpu::ObjectAttr::get(b.getContext(), kernels.getTargetsAttr()[0], gpu::CompilationTarget::Assembly,
                                       b.getStringAttr(text), /*properties=*/nullptr, /*kernels=*/nullptr);
    gpu::BinaryOp::create(b, kernels.getLoc(), kernels.getName(), /*offloadingHandler=*/Attribute(),
                          b.getArrayAttr(Attribute(object)));
    kernels.erase();
  }

  void addDeviceCode(OpPassManager &passes) const override {
    GpuModuleToBinaryPassOptions binary;
    binary.compilationTarget = "isa";
    passes.addPass(createGpuModuleToBinaryPass(binary));
  }

  std::string deviceText(ModuleOp module) const override {
    std::string text;
    for (auto binary : module.getOps<gpu::BinaryOp>())
      for (auto object : binary.getObjects().getAsRange<gpu::ObjectAttr>())
        if (object.getFormat() == gpu::CompilationTarget::Assembly)
          text += object.getObject().getValue().rtrim('\0');
    return text;
  }

  Expected<std::string> findAssembler() const override { return cuda::findAssembler(cuda::assemblerFolders()); }
  Expected<std::string> assembleText(const std::string &assembler, StringRef text,
                                     StringRef architecture) const override {
    return cuda::assembleText(assembler, text, architecture);
  }
  Status assemble(ModuleOp module, AssembleText assembleText, bool keepsText) const override {
    return cuda::assemble(module, assembleText, keepsText);
  }

  void addEmission(OpPassManager &passes) const override { passes.addPass(createAttnCUDAEmbedCode()); }

  void registerDialects(DialectRegistry &registry) const override {
    cuda::registerCodegenDialects(registry);
    any_gpu::registerBufferizableOps(registry);
  }

  void registerPasses() const override {
    registerTargetGPUPasses();
    registerCUDAPasses();
    cuda::registerCodegenPasses();
  }

private:
  /// The module's kernels, where they are one module for one architecture.
  static gpu::GPUModuleOp onlyKernels(ModuleOp module) {
    auto all = module.getOps<gpu::GPUModuleOp>();
    const bool isOne =
        llvm::hasSingleElement(all) && (*all.begin()).getTargetsAttr() && (*all.begin()).getTargetsAttr().size() == 1;
    return isOne ? *all.begin() : gpu::GPUModuleOp();
  }

  /// In unrolled code most ops are equal to others: the canonicalizer is faster without them.
  static void addSimplification(OpPassManager &passes) {
    passes.addPass(createCSEPass());
    passes.addPass(createCanonicalizerPass());
  }

  static void addLLVMDialect(OpPassManager &passes) {
    OpPassManager &kernels = passes.nest<gpu::GPUModuleOp>();
    kernels.addPass(createAttnGPUToNVVM());
    addSimplification(kernels);
    passes.addPass(createAttnExpandMath());
    passes.addPass(createAttnLowerVectors());
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createLowerAffinePass());
    AttnToLLVMOptions conversion;
    conversion.kept.assign(std::begin(kDeviceDialects), std::end(kDeviceDialects));
    passes.addPass(createAttnToLLVM(conversion));
    passes.addPass(createReconcileUnrealizedCastsPass());
    addSimplification(passes);
    passes.addPass(createAttnCUDALowerKernels());
    passes.addPass(createAttnEmitEntries());
  }
};

} // namespace

namespace rapt::cuda {
const Target &target() {
  static const CUDATarget target;
  return target;
}
} // namespace rapt::cuda
