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
#include <rapt/artifact.h>

using namespace mlir;
using namespace rapt;

namespace {

/// rapt_env (lib/Runtime/include/rapt/artifact.h).
enum EnvironmentField : int32_t { User, ParallelFor, Workers, Launch, TensorMap };

LLVM::LLVMStructType environmentType(MLIRContext *context) {
  Type pointer = LLVM::LLVMPointerType::get(context);
  return LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, IntegerType::get(context, 64), pointer, pointer});
}

/// Memory on the entry's stack. In its first block: a loop over layers must not grow the stack.
Value allocate(ImplicitLocOpBuilder &b, Operation *op, Type type) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&op->getParentRegion()->front());
  Value one = LLVM::ConstantOp::create(b, b.getI64Type(), 1);
  return LLVM::AllocaOp::create(b, LLVM::LLVMPointerType::get(op->getContext()), type, one, 64);
}

Value loadField(ImplicitLocOpBuilder &b, Value env, EnvironmentField field) {
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Value at =
      LLVM::GEPOp::create(b, pointer, environmentType(b.getContext()), env, ArrayRef<LLVM::GEPArg>{0, int32_t(field)});
  return LLVM::LoadOp::create(b, pointer, at);
}

/// Stores `values` into a struct of `type` on the entry's stack.
Value storeClosure(ImplicitLocOpBuilder &b, Operation *op, LLVM::LLVMStructType type, ValueRange values) {
  Type pointer = LLVM::LLVMPointerType::get(op->getContext());
  Value closure = allocate(b, op, type);
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
  Value user = loadField(b, env, User), callee = loadField(b, env, function),
        task = LLVM::AddressOfOp::create(b, pointer, constant);
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
    SmallVector<Value> captures(adaptor.getCaptures());
    for (Value &map : MutableArrayRef(captures).take_front(kernels.lookup(op.getKernel()).maps))
      map = LLVM::LoadOp::create(b, host::tensorMapType(op.getContext()), map);
    auto type = LLVM::LLVMStructType::getLiteral(op.getContext(), llvm::to_vector(ValueRange(captures).getTypes()));
    std::string kernel = makeKernel(rewriter, op, host::argumentBytes(type));
    Value arguments = storeClosure(b, op, type, captures);
    callEnvironment(rewriter, op, adaptor.getEnv(), Launch, kernel, arguments, adaptor.getBlocks());
    return success();
  }

private:
  /// The constant rapt_kernel of the kernel that `op` launches, which also tells the dispatch.
  std::string makeKernel(ConversionPatternRewriter &rewriter, attn_host::LaunchOp op, int64_t argumentBytes) const {
    auto module = op->getParentOfType<ModuleOp>();
    const StringRef kernel = op.getKernel().getLeafReference();
    auto dispatch = op->getAttrOfType<IntegerAttr>(attn::AttnDialect::dispatchAttr);
    const int64_t number = dispatch ? dispatch.getInt() : -1;
    std::string name = (kernel + ".kernel" + (number < 0 ? Twine() : "." + Twine(number))).str(),
                text = (kernel + ".name").str();
    if (module.lookupSymbol(name))
      return name;
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToEnd(module.getBody());
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MLIRContext *context = op.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i32 = b.getI32Type();
    declareCode(b, module);
    if (!module.lookupSymbol(text)) {
      const std::string terminated = kernel.str() + '\0';
      LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size()), /*isConstant=*/true,
                             LLVM::Linkage::Internal, text, b.getStringAttr(terminated));
    }
    auto type =
        LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i32, i32, i32, i32, b.getI64Type(), i32, i32});
    auto global =
        LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, Attribute(), /*align=*/8);
    b.createBlock(&global.getInitializer());
    const host::KernelTable::Kernel facts = kernels.lookup(op.getKernel());
    Value value = LLVM::UndefOp::create(b, type);
    auto insert = [&](Value field, int64_t i) { value = LLVM::InsertValueOp::create(b, value, field, i); };
    insert(LLVM::AddressOfOp::create(b, pointer, host::kDeviceCode), 0);
    insert(LLVM::AddressOfOp::create(b, pointer, text), 1);
    for (auto [i, fact] :
         llvm::enumerate(SmallVector<int64_t>{facts.index, facts.threads, facts.shared, argumentBytes}))
      insert(LLVM::ConstantOp::create(b, i32, fact), 2 + i);
    insert(LLVM::ConstantOp::create(b, b.getI64Type(), number), 6);
    insert(LLVM::ConstantOp::create(b, i32, facts.overlaps ? int64_t(RAPT_KERNEL_OVERLAPS) : 0), 7);
    insert(LLVM::ConstantOp::create(b, i32, 0), 8);
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

