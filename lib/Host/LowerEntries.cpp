//===- LowerEntries.cpp - Entries take memory of the caller --------------------------------===//
//
// An entry's tensors become memrefs that the caller owns, weights become views of one
// byte buffer, and the function returns a status. Only the cache and the outputs
// are writable.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Host/Passes.h"
#include "lib/Host/ResultStores.h"
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

/// Part `part` of a cache's blocks, which begins at byte `at` of each, as a view of the caller's memory.
Value viewPart(ImplicitLocOpBuilder &b, Value memory, RankedTensorType part, int64_t at) {
  const int64_t blockBytes = cast<MemRefType>(memory.getType()).getDimSize(1),
                bytes = part.getElementTypeBitWidth() / 8;
  Value zero = arith::ConstantIndexOp::create(b, 0), blocks = memref::DimOp::create(b, memory, zero);
  Value flat = memref::CollapseShapeOp::create(b, memory, ArrayRef<ReassociationIndices>{{0, 1}});
  auto whole = MemRefType::get({ShapedType::kDynamic, blockBytes / bytes}, part.getElementType());
  Value elements = memref::ViewOp::create(b, whole, flat, zero, ValueRange(blocks));
  const int64_t count = llvm::product_of(part.getShape().drop_front());
  SmallVector<OpFoldResult> offsets{b.getIndexAttr(0), b.getIndexAttr(at / bytes)},
      sizes{blocks, b.getIndexAttr(count)}, strides(2, b.getIndexAttr(1));
  Value slice = memref::SubViewOp::create(b, elements, offsets, sizes, strides);
  SmallVector<ReassociationIndices> groups{{0}, llvm::to_vector<2>(llvm::seq<int64_t>(1, part.getRank()))};
  SmallVector<OpFoldResult> extents{blocks};
  for (int64_t extent : part.getShape().drop_front())
    extents.push_back(b.getIndexAttr(extent));
  return memref::ExpandShapeOp::create(b, part.getShape(), slice, groups, extents);
}

/// The parts of a cache become views of an argument's memory, and the cache from its parts writes them there.
class CacheParts {
public:
  /// `tensors` are the arguments `memory` as tensors.
  CacheParts(ArrayRef<Value> tensors, ArrayRef<Value> memory) : tensors(tensors), memory(memory) {}

  LogicalResult lower(attn::CachePartsOp op, ArrayRef<bool> isWritable) {
    auto *it = llvm::find(tensors, op.getCache());
    if (it == tensors.end())
      return op.emitOpError("takes the parts of what is no argument of its entry");
    const size_t argument = it - tensors.begin();
    ImplicitLocOpBuilder b(op.getLoc(), op);
    for (auto [part, at] : llvm::zip_equal(op.getParts(), op.getAt())) {
      auto type = cast<RankedTensorType>(part.getType());
      Value view = viewPart(b, memory[argument], type, at);
      views[{argument, at}] = view;
      part.replaceAllUsesWith(
          bufferization::ToTensorOp::create(b, type, view, /*restrict=*/true, isWritable[argument]));
    }
    op.erase();
    return success();
  }

  /// Adds to `stores` the parts of what argument `argument` becomes.
  LogicalResult store(host::ResultStores &stores, attn::CacheJoinOp op, size_t argument) const {
    for (auto [part, at] : llvm::zip_equal(op.getParts(), op.getAt())) {
      Value view = views.lookup({argument, at});
      if (!view || cast<MemRefType>(view.getType()).getShape() != cast<RankedTensorType>(part.getType()).getShape())
        return op.emitOpError("joins other parts than those that its entry begins with");
      stores.add(part, view);
    }
    return success();
  }

private:
  ArrayRef<Value> tensors, memory;
  llvm::DenseMap<std::pair<size_t, int64_t>, Value> views;
};

