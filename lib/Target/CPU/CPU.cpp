//===- CPU.cpp - The CPU target ------------------------------------------------------===//
//
// CSE must not run between the creation of tensor.empty and bufferization: merged empty
// tensors would share a buffer, which bufferization resolves by copies.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/CacheLayout.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Conversion/Passes.h"
#include "lib/Host/Passes.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/Target/CPU/Schedule/Passes.h"
#include "lib/Target/CPU/Tile/Tiling.h"
#include "lib/Target/Target.h"
#include "lib/Transforms/Passes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/AMX/AMXDialect.h"
#include "mlir/Dialect/AMX/Transforms.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

namespace rapt {
#define GEN_PASS_REGISTRATION
#include "lib/Target/CPU/Codegen/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Target/CPU/Layout/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Target/CPU/Schedule/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "lib/Target/CPU/Tile/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {
/// The canonicalizer, restricted for compile time: one iteration, and no simplification of regions. Neither would find
/// more in this code, as passes create no equal or unreachable blocks.
std::unique_ptr<Pass> createFolding() {
  return createCanonicalizerPass(
      GreedyRewriteConfig().setMaxIterations(1).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled));
}

void addLaidOut(OpPassManager &passes) {
  passes.addPass(createAttnWidenActivations());
  passes.addPass(createAttnPadKernels());
  passes.addPass(createAttnMaterializeLayouts());
  passes.addPass(createAttnCastActivations());
  passes.addPass(createAttnBf16Attention());
  passes.addPass(createAttnCPUFuse());
  passes.addPass(createAttnCPUSchedule());
}

void addTiled(OpPassManager &passes) {
  passes.addPass(createAttnCPUTile());
  passes.addPass(createAttnTileLinalg());
  passes.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  passes.addPass(createCanonicalizerPass());
}

void addBackend(OpPassManager &passes) {
  passes.addPass(createAttnDecomposeAttention());
  passes.addPass(createAttnVectorize());
  passes.addPass(createAttnLowerEntries());
  passes.addPass(createFolding());
  passes.addPass(bufferization::createOneShotBufferizePass());
  passes.addPass(memref::createResolveRankedShapeTypeResultDimsPass()); // sizes of buffers become those of arguments
  passes.addPass(createFolding());
  passes.addPass(createCSEPass());
  passes.addPass(createFolding()); // erases copies of a buffer onto itself, whose sides CSE has made one value
  passes.addPass(createAttnLowerCopies());
  passes.addPass(createAttnOutlineParallel());
  passes.addPass(createAttnPlanMemory());
  passes.addPass(createFolding());
  passes.addPass(createAttnLowerMatmuls());
  passes.addPass(createAttnLowerQuantizedMatmuls());
  passes.addPass(createAttnLinalgToLoops());
  passes.addPass(createAttnEmulateMatrixInstructions());
}

void addLLVMDialect(OpPassManager &passes) {
  passes.addPass(createAttnCPUMathInstructions());
  passes.addPass(createAttnExpandMath());
  passes.addPass(createAttnLowerVectors());
  passes.addPass(createSCFToControlFlowPass());
  passes.addPass(createLowerAffinePass());
  AttnToLLVMOptions machine;
  machine.dialects = {"amx"};
  passes.addPass(createAttnToLLVM(machine));
  passes.addPass(createReconcileUnrealizedCastsPass());
  passes.addPass(createFolding());
  passes.addPass(createCSEPass());
  passes.addPass(createAttnEmitEntries());
}

class CPUTarget : public Target {
public:
  StringRef name() const override { return "cpu"; }

  llvm::ArrayRef<StringRef> emulatedUnits() const override {
    static constexpr StringRef units[] = {"amx", "bf16"};
    return units;
  }

  TargetInfo capabilities(const host::Machine &machine, StringRef emulated, StringRef) const override {
    TargetInfo info;
    info.vectorBytes = machine.vectorBytes();
    const bool isWide = info.vectorBytes == 64;
    info.vectorRegisters = isWide || machine.arch() == "aarch64" ? 32 : 16;
    info.amxBf16 = machine.has("amx-bf16") && isWide;
    info.amxInt8 = machine.has("amx-int8") && isWide;
    // Intel's processors since Sapphire Rapids start a vdpbf16ps every two cycles, which is half the rate of f32
    // multiply-adds; AMD's start two per cycle, twice that rate. avx512fp16 identifies Intel's: virtual machines show
    // it even where they hide AMX.
    info.bf16Dot = machine.has("avx512bf16") && isWide && !machine.has("amx-bf16") && !machine.has("avx512fp16");
    info.bf16Cast = machine.has("avx512bf16") && isWide;
    info.scaledReduce = machine.has("avx512dq") && isWide;
    if (!emulated.empty()) {
      info.emulated = true;
      info.bf16Cast = false;
      info.amxBf16 = info.amxInt8 = emulated == "amx";
      info.bf16Dot = emulated == "bf16";
    }
    info.int8Dot = isWide ? machine.has("avx512vnni") : info.vectorBytes == 32 && machine.has("avxvnni");
    info.int8Pairs = info.vectorBytes == 32 && machine.has("avx2") && !info.int8Dot;
    return info;
  }

  StringRef cacheLayout(Type element) const override {
    if (!element)
      return "panel32";
    return attn_cpu::interleaveOf(element) > 1 ? "panel32-pairs" : element.isInteger(8) ? "panel32-scales" : "panel32";
  }

  attn::CacheLayoutInterface layoutOfCache(const attn::KVSegment &segment, int64_t block) const override {
    return attn_cpu::cachePanelsOf(segment, block);
  }

  std::optional<artifact::Layout> layoutInFile(attn::ParameterLayoutInterface layout) const override {
    auto packed = dyn_cast<attn_cpu::PackedAttr>(layout);
    if (!packed)
      return std::nullopt;
    return artifact::Layout{artifact::Layout::Panels, packed.getColumnGroup(), packed.getRowGroup(),
                            packed.getInterleave()};
  }

  void addPasses(OpPassManager &passes, Stage stage) const override {
    if (stage == Stage::LaidOut)
      addLaidOut(passes);
    else if (stage == Stage::Tiled)
      addTiled(passes);
    else if (stage == Stage::Backend)
      addBackend(passes);
    else if (stage == Stage::LLVMDialect)
      addLLVMDialect(passes);
  }

  void addContract(OpPassManager &passes, Stage stage) const override {
    if (stage == Stage::LaidOut)
      passes.addPass(createAttnVerifyLaidOut());
    else if (stage == Stage::Tiled)
      passes.addPass(createAttnVerifyTiled());
    else if (stage == Stage::Backend) {
      AttnVerifyBackendOptions contract;
      contract.dialects = {"amx"};
      passes.addPass(createAttnVerifyBackend(contract));
    } else {
      passes.addPass(createAttnVerifyLLVMDialect());
    }
  }

  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<attn_cpu::AttnCPUDialect, amx::AMXDialect>();
    registerBufferizableOps(registry);
    registerConvertAMXToLLVMInterface(registry);
  }

  void registerPasses() const override {
    registerCPULayoutPasses();
    registerCPUSchedulePasses();
    registerCPUTilePasses();
    registerCPUCodegenPasses();
  }
};

} // namespace

namespace rapt::cpu {
const Target &target() {
  static const CPUTarget target;
  return target;
}
} // namespace rapt::cpu
