//===- MaterializeLayouts.cpp - Logical shapes become those in memory ----------------===//
//
// Three steps: decide each parameter's layout from its uses, give it an offset in
// the weight file, then walk the entries in order and pad the types. Padding is
// zero and stays zero: weights and biases are zero there, so only normalization
// has to know how many columns count.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnCPU/CacheLayout.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/Transforms/ColumnGroups.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNMATERIALIZELAYOUTS
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using attn::kPanel;
using attn::padToPanel;

namespace {

/// Columns (or rows) that come in groups of `group`, each padded; one group of everything when `group` is 0.
int64_t padded(int64_t extent, int64_t group, bool padSingle) {
  if (group == 0)
    return padSingle ? padToPanel(extent) : extent;
  return extent / group * padToPanel(group);
}

/// How one use wants a parameter.
struct Wish {
  attn::LayoutKind kind = attn::LayoutKind::row_major;
  bool transposed = false; ///< The layout's [rows, columns] are the parameter's [columns, rows].
  int64_t columnGroup = 0, rowGroup = 0;
};

/// Whether attention, or its weights, read the operand by element.
template <typename Op> bool isTableOrVector(Op op, OpOperand &use) {
  OperandRange extras = op.getExtras();
  unsigned first = extras.getBeginOperandIndex(), place = use.getOperandNumber();
  return use.get() == op.getAdditive() ||
         (place >= first && place < first + extras.size() && op.isTable(place - first));
}

FailureOr<Wish> wishOf(OpOperand &use) {
  Operation *op = use.getOwner();
  Wish wish;
  if (auto linear = dyn_cast<attn::LinearOp>(op)) {
    wish.columnGroup = columnGroup(linear.getResult());
    if (use.get() == linear.getWeight()) {
      wish.kind = attn::LayoutKind::panels;
      wish.transposed = linear.getTransposed();
      wish.rowGroup = columnGroup(linear.getUnquantizedInput());
    }
    return wish;
  }
  if (auto recurrence = dyn_cast<attn::RecurrenceOp>(op);
      recurrence && (use.get() == recurrence.getWeight() || use.get() == recurrence.getBias())) {
    wish.kind = use.get() == recurrence.getWeight() ? attn::LayoutKind::panels : attn::LayoutKind::row_major;
    wish.columnGroup = columnGroupOf(recurrence.getHidden());
    return wish;
  }
  if (isa<attn::EmbeddingOp>(op) &&
      isa<attn::QuantizedType>(cast<RankedTensorType>(use.get().getType()).getElementType())) {
    wish.kind = attn::LayoutKind::panels;
    wish.transposed = true;
    return wish;
  }
  if (isa<attn::EmbeddingOp, attn::ImageTokensOp, attn::LayerNormOp, attn::ResizePositionsOp, attn::RMSNormOp>(op))
    return wish;
  if (auto attention = dyn_cast<attn::AttentionOp>(op); attention && isTableOrVector(attention, use))
    return wish;
  if (auto weights = dyn_cast<attn::AttentionWeightsOp>(op); weights && isTableOrVector(weights, use))
    return wish;
  return op->emitOpError("reads a parameter, but no layout is known for its use");
}

/// One layout for all uses. Panels serve an embedding too; anything else that differs is an error.
LogicalResult unite(attn::ParameterOp parameter, Wish &wish, const Wish &other) {
  bool otherIsPanels = other.kind == attn::LayoutKind::panels, isPanels = wish.kind == attn::LayoutKind::panels;
  if (!otherIsPanels && isPanels)
    return success();
  if (otherIsPanels && !isPanels) {
    wish = other;
    return success();
  }
  if (wish.transposed != other.transposed || wish.columnGroup != other.columnGroup || wish.rowGroup != other.rowGroup)
    return parameter.emitOpError("is read by two ops that need different layouts");
  return success();
}

/// Sets layout, physical type and offset; returns the end of the parameter in the weight file.
int64_t assign(attn::ParameterOp parameter, const Wish &wish, int64_t offset) {
  MLIRContext *context = parameter.getContext();
  RankedTensorType slice = parameter.getSliceType();
  SmallVector<int64_t> shape(slice.getShape()), physical;
  SmallVector<Attribute> sources(parameter.getSources().begin(), parameter.getSources().end());
  if (wish.transposed) {
    std::swap(shape[0], shape[1]);
    for (Attribute &source : sources) {
      auto s = cast<attn::SourceAttr>(source);
      source = attn::SourceAttr::get(context, s.getName(), !s.getTranspose(), s.getRows());
    }
  }
  int64_t columns = padded(shape.back(), wish.columnGroup, /*padSingle=*/true);
  Type element = slice.getElementType();
  int64_t k = 1, bytes;
  if (wish.kind == attn::LayoutKind::panels) {
    k = element.isBF16() ? 2 : 1;
    int64_t rows = padded(shape[0], wish.rowGroup, /*padSingle=*/false);
    physical = {columns / kPanel, (rows + k - 1) / k, kPanel * k};
  } else {
    physical = shape;
    physical.back() = columns;
  }
  if (auto quantized = dyn_cast<attn::QuantizedType>(element)) {
    element = quantized.along(0);
    k = 32 / quantized.bits(); // a word of 32 bits in each column
    bytes = quantized.panelBytes(physical[0], physical[1]).getNumElements();
  } else {
    bytes = llvm::product_of(physical) * slice.getElementTypeBitWidth() / 8;
  }
  int64_t stride = llvm::alignTo(bytes, 64), layers = parameter.getLayers().value_or(1);
  if (parameter.getLayers())
    physical.insert(physical.begin(), layers);
  OpBuilder builder(context);
  parameter.setSourcesAttr(builder.getArrayAttr(sources));
  parameter.setType(RankedTensorType::get(physical, element));
  parameter.setLayoutAttr(attn::LayoutAttr::get(context, wish.kind, shape, wish.columnGroup, wish.rowGroup, k));
  parameter.setOffset(offset);
  parameter.setStride(stride);
  return offset + stride * layers;
}

/// The regions' tables take the types of the operands. Where padding made a row longer, its end is still the logical
/// one.
template <typename Op> void retypeTables(Op op) {
  for (Region *region : {&op.getScore(), &op.getMask()}) {
    for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
      if (region->empty() || !op.isTable(i))
        continue;
      BlockArgument table = region->getArgument((region == &op.getScore() ? 5 : 4) + i);
      int64_t last = cast<RankedTensorType>(table.getType()).getShape().back();
      if (table.getType() == extra.getType())
        continue;
      table.setType(extra.getType());
      for (Operation *user : table.getUsers()) {
        OpBuilder b(user);
        Value end = arith::ConstantIndexOp::create(b, user->getLoc(), last - 1);
        OpOperand &index = user->getOpOperand(user->getNumOperands() - 1);
        index.set(arith::MinSIOp::create(b, user->getLoc(), index.get(), end));
      }
    }
  }
}