/// The empty tensor that loops, and both sides of branches, fill to make `value`. Counts its uses by them.
Value originOf(Value value, unsigned &uses) {
  constexpr unsigned kMostUses = 16; // branches of branches would have more
  while (Operation *op = uses < kMostUses ? value.getDefiningOp() : nullptr) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto forall = dyn_cast<scf::ForallOp>(op)) {
      value = forall.getOutputs()[number];
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      value = loop.getInitArgs()[number];
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      Value one = originOf(branch.thenYield().getOperand(number), uses);
      return one && originOf(branch.elseYield().getOperand(number), uses) == one ? one : Value();
    } else {
      ++uses;
      return isa<tensor::EmptyOp>(op) ? value : Value();
    }
  }
  return {};
}

/// The same, if nothing else is made in it.
Value emptyOrigin(Value value) {
  unsigned uses = 0;
  Value empty = originOf(value, uses);
  return empty && empty.hasNUses(uses) ? empty : Value();
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

/// Results with an argument's name are that argument, updated in place; the others are outputs.
SmallVector<std::optional<unsigned>> argumentsOfResults(func::FuncOp entry) {
  SmallVector<std::optional<unsigned>> arguments;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    std::optional<unsigned> same;
    for (unsigned j = 0; j < entry.getNumArguments(); ++j)
      if (entry.getArgAttr(j, attn::AttnDialect::nameAttr) == entry.getResultAttr(i, attn::AttnDialect::nameAttr))
        same = j;
    arguments.push_back(same);
  }
  return arguments;
}

LogicalResult lowerEntry(func::FuncOp entry) {
  if (failed(verifyEntry(entry)))
    return failure();
  MLIRContext *context = entry.getContext();
  ImplicitLocOpBuilder b(entry.getLoc(), context);
  Block &body = entry.getBody().front();
  Type bytes = MemRefType::get({ShapedType::kDynamic}, b.getI8Type());

  unsigned inputs = entry.getNumArguments();
  SmallVector<DictionaryAttr> attributes;
  auto named = [&](StringRef name) {
    return b.getDictionaryAttr(b.getNamedAttr(attn::AttnDialect::nameAttr, b.getStringAttr(name)));
  };
  attributes.append({named("env"), named("weights"), named("workspace")});
  for (unsigned i = 0; i < inputs; ++i)
    attributes.push_back(entry.getArgAttrDict(i));

  auto terminator = cast<func::ReturnOp>(body.getTerminator());
  const SmallVector<std::optional<unsigned>> inPlace = argumentsOfResults(entry);
  for (auto [i, same] : llvm::enumerate(inPlace))
    if (!same)
      attributes.push_back(cast<DictionaryAttr>(entry.getResultAttrDict(i)));

  body.insertArgument(0u, LLVM::LLVMPointerType::get(context), entry.getLoc());
  Value weights = body.insertArgument(1u, bytes, entry.getLoc());
  body.insertArgument(2u, bytes, entry.getLoc());
  SmallVector<Value> memory, tensors;
  SmallVector<bool> isWritable;
  b.setInsertionPointToStart(&body);
  for (unsigned i = 0; i < inputs; ++i) {
    BlockArgument tensor = body.getArgument(3 + i);
    bool writable = llvm::is_contained(inPlace, std::optional<unsigned>(i));
    Type type = tensor.getType();
    tensor.setType(memoryOf(type));
    auto asTensor = bufferization::ToTensorOp::create(b, type, tensor, /*restrict=*/true, writable);
    tensor.replaceAllUsesExcept(asTensor, asTensor);
    memory.push_back(tensor), tensors.push_back(asTensor), isWritable.push_back(writable);
  }
  CacheParts caches(tensors, memory);
  for (auto parts : llvm::make_early_inc_range(body.getOps<attn::CachePartsOp>()))
    if (failed(caches.lower(parts, isWritable)))
      return failure();
  b.setInsertionPoint(terminator);
  host::ResultStores stores;
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
    auto join = value.getDefiningOp<attn::CacheJoinOp>();
    if (!join || !inPlace[i])
      stores.add(terminator.getOperand(i), target);
    else if (failed(caches.store(stores, join, *inPlace[i])))
      return failure();
  }
  stores.emit(b);
  func::ReturnOp::create(b, Value(arith::ConstantOp::create(b, b.getI32IntegerAttr(0))));
  terminator.erase();
  for (auto join : llvm::make_early_inc_range(body.getOps<attn::CacheJoinOp>()))
    if (join->use_empty())
      join.erase();
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
