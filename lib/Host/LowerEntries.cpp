//===- LowerEntries.cpp - Entries take memory of the caller --------------------------------===//
//
// An entry's tensors become memrefs that the caller owns, weights become views of one
// byte buffer, and the function returns a status. Only the cache and the outputs
// are writable.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERENTRIES
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

MemRefType memoryOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

/// `parameter_slice` as a view of the weights at offset + layer * stride.
LogicalResult lowerSlice(attn::ParameterSliceOp slice, Value weights) {
  auto parameter = SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr());
  if (!parameter.getOffset() || !parameter.getStride())
    return slice.emitOpError() << "reads '" << slice.getParameter() << "', which has no place in the weight file";
  ImplicitLocOpBuilder b(slice.getLoc(), slice);
  Value offset = arith::ConstantIndexOp::create(b, *parameter.getOffset());
  if (slice.getLayer()) {
    Value stride = arith::ConstantIndexOp::create(b, *parameter.getStride());
    offset = arith::AddIOp::create(b, offset, arith::MulIOp::create(b, slice.getLayer(), stride));
  }
  Value view = memref::ViewOp::create(b, memoryOf(slice.getValue().getType()), weights, offset, ValueRange());
  slice.getValue().replaceAllUsesWith(
      bufferization::ToTensorOp::create(b, slice.getValue().getType(), view, /*restrict=*/true, /*writable=*/false));
  slice.erase();
  return success();
}

/// The empty tensor that loops fill to make `value`, if nothing else is made in it.
Value emptyOrigin(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto forall = dyn_cast<scf::ForallOp>(op))
      value = forall.getOutputs()[number];
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      value = loop.getInitArgs()[number];
    else
      return isa<tensor::EmptyOp>(op) && op->hasOneUse() ? value : Value();
  }
  return {};
}

/// Notes the facts about each buffer for the C entry and the manifest, where conversions leave them alone.
void describeBuffers(func::FuncOp entry, ArrayRef<DictionaryAttr> attributes, unsigned inputs,
                     ArrayRef<std::optional<unsigned>> inPlace) {
  Builder b(entry.getContext());
  SmallVector<Attribute> buffers;
  for (unsigned i = 1; i < entry.getNumArguments(); ++i) {
    NamedAttrList buffer(attributes[i]);
    StringRef kind = i == 1 ? "weights" : i == 2 ? "workspace" : i >= 3 + inputs ? "output" : "input";
    if (kind == "input" && llvm::is_contained(inPlace, std::optional<unsigned>(i - 3)))
      kind = "cache";
    buffer.set("kind", b.getStringAttr(kind));
    buffer.set("type", TypeAttr::get(entry.getArgument(i).getType()));
    buffers.push_back(buffer.getDictionary(entry.getContext()));
  }
  entry->setAttr(attn::AttnDialect::buffersAttr, b.getArrayAttr(buffers));
}

/// Checks the assumptions of this pass, which text of another stage may not meet.
LogicalResult verifyEntry(func::FuncOp entry) {
  if (!entry.getBody().hasOneBlock())
    return entry.emitOpError("is an entry, which needs a body of one block");
  for (Type type : llvm::concat<const Type>(entry.getArgumentTypes(), entry.getResultTypes()))
    if (!isa<RankedTensorType>(type))
      return entry.emitOpError() << "is an entry of tensors, but has an argument or result of type " << type;
  for (unsigned i = 0; i < entry.getNumArguments() + entry.getNumResults(); ++i) {
    const bool isArgument = i < entry.getNumArguments();
    const unsigned place = isArgument ? i : i - entry.getNumArguments();
    if (!(isArgument ? entry.getArgAttrOfType<StringAttr>(place, attn::AttnDialect::nameAttr)
                     : entry.getResultAttrOfType<StringAttr>(place, attn::AttnDialect::nameAttr)))
      return entry.emitOpError() << (isArgument ? "has no name for argument " : "has no name for result ") << place
                                 << " (" << attn::AttnDialect::nameAttr << ")";
  }
  return success();
}

