//===- LowerDispatches.cpp - Dispatches become calls through rapt_env ---------------------===//
#include "lib/Host/LowerDispatches.h"
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnHost/AttnHost.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rapt;

namespace {

/// rapt_env (lib/Runtime/include/rapt/artifact.h).
enum EnvironmentField : int32_t { User, ParallelFor, Workers, Launch };

LLVM::LLVMStructType environmentType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context);
  return LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, IntegerType::get(context, 64), pointer});
}

/// Stores `values` into a struct of `type` on the entry's stack.
Value storeClosure(ImplicitLocOpBuilder &b, Operation *op, LLVM::LLVMStructType type, ValueRange values) {
  Type pointer = LLVM::LLVMPointerType::get(op->getContext());
  Value closure;
  {
    // In the first block: the layer loop must not grow the stack.
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&op->getParentRegion()->front());
    Value one = LLVM::ConstantOp::create(b, b.getI64Type(), 1);
    closure = LLVM::AllocaOp::create(b, pointer, type, one, 64);
  }
  for (auto [i, value] : llvm::enumerate(values)) {
    Value field = LLVM::GEPOp::create(b, pointer, type, closure, ArrayRef<LLVM::GEPArg>{0, static_cast<int32_t>(i)});
    LLVM::StoreOp::create(b, value, field);
  }
  return closure;
}

/// Calls a function of the environment with its user, a constant, a closure and a number. A nonzero status is returned
/// from the entry at once. Replaces `op`, whose block ends with a branch (splitAfterDispatches).
void callEnvironment(ConversionPatternRewriter &rewriter, Operation *op, Value env, EnvironmentField function,
                     StringRef constant, Value closure, Value number) {
  ImplicitLocOpBuilder b(op->getLoc(), rewriter);
  Type pointer = LLVM::LLVMPointerType::get(op->getContext()), i64 = b.getI64Type(), i32 = b.getI32Type();
  auto load = [&](int32_t i) -> Value {
    Value field = LLVM::GEPOp::create(b, pointer, environmentType(op->getContext()), env, ArrayRef<LLVM::GEPArg>{0, i});
    return LLVM::LoadOp::create(b, pointer, field);
  };
  Value user = load(User), callee = load(function), task = LLVM::AddressOfOp::create(b, pointer, constant);
  auto type = LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer, i64});
  Value status = LLVM::CallOp::create(b, type, ValueRange{callee, user, task, closure, number}).getResult();
  Value failed = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, status, LLVM::ConstantOp::create(b, i32, 0));

  auto next = cast<LLVM::BrOp>(op->getBlock()->getTerminator());
  Region *region = op->getParentRegion();
  Block *leave = rewriter.createBlock(region, region->end());
  LLVM::ReturnOp::create(rewriter, op->getLoc(), status);
  rewriter.setInsertionPoint(next);
  LLVM::CondBrOp::create(rewriter, op->getLoc(), failed, leave, next.getDest());
  rewriter.eraseOp(next);
  rewriter.eraseOp(op);
}

