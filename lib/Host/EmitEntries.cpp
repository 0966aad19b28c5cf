//===- EmitEntries.cpp - The C signature of entries ------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Analysis/ElementSize.h"
#include "lib/Host/LowerDispatches.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringSet.h"
#include <rapt/artifact.h>

namespace rapt {
#define GEN_PASS_DEF_ATTNEMITENTRIES
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Sums and products of sizes that notice when 64 bits do not hold them.
struct CheckedSum {
  explicit CheckedSum(ImplicitLocOpBuilder &b) : overflow(LLVM::ConstantOp::create(b, b.getI1Type(), 0)) {}

  Value add(ImplicitLocOpBuilder &b, Value x, Value y) { return apply<LLVM::SAddWithOverflowOp>(b, x, y); }
  Value multiply(ImplicitLocOpBuilder &b, Value x, Value y) { return apply<LLVM::SMulWithOverflowOp>(b, x, y); }

  /// Makes a function of sizes, one block of arithmetic, return -1 where a sum or product overflows.
  static void check(LLVM::LLVMFuncOp function) {
    Block &body = function.getBody().front();
    auto b = ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &body);
    CheckedSum sum(b);
    for (Operation &op : llvm::make_early_inc_range(body)) {
      b.setInsertionPoint(&op);
      if (isa<LLVM::AddOp, LLVM::MulOp>(op)) {
        Value x = op.getOperand(0), y = op.getOperand(1);
        op.getResult(0).replaceAllUsesWith(isa<LLVM::AddOp>(op) ? sum.add(b, x, y) : sum.multiply(b, x, y));
        op.erase();
      } else if (auto end = dyn_cast<LLVM::ReturnOp>(op)) {
        Value none = LLVM::ConstantOp::create(b, b.getI64Type(), -1);
        end->setOperand(0, LLVM::SelectOp::create(b, sum.overflow, none, end.getArg()));
      }
    }
  }

  Value overflow; ///< i1: something did not fit

private:
  template <typename Op> Value apply(ImplicitLocOpBuilder &b, Value x, Value y) {
    auto pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {b.getI64Type(), b.getI1Type()});
    Value both = Op::create(b, pair, x, y);
    overflow = LLVM::OrOp::create(b, overflow, LLVM::ExtractValueOp::create(b, both, 1));
    return LLVM::ExtractValueOp::create(b, both, 0);
  }
};

struct EmitEntries : rapt::impl::AttnEmitEntriesBase<EmitEntries> {
  SmallVector<StringRef> dims;