RankedTensorType withLast(Type type, int64_t last) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape.back() = last;
  return RankedTensorType::get(shape, tensor.getElementType());
}

/// Pads a vector that is a constant with zeros, as parameters are.
void padConstant(OpOperand &operand, int64_t columns) {
  auto constant = operand.get().getDefiningOp<arith::ConstantOp>();
  auto values = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (!values || values.getNumElements() == columns)
    return;
  SmallVector<APFloat> padded(values.getValues<APFloat>());
  padded.resize(columns, APFloat::getZero(padded.front().getSemantics()));
  OpBuilder b(constant);
  auto type = cast<RankedTensorType>(withLast(values.getType(), columns));
  operand.set(arith::ConstantOp::create(b, constant.getLoc(), DenseElementsAttr::get(type, padded)));
}

/// Pads the types of one op's results; operands are done already.
LogicalResult retype(Operation *op) {
  auto padLast = [](Value value) {
    value.setType(withLast(value.getType(), padToPanel(cast<RankedTensorType>(value.getType()).getShape().back())));
  };
  if (auto linear = dyn_cast<attn::LinearOp>(op)) {
    linear.setTransposed(false);
    // An entry's output has exact strides: the product stores its last panel narrow.
    if (linear->use_empty() || !llvm::all_of(linear->getUsers(), llvm::IsaPred<func::ReturnOp>))
      linear.getResult().setType(
          withLast(linear.getResult().getType(), linear.getWeight().getType().getDimSize(0) * kPanel));
  } else if (isa<attn::LayerNormOp, attn::RMSNormOp>(op)) {
    int64_t columns = cast<RankedTensorType>(op->getResult(0).getType()).getDimSize(1);
    op->getResult(0).setType(op->getOperand(0).getType());
    if (cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(1) != columns)
      op->setAttr("columns", Builder(op->getContext()).getI64IntegerAttr(columns));
    for (OpOperand &vector : op->getOpOperands().drop_front())
      padConstant(vector, cast<RankedTensorType>(op->getOperand(0).getType()).getDimSize(1));
  } else if (auto attention = dyn_cast<attn::AttentionOp>(op)) {
    auto value = cast<RankedTensorType>(attention.getValue().getType());
    auto shape = llvm::to_vector(attention.getResult().getType().getShape());
    shape[*attention.dimOf(3, attn::AttentionOp::DV)] = value.getDimSize(*attention.dimOf(2, attn::AttentionOp::DV));
    attention.getResult().setType(RankedTensorType::get(shape, attention.getResult().getType().getElementType()));
    retypeTables(attention);
  } else if (auto weights = dyn_cast<attn::AttentionWeightsOp>(op)) {
    retypeTables(weights);
  } else if (auto rounded = dyn_cast<attn::QuantizeRowsOp>(op)) {
    rounded.getResult().setType(withLast(rounded.getResult().getType(), rounded.getInput().getType().getDimSize(1)));
  } else if (isa<attn::EmbeddingOp, attn::KVViewOp, attn::PatchesOp, attn::ResizePositionsOp, attn::SinusoidsOp,
                 attn::SplitHeadsOp>(op)) {
    llvm::for_each(op->getResults(), padLast);
  } else if (isa<attn::ImageTokensOp, attn::PoolRowsOp, attn::SelectRowsOp>(op)) {
    auto input = cast<RankedTensorType>(op->getOperand(0).getType());
    op->getResult(0).setType(withLast(op->getResult(0).getType(), input.getShape().back()));
  } else if (auto recurrence = dyn_cast<attn::RecurrenceOp>(op)) {
    llvm::for_each(op->getResults(), padLast);
  } else if (auto concat = dyn_cast<attn::ConcatOp>(op); concat && concat.getColumns()) {
    for (auto [input, columns] : llvm::zip_equal(concat.getInputs(), *concat.getColumns()))
      if (cast<RankedTensorType>(input.getType()).getDimSize(1) != padToPanel(columns))
        return op->emitOpError() << "joins " << columns << " columns that are padded in groups, as " << input.getType();
    padLast(concat.getResult());
  } else if (isa<attn::ActivationOp, attn::GLUOp, attn::AddOp, attn::RopeOp, attn::KVAppendOp, attn::UpdateRowsOp>(
                 op)) {
    op->getResult(0).setType(op->getOperand(0).getType());
  } else if (auto merge = dyn_cast<attn::MergeHeadsOp>(op)) {
    ArrayRef<int64_t> heads = merge.getInput().getType().getShape().drop_front();
    merge.getResult().setType(withLast(merge.getResult().getType(), llvm::product_of(heads)));
  } else if (auto slice = dyn_cast<attn::ParameterSliceOp>(op)) {
    auto parameter = SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(op, slice.getParameterAttr());
    slice.getValue().setType(parameter.getSliceType());
  }
  return success();
}

