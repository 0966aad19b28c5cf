//===- ToLLVM.cpp - The last conversion --------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnHost/AttnHost.h"
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
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNTOLLVM
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Lowers attn_host.parallel_for to a call of rapt_env's parallel_for. The closure is a struct on the entry's stack:
/// the dispatch's number where it has one, then the captures. A thunk with the C signature of rapt_task_fn reads them
/// back. A nonzero status is returned at once.
struct LowerParallelFor : ConvertOpToLLVMPattern<attn_host::ParallelForOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(attn_host::ParallelForOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MLIRContext *context = op.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = b.getI64Type(), i32 = b.getI32Type();
    auto number = op->getAttrOfType<IntegerAttr>(attn::AttnDialect::dispatchAttr);
    const unsigned first = number ? 1 : 0; // of the captures
    SmallVector<Type> fields(first, i64);
    for (Type type : op.getCaptures().getTypes())
      fields.push_back(getTypeConverter()->convertType(type));
    auto closureType = LLVM::LLVMStructType::getLiteral(context, fields);
    std::string thunk = makeThunk(rewriter, op, closureType, first);

    Value closure;
    {
      // In the first block: the layer loop must not grow the stack.
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&op->getParentRegion()->front());
      Value one = LLVM::ConstantOp::create(b, i64, 1);
      closure = LLVM::AllocaOp::create(b, pointer, closureType, one, 64);
    }
    if (number)
      LLVM::StoreOp::create(b, LLVM::ConstantOp::create(b, i64, number.getInt()), closure);
    for (auto [i, capture] : llvm::enumerate(adaptor.getCaptures())) {
      Value field = LLVM::GEPOp::create(b, pointer, closureType, closure,
                                        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(first + i)});
      LLVM::StoreOp::create(b, capture, field);
    }
    auto environment = LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i64});
    auto load = [&](int32_t i) -> Value {
      Value field = LLVM::GEPOp::create(b, pointer, environment, adaptor.getEnv(), ArrayRef<LLVM::GEPArg>{0, i});
      return LLVM::LoadOp::create(b, pointer, field);
    };
    Value user = load(0), callee = load(1), task = LLVM::AddressOfOp::create(b, pointer, thunk);
    auto type = LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer, i64});
    Value status =
        LLVM::CallOp::create(b, type, ValueRange{callee, user, task, closure, adaptor.getCount()}).getResult();
    Value failed = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, status, LLVM::ConstantOp::create(b, i32, 0));

    auto next = cast<LLVM::BrOp>(op->getBlock()->getTerminator()); // see splitAfterCalls
    Region *region = op->getParentRegion();
    Block *leave = rewriter.createBlock(region, region->end());
    LLVM::ReturnOp::create(rewriter, op.getLoc(), status);
    rewriter.setInsertionPoint(next);
    LLVM::CondBrOp::create(rewriter, op.getLoc(), failed, leave, next.getDest());
    rewriter.eraseOp(next);
    rewriter.eraseOp(op);
    return success();
  }

  std::string makeThunk(ConversionPatternRewriter &rewriter, attn_host::ParallelForOp op,
                        LLVM::LLVMStructType closureType, unsigned first) const {
    auto module = op->getParentOfType<ModuleOp>();
    std::string name = (op.getTask() + (first ? ".dispatch_thunk" : ".thunk")).str();
    if (module.lookupSymbol(name))
      return name;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(module.getBody());
    MLIRContext *context = op.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = rewriter.getI64Type();
    auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, i64, i64, i64});
    auto thunk = LLVM::LLVMFuncOp::create(rewriter, op.getLoc(), name, type, LLVM::Linkage::Internal);
    Block *block = thunk.addEntryBlock(rewriter);
    rewriter.setInsertionPointToStart(block);
    SmallVector<Value> arguments;
    for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
      Value field = LLVM::GEPOp::create(rewriter, op.getLoc(), pointer, closureType, block->getArgument(0),
                                        ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(first + i)});
      Value value = LLVM::LoadOp::create(rewriter, op.getLoc(), closureType.getBody()[first + i], field);
      arguments.push_back(toSource(rewriter, op.getLoc(), capture.getType(), value));
    }
    for (unsigned i = 1; i < 4; ++i)
      arguments.push_back(toSource(rewriter, op.getLoc(), rewriter.getIndexType(), block->getArgument(i)));
    func::CallOp::create(rewriter, op.getLoc(), op.getTask(), TypeRange(), arguments);
    LLVM::ReturnOp::create(rewriter, op.getLoc(), ValueRange());
    return name;
  }

  static Value toSource(OpBuilder &b, Location loc, Type type, Value value) {
    return value.getType() == type ? value : UnrealizedConversionCastOp::create(b, loc, type, value).getResult(0);
  }
};

/// Makes every parallel_for the last operation of its block but for a branch. The conversion, which keeps a record of
/// each operation that moves, would take memory in proportion to their number squared to split the blocks itself.
void splitAfterCalls(ModuleOp module) {
  SmallVector<attn_host::ParallelForOp> calls;
  module.walk([&](attn_host::ParallelForOp op) { calls.push_back(op); });
  for (attn_host::ParallelForOp op : llvm::reverse(calls)) {
    Block *before = op->getBlock(), *after = before->splitBlock(op->getNextNode());
    OpBuilder b = OpBuilder::atBlockEnd(before);
    LLVM::BrOp::create(b, op.getLoc(), after);
  }
}

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
    patterns.add<LowerParallelFor>(converter);
    LLVMConversionTarget target(*context);
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
    splitAfterCalls(getOperation());
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      return signalPassFailure();
    moveAsIntegers(getOperation());
  }
};

} // namespace