  Value loadAt(ImplicitLocOpBuilder &b, Type type, Value base, int64_t i) {
    Value field = LLVM::GEPOp::create(b, base.getType(), type, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    return LLVM::LoadOp::create(b, type, field);
  }

  Value constant(ImplicitLocOpBuilder &b, int64_t value) { return LLVM::ConstantOp::create(b, b.getI64Type(), value); }

  /// The value of an extent's text: a dim's name, or more (docs/Semantics.md): "rows+1", "height/16*width/16+1".
  FailureOr<Value> dimValue(ImplicitLocOpBuilder &b, Operation *entry, StringRef text, Value array) {
    auto [product, plus] = text.split('+');
    SmallVector<StringRef, 2> factors;
    product.split(factors, '*');
    Value value;
    for (StringRef factor : factors) {
      auto [name, divisor] = factor.split('/');
      auto *it = llvm::find(dims, name);
      if (it == dims.end())
        return entry->emitOpError() << "names the dim '" << name << "', which is not declared", failure();
      Value part = loadAt(b, b.getI64Type(), array, it - dims.begin());
      int64_t number = 1;
      if (!divisor.empty() && (divisor.getAsInteger(10, number) || number < 1))
        return entry->emitOpError() << "names the extent '" << text << "', which divides by no number", failure();
      if (number != 1)
        part = LLVM::SDivOp::create(b, part, constant(b, number));
      value = value ? Value(LLVM::MulOp::create(b, value, part)) : part;
    }
    int64_t number = 0;
    if (!plus.empty() && plus.getAsInteger(10, number))
      return entry->emitOpError() << "names the extent '" << text << "', which adds no number", failure();
    return number ? Value(LLVM::AddOp::create(b, value, constant(b, number))) : value;
  }

  /// pointer, pointer, 0, sizes, strides: the fields of a dense memref.
  LogicalResult appendMemref(ImplicitLocOpBuilder &b, Operation *entry, DictionaryAttr buffer, Value pointer,
                             Value array, SmallVectorImpl<Value> &arguments) {
    auto type = cast<MemRefType>(cast<TypeAttr>(buffer.get("type")).getValue());
    auto names = buffer.getAs<ArrayAttr>(attn::AttnDialect::dimsAttr);
    arguments.append({pointer, pointer, constant(b, 0)});
    SmallVector<Value> sizes;
    unsigned next = 0;
    for (int64_t extent : type.getShape()) {
      if (!ShapedType::isDynamic(extent)) {
        sizes.push_back(constant(b, extent));
      } else if (!names) { // weights and workspace: bytes whose number the code does not need
        sizes.push_back(constant(b, 0));
      } else {
        FailureOr<Value> size = dimValue(b, entry, cast<StringAttr>(names[next++]).getValue(), array);
        if (failed(size))
          return failure();
        sizes.push_back(*size);
      }
    }
    SmallVector<Value> strides(sizes.size());
    Value stride = constant(b, 1);
    for (size_t i = sizes.size(); i-- > 0;) {
      strides[i] = stride;
      stride = LLVM::MulOp::create(b, stride, sizes[i]);
    }
    llvm::append_range(arguments, sizes);
    llvm::append_range(arguments, strides);
    return success();
  }

  /// Whether every dim that the caller of a bare kernel gives is within its bounds, and no size overflows.
  Value checkDims(ImplicitLocOpBuilder &b, CheckedSum &sum, ArrayAttr buffers, Value array) {
    Value good = LLVM::ConstantOp::create(b, b.getI1Type(), 1);
    SmallVector<Value> values;
    for (auto [i, name] : llvm::enumerate(dims)) {
      auto dim = cast<attn::DimOp>(SymbolTable::lookupSymbolIn(getOperation(), name));
      Value value = loadAt(b, b.getI64Type(), array, i);
      good = both(b, good, LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::sge, value, constant(b, dim.getMin())));
      good = both(b, good, LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::sle, value, constant(b, dim.getMax())));
      values.push_back(value);
    }
    for (auto buffer : buffers.getAsRange<DictionaryAttr>()) {
      auto names = buffer.getAs<ArrayAttr>(attn::AttnDialect::dimsAttr);
      auto type = cast<MemRefType>(cast<TypeAttr>(buffer.get("type")).getValue());
      if (!names)
        continue;
      Value bytes = constant(b, *elementBytes(type.getElementType()));
      for (int64_t extent : type.getShape())
        if (!ShapedType::isDynamic(extent))
          bytes = sum.multiply(b, bytes, constant(b, extent));
      for (auto name : names.getAsRange<StringAttr>()) {
        StringRef plain = name.getValue();
        bool plus = plain.consume_back("+1");
        auto *it = llvm::find(dims, plain);
        if (it == dims.end())
          continue; // told when the function is called with it
        Value extent = values[it - dims.begin()];
        bytes = sum.multiply(b, bytes, plus ? sum.add(b, extent, constant(b, 1)) : extent);
      }
    }
    return good;
  }

  static Value both(ImplicitLocOpBuilder &b, Value x, Value y) { return LLVM::AndOp::create(b, x, y); }

  /// NAME_scratch(dims, workers): the bytes, or -1 for dims out of bounds, workers below 1 and sizes beyond 64 bits.
  LLVM::LLVMFuncOp emitScratch(LLVM::LLVMFuncOp entry, StringRef name, LLVM::LLVMFuncOp size) {
    MLIRContext *context = &getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64);
    size.setSymName((name + ".workspace_body").str());
    size.setLinkage(LLVM::Linkage::Internal);
    CheckedSum::check(size);
    ImplicitLocOpBuilder b(entry.getLoc(), context);
    b.setInsertionPointAfter(entry);
    auto scratch =
        LLVM::LLVMFuncOp::create(b, (name + "_scratch").str(), LLVM::LLVMFunctionType::get(i64, {pointer, i64}));
    b.setInsertionPointToStart(scratch.addEntryBlock(b));
    Value array = scratch.getArgument(0), workers = scratch.getArgument(1);
    CheckedSum sum(b);
    Value good = checkDims(b, sum, entry->getAttrOfType<ArrayAttr>(attn::AttnDialect::buffersAttr), array);
    good = both(b, good, LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::sge, workers, constant(b, 1)));
    good = both(b, good, LLVM::XOrOp::create(b, sum.overflow, LLVM::ConstantOp::create(b, b.getI1Type(), 1)));
    SmallVector<Value> extents;
    for (auto dim : getOperation().getOps<attn::DimOp>()) {
      // Dims of other kernels in the text decide nothing here.
      auto *it = llvm::find(dims, dim.getSymName());
      extents.push_back(it == dims.end() ? constant(b, 0) : loadAt(b, i64, array, it - dims.begin()));
    }
    extents.push_back(workers);
    Value bytes = LLVM::CallOp::create(b, size, extents).getResult();
    LLVM::ReturnOp::create(b, LLVM::SelectOp::create(b, good, bytes, constant(b, -1)));
    return scratch;
  }

  /// An environment that runs every task in the caller's thread, for callers that give none: a constant of type
  /// rapt_env.
  LLVM::GlobalOp serialEnvironment() {
    constexpr StringLiteral name = "serial_environment", runner = "serial_parallel_for";
    if (auto made = getOperation().lookupSymbol<LLVM::GlobalOp>(name))
      return made;
    MLIRContext *context = &getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64),
         i32 = IntegerType::get(context, 32);
    auto b = ImplicitLocOpBuilder::atBlockEnd(getOperation().getLoc(), getOperation().getBody());
    auto run = LLVM::LLVMFuncOp::create(b, runner, LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer, i64}),
                                        LLVM::Linkage::Internal);
    b.setInsertionPointToStart(run.addEntryBlock(b));
    auto task = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, i64, i64, i64});
    Value zero = constant(b, 0);
    LLVM::CallOp::create(b, task, ValueRange{run.getArgument(1), run.getArgument(2), zero, run.getArgument(3), zero});
    LLVM::ReturnOp::create(b, Value(LLVM::ConstantOp::create(b, i32, 0)));
    b.setInsertionPointToEnd(getOperation().getBody());
    auto type = LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i64});
    auto global =
        LLVM::GlobalOp::create(b, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, Attribute(), /*align=*/8);
    b.createBlock(&global.getInitializer());
    Value fields[] = {LLVM::ZeroOp::create(b, pointer), LLVM::AddressOfOp::create(b, pointer, runner), constant(b, 1)};
    Value value = LLVM::UndefOp::create(b, type);
    for (int64_t i = 0; i < 3; ++i)
      value = LLVM::InsertValueOp::create(b, value, fields[i], i);
    LLVM::ReturnOp::create(b, value);
    return global;
  }

  /// An environment without a device, for callers of a device's kernels that give none: a constant of type rapt_env.
  LLVM::GlobalOp emptyEnvironment() {
    constexpr StringLiteral name = "empty_environment";
    if (auto made = getOperation().lookupSymbol<LLVM::GlobalOp>(name))
      return made;
    auto b = ImplicitLocOpBuilder::atBlockEnd(getOperation().getLoc(), getOperation().getBody());
    auto global = LLVM::GlobalOp::create(b, environmentType(), /*isConstant=*/true, LLVM::Linkage::Internal, name,
                                         Attribute(), /*align=*/8);
    b.createBlock(&global.getInitializer());
    LLVM::ReturnOp::create(b, LLVM::ZeroOp::create(b, environmentType()));
    return global;
  }

  LLVM::LLVMStructType environmentType() {
    Type pointer = LLVM::LLVMPointerType::get(&getContext()), i64 = IntegerType::get(&getContext(), 64);
    return LLVM::LLVMStructType::getLiteral(&getContext(), {pointer, pointer, i64, pointer});
  }

  bool isForDevice() { return getOperation().lookupSymbol(host::kDeviceCode) != nullptr; }

  /// The caller's environment, or the serial one where it, or its parallel_for, is NULL. Sets `usable`, for a kernel of
  /// a device, to whether the environment has a launch and the slices of scratch that kernels use.
  Value chooseEnvironment(ImplicitLocOpBuilder &b, Value given, Value &usable) {
    Type pointer = given.getType();
    LLVM::GlobalOp standIn = isForDevice() ? emptyEnvironment() : serialEnvironment();
    Value null = LLVM::ZeroOp::create(b, pointer), other = LLVM::AddressOfOp::create(b, pointer, standIn.getSymName());
    auto unlessNull = [&](Value tested, Value value) -> Value {
      Value isNull = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, tested, null);
      return LLVM::SelectOp::create(b, isNull, other, value);
    };
    auto load = [&](Value env, int32_t field) -> Value {
      Value address = LLVM::GEPOp::create(b, pointer, environmentType(), env, ArrayRef<LLVM::GEPArg>{0, field});
      return LLVM::LoadOp::create(b, pointer, address);
    };
    Value env = unlessNull(given, given);
    if (!isForDevice())
      return unlessNull(load(env, 1), env);
    Value workers = LLVM::LoadOp::create(
        b, b.getI64Type(), LLVM::GEPOp::create(b, pointer, environmentType(), env, ArrayRef<LLVM::GEPArg>{0, 2}));
    usable = both(b, LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::ne, load(env, 3), null),
                  LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, workers, constant(b, RAPT_DEVICE_WORKERS)));
    return env;
  }

  /// The dims of a kernel's function: those that its arrays have, in the order of their declarations.
  void keepDimsOf(ArrayAttr buffers) {
    llvm::StringSet<> used;
    for (auto buffer : buffers.getAsRange<DictionaryAttr>())
      if (auto names = buffer.getAs<ArrayAttr>(attn::AttnDialect::dimsAttr))
        for (auto name : names.getAsRange<StringAttr>())
          used.insert(name.getValue().ends_with("+1") ? name.getValue().drop_back(2) : name.getValue());
    dims.clear();
    for (auto dim : getOperation().getOps<attn::DimOp>())
      if (used.contains(dim.getSymName()))
        dims.push_back(dim.getSymName());
  }

  /// The signature of a bare kernel, NAME(env, inputs..., outputs..., dims, scratch): one that belongs to no model.
  LogicalResult emitKernel(LLVM::LLVMFuncOp entry) {
    MLIRContext *context = &getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64),
         i32 = IntegerType::get(context, 32);
    std::string name = entry.getSymName().str();
    auto buffers = entry->getAttrOfType<ArrayAttr>(attn::AttnDialect::buffersAttr);
    auto size = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name + ".workspace");
    if (!getOperation().getOps<attn::ParameterOp>().empty())
      return entry.emitOpError("is a kernel, which has no weights: pass them as arguments");
    if (!size)
      return entry.emitOpError() << "has no function '" << name << ".workspace'";
    keepDimsOf(buffers);
    LLVM::LLVMFuncOp scratchSize = emitScratch(entry, name, size);
    entry.setSymName(name + ".body");
    ImplicitLocOpBuilder b(entry.getLoc(), context);
    b.setInsertionPointAfter(entry);
    SmallVector<Type> types(buffers.size() + 1, pointer); // without weights; with env and dims
    auto wrapper = LLVM::LLVMFuncOp::create(b, name, LLVM::LLVMFunctionType::get(i32, types));
    Block *start = wrapper.addEntryBlock(b), *wrong = b.createBlock(&wrapper.getBody()),
          *run = b.createBlock(&wrapper.getBody());
    Value dimsArray = wrapper.getArgument(types.size() - 2), scratch = wrapper.getArgument(types.size() - 1);

    b.setInsertionPointToStart(start);
    Value usable, env = chooseEnvironment(b, wrapper.getArgument(0), usable);
    Value workers = LLVM::LoadOp::create(
        b, i64, LLVM::GEPOp::create(b, pointer, environmentType(), env, ArrayRef<LLVM::GEPArg>{0, 2}));
    Value bytes = LLVM::CallOp::create(b, scratchSize, ValueRange{dimsArray, workers}).getResult();
    Value good = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::sge, bytes, constant(b, 0));
    LLVM::CondBrOp::create(b, isForDevice() ? both(b, good, usable) : good, run, wrong);
    b.setInsertionPointToStart(wrong);
    LLVM::ReturnOp::create(b, Value(LLVM::ConstantOp::create(b, i32, -1)));

    b.setInsertionPointToStart(run);
    SmallVector<Value> arguments{env};
    unsigned next = 1;
    for (Attribute attr : buffers) {
      auto buffer = cast<DictionaryAttr>(attr);
      StringRef kind = buffer.getAs<StringAttr>("kind").getValue();
      Value memory = kind == "weights" || kind == "workspace" ? scratch : Value(wrapper.getArgument(next++));
      if (failed(appendMemref(b, entry, buffer, memory, dimsArray, arguments)))
        return failure();
    }
    LLVM::ReturnOp::create(b, LLVM::CallOp::create(b, entry, arguments).getResult());
    moveEntryAttributes(entry, wrapper);
    wrapper->setAttr(attn::AttnDialect::dimsAttr, b.getStrArrayAttr(dims));
    return success();
  }

  LogicalResult emit(LLVM::LLVMFuncOp entry) {
    MLIRContext *context = &getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64),
         i32 = IntegerType::get(context, 32);
    std::string name = entry.getSymName().str();
    entry.setSymName(name + ".body");
    ImplicitLocOpBuilder b(entry.getLoc(), context);
    b.setInsertionPointAfter(entry);
    auto wrapper = LLVM::LLVMFuncOp::create(b, name, LLVM::LLVMFunctionType::get(i32, {pointer, pointer, pointer}));
    b.setInsertionPointToStart(wrapper.addEntryBlock(b));
    Value buffers = wrapper.getArgument(1), array = wrapper.getArgument(2);
    SmallVector<Value> arguments{wrapper.getArgument(0)};
    for (auto [i, attr] : llvm::enumerate(entry->getAttrOfType<ArrayAttr>(attn::AttnDialect::buffersAttr)))
      if (failed(appendMemref(b, entry, cast<DictionaryAttr>(attr), loadAt(b, pointer, buffers, i), array, arguments)))
        return failure();
    Value status = LLVM::CallOp::create(b, entry, arguments).getResult();
    LLVM::ReturnOp::create(b, status);
    return finish(entry, wrapper, name, i64, pointer);
  }

  /// The function that tells the size of the workspace, and the attributes that go to the exported function.
  LogicalResult finish(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp wrapper, const std::string &name, Type i64,
                       Type pointer) {
    ImplicitLocOpBuilder b(entry.getLoc(), &getContext());
    auto size = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name + ".workspace");
    if (!size)
      return entry.emitOpError() << "has no function '" << name << ".workspace'";
    size.setSymName(name + ".workspace_body");
    size.setLinkage(LLVM::Linkage::Internal);
    b.setInsertionPointAfter(wrapper);
    auto workspace = LLVM::LLVMFuncOp::create(b, name + ".workspace", LLVM::LLVMFunctionType::get(i64, {pointer, i64}));
    b.setInsertionPointToStart(workspace.addEntryBlock(b));
    SmallVector<Value> extents;
    for (size_t i = 0; i < dims.size(); ++i)
      extents.push_back(loadAt(b, i64, workspace.getArgument(0), i));
    extents.push_back(workspace.getArgument(1));
    LLVM::ReturnOp::create(b, LLVM::CallOp::create(b, size, extents).getResult());
    moveEntryAttributes(entry, wrapper);
    return success();
  }

  static bool isBuffer(Attribute attribute) {
    auto buffer = dyn_cast<DictionaryAttr>(attribute);
    auto type = buffer ? buffer.getAs<TypeAttr>("type") : TypeAttr();
    auto memref = type ? dyn_cast<MemRefType>(type.getValue()) : MemRefType();
    if (!memref || !elementBytes(memref.getElementType()) || !buffer.getAs<StringAttr>("kind"))
      return false;
    auto names = buffer.getAs<ArrayAttr>(attn::AttnDialect::dimsAttr);
    return !names || (int64_t(names.size()) == int64_t(memref.getNumDynamicDims()) &&
                      llvm::all_of(names, llvm::IsaPred<StringAttr>));
  }

  /// Reports an entry that text describes wrongly, or whose other functions would have names that are taken.
  LogicalResult verifyEntry(LLVM::LLVMFuncOp entry) {
    auto buffers = entry->getAttrOfType<ArrayAttr>(attn::AttnDialect::buffersAttr);
    if (!buffers)
      return entry.emitOpError() << "is an entry without " << attn::AttnDialect::buffersAttr;
    for (Attribute buffer : buffers)
      if (!isBuffer(buffer))
        return entry.emitOpError() << "has a buffer without a kind, a memref type and the names of its dims: "
                                   << buffer;
    for (StringRef suffix : {".body", ".workspace_body", "_scratch"})
      if (std::string name = (entry.getSymName() + suffix).str(); getOperation().lookupSymbol(name))
        return entry.emitOpError() << "needs the name '" << name << "', which is taken";
    return success();
  }

  /// The attributes of an entry go to its exported function.
  static void moveEntryAttributes(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp wrapper) {
    wrapper->setAttr(attn::AttnDialect::entryAttr, UnitAttr::get(entry.getContext()));
    entry->removeAttr(attn::AttnDialect::entryAttr);
    for (StringRef name :
         {attn::AttnDialect::buffersAttr, attn::AttnDialect::costsAttr, attn::AttnDialect::dispatchAttr})
      if (Attribute value = entry->removeAttr(name))
        wrapper->setAttr(name, value);
  }

  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Backend)))
      return signalPassFailure();
    dims.clear();
    for (auto dim : getOperation().getOps<attn::DimOp>())
      dims.push_back(dim.getSymName());
    SmallVector<LLVM::LLVMFuncOp> entries;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (!function.isExternal())
        function.setLinkage(LLVM::Linkage::Internal);
      if (function->hasAttr(attn::AttnDialect::entryAttr))
        entries.push_back(function);
    }
    bool isKernel = !getOperation()->hasAttr(attn::AttnDialect::modelAttr);
    for (LLVM::LLVMFuncOp entry : entries)
      if (failed(verifyEntry(entry)) || failed(isKernel ? emitKernel(entry) : emit(entry)))
        return signalPassFailure();
  }
};

} // namespace