LogicalResult retypeBlock(Block &block) {
  for (Operation &op : block) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, result] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
        argument.setType(init.getType());
        result.setType(init.getType());
      }
      if (failed(retypeBlock(*loop.getBody())))
        return failure();
    } else if (failed(retype(&op))) {
      return failure();
    }
  }
  return success();
}

/// Notes the columns of each input of a concat, while the types still tell them.
void noteColumns(attn::ConcatOp concat) {
  if (concat.getColumns())
    return;
  SmallVector<int64_t> columns;
  for (Value input : concat.getInputs())
    columns.push_back(cast<RankedTensorType>(input.getType()).getDimSize(1));
  concat.setColumns(columns);
}

/// A state of the model: an argument that the entry gives back under its name, as it does the cache. Its rows are
/// padded in memory, too. A kernel's arguments are arrays of the caller, as they are.
bool isState(func::FuncOp entry, BlockArgument argument) {
  if (attn::isKernelModule(entry->getParentOp()))
    return false;
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  Attribute name = entry.getArgAttr(argument.getArgNumber(), attn::AttnDialect::nameAttr);
  if (!name || !type || type.getRank() < 2 || !type.getElementType().isFloat())
    return false;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getResultAttr(i, attn::AttnDialect::nameAttr) == name)
      return true;
  return false;
}