/// Lowers attn_host.parallel_for to a call of rapt_env's parallel_for. The closure is a struct on the entry's stack:
/// the dispatch's number where it has one, then the captures. A thunk with the C signature of rapt_task_fn reads them
/// back.
struct LowerParallelFor : ConvertOpToLLVMPattern<attn_host::ParallelForOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;

  LogicalResult matchAndRewrite(attn_host::ParallelForOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MLIRContext *context = op.getContext();
    auto number = op->getAttrOfType<IntegerAttr>(attn::AttnDialect::dispatchAttr);
    const unsigned first = number ? 1 : 0; // of the captures
    SmallVector<Type> fields(first, b.getI64Type());
    for (Type type : op.getCaptures().getTypes())
      fields.push_back(getTypeConverter()->convertType(type));
    auto closureType = LLVM::LLVMStructType::getLiteral(context, fields);
    std::string thunk = makeThunk(rewriter, op, closureType, first);
    SmallVector<Value> values;
    if (number)
      values.push_back(LLVM::ConstantOp::create(b, b.getI64Type(), number.getInt()));
    llvm::append_range(values, adaptor.getCaptures());
    Value closure = storeClosure(b, op, closureType, values);
    callEnvironment(rewriter, op, adaptor.getEnv(), ParallelFor, thunk, closure, adaptor.getCount());
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

/// Lowers attn_host.launch to a call of rapt_env's launch with a constant rapt_kernel and a struct of the captures.
struct LowerLaunch : ConvertOpToLLVMPattern<attn_host::LaunchOp> {
  LowerLaunch(const LLVMTypeConverter &converter, const host::KernelTable &kernels)
      : ConvertOpToLLVMPattern(converter), kernels(kernels) {}

  LogicalResult matchAndRewrite(attn_host::LaunchOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto type = LLVM::LLVMStructType::getLiteral(op.getContext(),
                                                 llvm::to_vector(ValueRange(adaptor.getCaptures()).getTypes()));
    std::string kernel = makeKernel(rewriter, op, host::argumentBytes(type));
    Value arguments = storeClosure(b, op, type, adaptor.getCaptures());
    callEnvironment(rewriter, op, adaptor.getEnv(), Launch, kernel, arguments, adaptor.getBlocks());
    return success();
  }

private:
  /// The constant rapt_kernel of the kernel that `op` launches.
  std::string makeKernel(ConversionPatternRewriter &rewriter, attn_host::LaunchOp op, int64_t argumentBytes) const {
    auto module = op->getParentOfType<ModuleOp>();
    const StringRef kernel = op.getKernel().getLeafReference();
    std::string name = (kernel + ".kernel").str(), text = (kernel + ".name").str();
    if (module.lookupSymbol(name))
      return name;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(module.getBody());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MLIRContext *context = op.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i32 = b.getI32Type();
    declareCode(b, module);
    const std::string terminated = kernel.str() + '\0';
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size()), /*isConstant=*/true,
                           LLVM::Linkage::Internal, text, b.getStringAttr(terminated));
    auto type = LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i32, i32, i32, i32});
    auto global =
        LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, Attribute(), /*align=*/8);
    b.createBlock(&global.getInitializer());
    const host::KernelTable::Kernel facts = kernels.lookup(op.getKernel());
    Value value = LLVM::UndefOp::create(b, type);
    auto insert = [&](Value field, int64_t i) { value = LLVM::InsertValueOp::create(b, value, field, i); };
    insert(LLVM::AddressOfOp::create(b, pointer, host::kDeviceCode), 0);
    insert(LLVM::AddressOfOp::create(b, pointer, text), 1);
    for (auto [i, number] :
         llvm::enumerate(SmallVector<int64_t>{facts.index, facts.threads, facts.shared, argumentBytes}))
      insert(LLVM::ConstantOp::create(b, i32, number), 2 + i);
    LLVM::ReturnOp::create(b, value);
    return name;
  }

  /// Declares rapt_device_code's constant: device, number of images, images, number of kernels.
  static void declareCode(ImplicitLocOpBuilder &b, ModuleOp module) {
    if (module.lookupSymbol(host::kDeviceCode))
      return;
    MLIRContext *context = module.getContext();
    Type i32 = b.getI32Type();
    auto type =
        LLVM::LLVMStructType::getLiteral(context, {i32, i32, LLVM::LLVMPointerType::get(context), b.getI64Type()});
    LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::External, host::kDeviceCode, Attribute(),
                           /*align=*/8);
  }

  const host::KernelTable &kernels;
};

} // namespace

/// Adds a type of size and alignment to the end of a struct, and its alignment to the largest.
static void append(Type type, int64_t &end, int64_t &largest) {
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    for (Type field : structure.getBody())
      append(field, end, largest);
    return;
  }
  auto array = dyn_cast<LLVM::LLVMArrayType>(type);
  const Type element = array ? array.getElementType() : type;
  const int64_t count = array ? array.getNumElements() : 1;
  auto vector = dyn_cast<VectorType>(element);
  const int64_t bits = isa<LLVM::LLVMPointerType>(element) ? 64
                       : vector                            ? vector.getNumElements() * vector.getElementTypeBitWidth()
                                                           : element.getIntOrFloatBitWidth();
  const int64_t bytes = llvm::PowerOf2Ceil(llvm::divideCeil(bits, 8));
  end = llvm::alignTo(end, bytes) + count * bytes;
  largest = std::max(largest, bytes);
}

int64_t host::argumentBytes(TypeRange types) {
  int64_t end = 0, largest = 1;
  for (Type type : types)
    append(type, end, largest);
  return llvm::alignTo(end, largest);
}

host::KernelTable::KernelTable(ModuleOp module) {
  int64_t next = 0;
  for (Operation &nested : *module.getBody())
    if (nested.hasTrait<OpTrait::SymbolTable>())
      for (Operation &op : nested.getRegion(0).getOps()) {
        auto facts = op.getAttrOfType<DictionaryAttr>(attn_host::AttnHostDialect::kernelAttr);
        if (!facts)
          continue;
        auto number = [&](StringRef name) -> int64_t { // verified where the kernel is launched
          auto value = facts.getAs<IntegerAttr>(name);
          return value ? value.getInt() : 0;
        };
        auto name = SymbolRefAttr::get(SymbolTable::getSymbolName(&nested),
                                       {FlatSymbolRefAttr::get(SymbolTable::getSymbolName(&op))});
        kernels[name] = {next++, number("threads"), number("shared")};
      }
}

void host::splitAfterDispatches(ModuleOp module) {
  SmallVector<Operation *> calls;
  module.walk([&](Operation *op) {
    if (isa<attn_host::ParallelForOp, attn_host::LaunchOp>(op))
      calls.push_back(op);
  });
  for (Operation *op : llvm::reverse(calls)) {
    Block *before = op->getBlock(), *after = before->splitBlock(op->getNextNode());
    OpBuilder b = OpBuilder::atBlockEnd(before);
    LLVM::BrOp::create(b, op->getLoc(), after);
  }
}

void host::populateDispatchPatterns(const LLVMTypeConverter &converter, const KernelTable &kernels,
                                    RewritePatternSet &patterns) {
  patterns.add<LowerParallelFor>(converter);
  patterns.add<LowerLaunch>(converter, kernels);
}