LogicalResult lowerEntry(func::FuncOp entry) {
  if (failed(verifyEntry(entry)))
    return failure();
  MLIRContext *context = entry.getContext();
  ImplicitLocOpBuilder b(entry.getLoc(), context);
  Block &body = entry.getBody().front();
  Type bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());
  auto nameOf = [&](auto get, unsigned i) { return cast<StringAttr>(get(i, attn::AttnDialect::nameAttr)).getValue(); };
  auto argument = [&](unsigned i, StringRef name) { return entry.getArgAttr(i, name); };
  auto result = [&](unsigned i, StringRef name) { return entry.getResultAttr(i, name); };

  unsigned inputs = entry.getNumArguments();
  SmallVector<DictionaryAttr> attributes;
  auto named = [&](StringRef name) {
    return b.getDictionaryAttr(b.getNamedAttr(attn::AttnDialect::nameAttr, b.getStringAttr(name)));
  };
  attributes.append({named("env"), named("weights"), named("workspace")});
  for (unsigned i = 0; i < inputs; ++i)
    attributes.push_back(entry.getArgAttrDict(i));

  auto terminator = cast<func::ReturnOp>(body.getTerminator());
  // Results with an argument's name are that argument, updated in place; the others are outputs.
  SmallVector<std::optional<unsigned>> inPlace;
  for (unsigned i = 0; i < terminator.getNumOperands(); ++i) {
    std::optional<unsigned> same;
    for (unsigned j = 0; j < inputs; ++j)
      if (nameOf(argument, j) == nameOf(result, i))
        same = j;
    inPlace.push_back(same);
    if (!same)
      attributes.push_back(cast<DictionaryAttr>(entry.getResultAttrDict(i)));
  }

  body.insertArgument(0u, LLVM::LLVMPointerType::get(context), entry.getLoc());
  Value weights = body.insertArgument(1u, bytes, entry.getLoc());
  body.insertArgument(2u, bytes, entry.getLoc());
  SmallVector<Value> memory;
  b.setInsertionPointToStart(&body);
  for (unsigned i = 0; i < inputs; ++i) {
    BlockArgument tensor = body.getArgument(3 + i);
    bool writable = llvm::is_contained(inPlace, std::optional<unsigned>(i));
    Type type = tensor.getType();
    tensor.setType(memoryOf(type));
    auto asTensor = bufferization::ToTensorOp::create(b, type, tensor, /*restrict=*/true, writable);
    tensor.replaceAllUsesExcept(asTensor, asTensor);
    memory.push_back(tensor);
  }
  b.setInsertionPoint(terminator);
  for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
    Value target =
        inPlace[i] ? memory[*inPlace[i]] : Value(body.addArgument(memoryOf(value.getType()), entry.getLoc()));
    // An output is made in the caller's memory.
    if (Value empty = inPlace[i] ? Value() : emptyOrigin(value)) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfterValue(empty);
      empty.replaceAllUsesWith(
          bufferization::ToTensorOp::create(b, value.getType(), target, /*restrict=*/true, /*writable=*/true));
    }
    auto store = bufferization::MaterializeInDestinationOp::create(b, TypeRange(), terminator.getOperand(i), target);
    store.setRestrict(true);
    store.setWritable(true);
  }
  func::ReturnOp::create(b, Value(arith::ConstantOp::create(b, b.getI32IntegerAttr(0))));
  terminator.erase();
  while (entry.getNumResults() > 0)
    if (failed(entry.eraseResult(0)))
      return failure();
  entry.setFunctionType(FunctionType::get(context, body.getArgumentTypes(), {b.getI32Type()}));
  entry.setAllArgAttrs(attributes);

  describeBuffers(entry, attributes, inputs, inPlace);
  SmallVector<attn::ParameterSliceOp> slices;
  entry.walk([&](attn::ParameterSliceOp slice) { slices.push_back(slice); });
  for (attn::ParameterSliceOp slice : slices)
    if (failed(lowerSlice(slice, weights)))
      return failure();
  return success();
}

struct LowerEntries : rapt::impl::AttnLowerEntriesBase<LowerEntries> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(attn::AttnDialect::entryAttr) && failed(lowerEntry(entry)))
        return signalPassFailure();
  }
};

} // namespace
