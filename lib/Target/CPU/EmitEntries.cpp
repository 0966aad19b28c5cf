//===- EmitEntries.cpp - The C signature of entries ------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Target/CPU/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNEMITENTRIES
#include "lib/Target/CPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct EmitEntries : rapt::impl::AttnEmitEntriesBase<EmitEntries> {
  SmallVector<StringRef> dims;

  Value loadAt(ImplicitLocOpBuilder &b, Type type, Value base, int64_t i) {
    Value field = LLVM::GEPOp::create(b, base.getType(), type, base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    return LLVM::LoadOp::create(b, type, field);
  }

  Value constant(ImplicitLocOpBuilder &b, int64_t value) { return LLVM::ConstantOp::create(b, b.getI64Type(), value); }

  /// The value of a dim's name, which may end in "+1".
  FailureOr<Value> dimValue(ImplicitLocOpBuilder &b, Operation *entry, StringRef name, Value array) {
    bool plus = name.consume_back("+1");
    auto *it = llvm::find(dims, name);
    if (it == dims.end())
      return entry->emitOpError() << "names the dim '" << name << "', which is not declared", failure();
    Value value = loadAt(b, b.getI64Type(), array, it - dims.begin());
    return plus ? Value(LLVM::AddOp::create(b, value, constant(b, 1))) : value;
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

  /// The signature of a bare kernel, NAME(env, inputs..., outputs..., dims, scratch): one that belongs to no model.
  LogicalResult emitKernel(LLVM::LLVMFuncOp entry) {
    MLIRContext *context = &getContext();
    Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64),
         i32 = IntegerType::get(context, 32);
    std::string name = entry.getSymName().str();
    auto buffers = entry->getAttrOfType<ArrayAttr>(attn::AttnDialect::buffersAttr);
    if (!getOperation().getOps<attn::ParameterOp>().empty())
      return entry.emitOpError("is a kernel, which has no weights: pass them as arguments");
    entry.setSymName(name + ".body");
    ImplicitLocOpBuilder b(entry.getLoc(), context);
    b.setInsertionPointAfter(entry);
    SmallVector<Type> types(buffers.size() + 1, pointer); // without weights; with env and dims
    auto wrapper = LLVM::LLVMFuncOp::create(b, name, LLVM::LLVMFunctionType::get(i32, types));
    b.setInsertionPointToStart(wrapper.addEntryBlock(b));
    Value dimsArray = wrapper.getArgument(types.size() - 2), scratch = wrapper.getArgument(types.size() - 1);
    SmallVector<Value> arguments{wrapper.getArgument(0)};
    unsigned next = 1;
    for (Attribute attr : buffers) {
      auto buffer = cast<DictionaryAttr>(attr);
      StringRef kind = buffer.getAs<StringAttr>("kind").getValue();
      Value memory = kind == "weights" || kind == "workspace" ? scratch : Value(wrapper.getArgument(next++));
      if (failed(appendMemref(b, entry, buffer, memory, dimsArray, arguments)))
        return failure();
    }
    LLVM::ReturnOp::create(b, LLVM::CallOp::create(b, entry, arguments).getResult());
    return finish(entry, wrapper, name, "_scratch", i64, pointer);
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
    return finish(entry, wrapper, name, ".workspace", i64, pointer);
  }

  /// The function that tells the size of the workspace, and the attributes that go to the exported function.
  LogicalResult finish(LLVM::LLVMFuncOp entry, LLVM::LLVMFuncOp wrapper, const std::string &name, StringRef suffix,
                       Type i64, Type pointer) {
    ImplicitLocOpBuilder b(entry.getLoc(), &getContext());
    auto size = getOperation().lookupSymbol<LLVM::LLVMFuncOp>(name + ".workspace");
    if (!size)
      return entry.emitOpError() << "has no function '" << name << ".workspace'";
    size.setSymName(name + ".workspace_body");
    size.setLinkage(LLVM::Linkage::Internal);
    b.setInsertionPointAfter(wrapper);
    auto workspace =
        LLVM::LLVMFuncOp::create(b, (name + suffix).str(), LLVM::LLVMFunctionType::get(i64, {pointer, i64}));
    b.setInsertionPointToStart(workspace.addEntryBlock(b));
    SmallVector<Value> extents;
    for (size_t i = 0; i < dims.size(); ++i)
      extents.push_back(loadAt(b, i64, workspace.getArgument(0), i));
    extents.push_back(workspace.getArgument(1));
    LLVM::ReturnOp::create(b, LLVM::CallOp::create(b, size, extents).getResult());
    wrapper->setAttr(attn::AttnDialect::entryAttr, b.getUnitAttr());
    wrapper->setAttr(attn::AttnDialect::buffersAttr, entry->getAttr(attn::AttnDialect::buffersAttr));
    entry->removeAttr(attn::AttnDialect::entryAttr);
    entry->removeAttr(attn::AttnDialect::buffersAttr);
    return success();
  }

  void runOnOperation() override {
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
      if (failed(isKernel ? emitKernel(entry) : emit(entry)))
        return signalPassFailure();
  }
};

} // namespace