/// Lowers attn_host.tensor_map to a call of rapt_env's tensor_map with a rapt_boxes.
struct LowerTensorMap : ConvertOpToLLVMPattern<attn_host::TensorMapOp> {
  using ConvertOpToLLVMPattern::ConvertOpToLLVMPattern;
  static constexpr int64_t kDims = 5;

  LogicalResult matchAndRewrite(attn_host::TensorMapOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    MLIRContext *context = op.getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i32 = b.getI32Type(), i64 = b.getI64Type();
    auto type = cast<MemRefType>(op.getArray().getType());
    MemRefDescriptor array(adaptor.getArray());
    auto number = [&](Type type, int64_t n) -> Value { return LLVM::ConstantOp::create(b, type, n); };
    auto wide = [&](Value value) -> Value {
      return value.getType() == i64 ? value : Value(LLVM::SExtOp::create(b, i64, value));
    };
    SmallVector<Value> extents, strides, box;
    for (int64_t i = 0; i < kDims; ++i) {
      const bool isDim = i < int64_t(op.getDims().size());
      const auto dim = unsigned(isDim ? op.getDims()[i] : 0);
      extents.push_back(isDim ? wide(array.size(b, op.getLoc(), dim)) : number(i64, 1));
      strides.push_back(isDim ? wide(array.stride(b, op.getLoc(), dim)) : number(i64, 0));
      box.push_back(number(i32, isDim ? op.getBox()[i] : 1));
    }
    SmallVector<Value> fields{array.bufferPtr(b, op.getLoc(), *getTypeConverter(), type)};
    llvm::append_range(fields, extents);
    llvm::append_range(fields, strides);
    llvm::append_range(fields, box);
    for (int64_t n :
         {int64_t(op.getDims().size()), int64_t(type.getElementTypeBitWidth() / 8), int64_t(op.getSwizzle())})
      fields.push_back(number(i32, n));
    auto tensorType = LLVM::LLVMStructType::getLiteral(context, llvm::to_vector(ValueRange(fields).getTypes()));
    Value tensor = storeClosure(b, op, tensorType, fields);
    Value map = allocate(b, op, host::tensorMapType(context)), env = adaptor.getEnv();
    auto callee = LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer});
    Value status =
        LLVM::CallOp::create(b, callee, ValueRange{loadField(b, env, TensorMap), loadField(b, env, User), tensor, map})
            .getResult();
    Value made = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, status, number(i32, 0));
    rewriter.replaceOp(op, {map, made});
    return success();
  }
};

} // namespace

Type host::tensorMapType(MLIRContext *context) { return LLVM::LLVMArrayType::get(IntegerType::get(context, 64), 16); }

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
        auto facts = op.getAttrOfType<attn_host::KernelAttr>(attn_host::AttnHostDialect::kernelAttr);
        if (!facts)
          continue;
        auto name = SymbolRefAttr::get(SymbolTable::getSymbolName(&nested),
                                       {FlatSymbolRefAttr::get(SymbolTable::getSymbolName(&op))});
        kernels[name] = {next++, facts.getThreads(), facts.getShared(), facts.getMaps(), facts.getOverlaps()};
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
  patterns.add<LowerParallelFor, LowerTensorMap>(converter);
  patterns.add<LowerLaunch>(converter, kernels);
}
