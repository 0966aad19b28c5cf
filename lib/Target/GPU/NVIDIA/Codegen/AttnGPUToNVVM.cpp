//===- AttnGPUToNVVM.cpp - Lowers attn_gpu to nvvm and llvm -------------------------------===//
#include "lib/Target/GPU/NVIDIA/Codegen/Lowering.h"
#include "lib/Target/GPU/NVIDIA/Codegen/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGPUTONVVM
#include "lib/Target/GPU/NVIDIA/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::cuda;
using attn_gpu::FragmentType;
using attn_gpu::RowVectorType;

namespace {

/// A value for each register.
class RegisterConverter : public TypeConverter {
public:
  RegisterConverter() {
    addConversion([](Type type) { return type; });
    addConversion([](FragmentType type, SmallVectorImpl<Type> &registers) {
      MLIRContext *context = type.getContext();
      const Type one = type.getLayout().isPacked() ? Type(IntegerType::get(context, 32)) : type.getElementType();
      registers.append(type.getRegisters(), one);
      return success();
    });
    addConversion([](RowVectorType type, SmallVectorImpl<Type> &registers) {
      registers.append(type.getDistances().size(), Float32Type::get(type.getContext()));
      return success();
    });
    auto shared = [](Type type) -> Type { return LLVM::LLVMPointerType::get(type.getContext(), 3); };
    addConversion([shared](attn_gpu::TileType type) { return shared(type); });
    addConversion([shared](attn_gpu::MBarrierType type) { return shared(type); });
  }
};

struct AttnGPUToNVVM : rapt::impl::AttnGPUToNVVMBase<AttnGPUToNVVM> {
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    if (failed(checkStage(*this, module, Stage::Backend)))
      return signalPassFailure();
    if (failed(declareShared(module)))
      return signalPassFailure();
    RegisterConverter converter;
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<attn_gpu::AttnGPUDialect>();
    populateBarriers(converter, patterns);
    populateBlocks(converter, patterns);
    populateFloatMatmul(converter, patterns);
    populateFragments(converter, patterns);
    populateGlobalFragments(converter, patterns);
    populateMathInstructions(patterns, target);
    populateMatrices(converter, patterns);
    populateQuantized(converter, patterns);
    populateThreadIds(converter, patterns, target);
    populateTiles(converter, patterns);
    populateWgmma(converter, patterns);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    if (failed(applyPartialConversion(module, target, std::move(patterns))))
      signalPassFailure();
  }

private:
  /// Declares the kernels' shared memory where they use it.
  static LogicalResult declareShared(gpu::GPUModuleOp module) {
    const bool isUsed = module
                            .walk([](Operation *op) {
                              return isa<attn_gpu::SharedOp, attn_gpu::ReduceThreadsOp, attn_gpu::SumWarpsOp>(op)
                                         ? WalkResult::interrupt()
                                         : WalkResult::advance();
                            })
                            .wasInterrupted();
    if (!isUsed)
      return success();
    if (Operation *other = SymbolTable::lookupSymbolIn(module, kShared))
      return other->emitError() << "the name '" << kShared << "' is that of the kernels' shared memory";
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::External, kShared,
                           Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
    return success();
  }
};

} // namespace