/// Outputs have the strides that their types said before padding: a result that is padded in memory is cut.
void cutOutputs(func::FuncOp entry, TypeRange declared) {
  Operation *end = entry.getBody().front().getTerminator();
  OpBuilder b(end);
  for (auto [operand, type] : llvm::zip(end->getOpOperands(), declared)) {
    auto before = dyn_cast<RankedTensorType>(type), now = dyn_cast<RankedTensorType>(operand.get().getType());
    Attribute name = entry.getResultAttr(operand.getOperandNumber(), attn::AttnDialect::nameAttr);
    bool isState = llvm::any_of(llvm::seq(entry.getNumArguments()),
                                [&](unsigned i) { return entry.getArgAttr(i, attn::AttnDialect::nameAttr) == name; });
    if (!before || !now || isState || before.getRank() == 0 || before.getShape().back() == now.getShape().back())
      continue;
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, end->getLoc(), operand.get()),
                              offsets(sizes.size(), b.getIndexAttr(0)), strides(sizes.size(), b.getIndexAttr(1));
    sizes.back() = b.getIndexAttr(before.getShape().back());
    operand.set(tensor::ExtractSliceOp::create(b, end->getLoc(), before, operand.get(), offsets, sizes, strides));
  }
}

struct MaterializeLayouts : rapt::impl::AttnMaterializeLayoutsBase<MaterializeLayouts> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    llvm::MapVector<StringAttr, Wish> wishes;
    WalkResult walk = module.walk([&](attn::ParameterSliceOp slice) {
      auto parameter = SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr());
      for (OpOperand &use : slice.getValue().getUses()) {
        FailureOr<Wish> wish = wishOf(use);
        if (failed(wish))
          return WalkResult::interrupt();
        auto [it, isNew] = wishes.insert({parameter.getSymNameAttr(), *wish});
        if (!isNew && failed(unite(parameter, it->second, *wish)))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();

    int64_t offset = 0;
    for (auto parameter : module.getOps<attn::ParameterOp>())
      offset = assign(parameter, wishes.lookup(parameter.getSymNameAttr()), offset);

    // A kernel's columns stay as the caller's arrays have them.
    if (!attn::isKernelModule(module))
      module.walk(noteColumns);
    for (auto entry : module.getOps<func::FuncOp>()) {
      if (entry.isDeclaration())
        continue;
      for (BlockArgument argument : entry.getArguments())
        if (auto cache = dyn_cast<attn::KVCacheType>(argument.getType()))
          argument.setType(attn_cpu::CacheLayout::poolOf(cache));
        else if (isState(entry, argument))
          argument.setType(
              withLast(argument.getType(), padToPanel(cast<RankedTensorType>(argument.getType()).getShape().back())));
      // A kernel's ops have their padding already.
      if (!attn::isKernelModule(module) && failed(retypeBlock(entry.getBody().front())))
        return signalPassFailure();
      if (entry->hasAttr(attn::AttnDialect::entryAttr))
        cutOutputs(entry, entry.getResultTypes());
      entry.setFunctionType(FunctionType::get(&getContext(), entry.getBody().front().getArgumentTypes(),
                                              entry.getBody().front().getTerminator()->getOperandTypes()));
    }
  }
};

} // namespace
