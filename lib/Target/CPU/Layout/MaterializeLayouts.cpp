//===- MaterializeLayouts.cpp - Logical shapes become those in memory ----------------===//
//
// Three steps: decide each parameter's layout from its uses, give it an offset in
// the weight file, then walk the entries in order and pad the types. Padding is
// zero: weights and biases are zero there, and what an op makes of zeros that is not zero
// is overwritten. Only normalization has to know how many columns count.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnCPU/CacheLayout.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Analysis/DimRelations.h"
#include "lib/Host/CacheMemory.h"
#include "lib/Host/WeightOffsets.h"
#include "lib/Support/EntryRoles.h"
#include "lib/Target/CPU/Layout/Columns.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/Target/CPU/Layout/VerifyLayouts.h"
#include "lib/Target/CPU/Layout/ZeroPadding.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/CheckedArithmetic.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNMATERIALIZELAYOUTS
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using attn_cpu::kPanel;
using attn_cpu::padToPanel;

namespace {

/// The layout that one use of a parameter needs.
struct LayoutConstraint {
  bool isPacked = false;
  bool transposed = false; ///< The layout's [rows, columns] are the parameter's [columns, rows].
  int64_t columnGroup = 0, rowGroup = 0;
  Operation *upstream = nullptr; ///< an op that reads a tensor of the logical shape, not a weight
};

/// Whether an op is of a dialect that knows no layouts, or one whose states have the extents that count: channels of
/// keys, heads of a decay and channels of a convolution are no rows that padding may follow.
bool isUpstream(Operation *op) {
  if (isa_and_nonnull<attn::LinearAttentionOp, attn::ShortConvOp>(op))
    return true;
  return op && !attn::isAttnOp(op) &&
         isa<arith::ArithDialect, linalg::LinalgDialect, math::MathDialect, tensor::TensorDialect>(op->getDialect());
}

/// How an op reads an operand as a weight; none where it reads a tensor as any other.
std::optional<attn::WeightUse> weightUseOf(OpOperand &use) {
  auto op = dyn_cast<attn::ChannelsOpInterface>(use.getOwner());
  return op ? op.getWeightUse(use) : std::nullopt;
}

/// Weights of matmuls are read in panels, all others as rows.
FailureOr<LayoutConstraint> constraintOf(OpOperand &use) {
  std::optional<attn::WeightUse> weight = weightUseOf(use);
  if (!weight && !isUpstream(use.getOwner()) && !attn::isAttnOp(use.getOwner()))
    return use.getOwner()->emitOpError("reads a parameter, but no layout is known for its use");
  if (!weight)
    return LayoutConstraint{.upstream = use.getOwner()};
  LayoutConstraint constraint;
  constraint.columnGroup = weight->matrix    ? (weight->matrix % kPanel == 0 ? 0 : weight->matrix)
                           : weight->columns ? cpu::paddedGroup(weight->columns)
                                             : 0;
  if (weight->contracted) {
    constraint.isPacked = true;
    constraint.transposed = *weight->contracted == 1;
    constraint.rowGroup = weight->depth ? cpu::paddedGroup(weight->depth) : 0;
  }
  return constraint;
}

/// One layout for all uses. Panels serve an embedding too; anything else that differs is an error.
LogicalResult merge(attn::ParameterOp parameter, LayoutConstraint &constraint, const LayoutConstraint &other) {
  Operation *upstream = constraint.upstream ? constraint.upstream : other.upstream;
  if (upstream && (constraint.isPacked || other.isPacked))
    return upstream->emitOpError() << "reads '" << parameter.getSymName()
                                   << "', which a matmul reads as packed panels: "
                                   << "declare a second parameter from the same tensors";
  if (other.isPacked != constraint.isPacked) {
    constraint = other.isPacked ? other : constraint;
    return success();
  }
  constraint.upstream = upstream;
  if (constraint.transposed != other.transposed || constraint.columnGroup != other.columnGroup ||
      constraint.rowGroup != other.rowGroup)
    return parameter.emitOpError("is read by two ops that need different layouts");
  return success();
}

/// A layout, and the type of one layer of a parameter in it. The layout is null where the parameter fits none, of which
/// its verifier tells.
using Stored = std::pair<attn::ParameterLayoutInterface, RankedTensorType>;

/// Rows, each with padding behind its groups of columns. A single element is not padded.
Stored rowsOf(attn::ParameterOp parameter, int64_t columnGroup) {
  RankedTensorType slice = parameter.getSliceType();
  if (failed(attn::RowsAttr::verify([&] { return parameter.emitOpError("has no layout: "); }, slice.getShape(),
                                    columnGroup)))
    return {};
  SmallVector<int64_t> shape(slice.getShape());
  if (!shape.empty()) {
    const int64_t group = columnGroup ? columnGroup : shape.back();
    shape.back() = shape.back() / group * padToPanel(group);
  }
  return {attn::RowsAttr::get(parameter.getContext(), slice.getShape(), columnGroup),
          RankedTensorType::get(shape, slice.getElementType())};
}

Stored panelsOf(attn::ParameterOp parameter, const LayoutConstraint &constraint) {
  SmallVector<int64_t> shape(parameter.getSliceType().getShape());
  if (constraint.transposed)
    std::swap(shape[0], shape[1]);
  Type element = parameter.getSliceType().getElementType();
  if (auto quantized = dyn_cast<attn::QuantizedType>(element))
    element = quantized.along(0);
  if (failed(attn_cpu::PackedAttr::verify([&] { return parameter.emitOpError("has no layout: "); }, shape,
                                          constraint.columnGroup, constraint.rowGroup, /*interleave=*/1)))
    return {};
  auto layout = attn_cpu::PackedAttr::of(element, shape, constraint.columnGroup, constraint.rowGroup);
  return {layout, layout.getStored(element)};
}

/// Sets layout, physical type and offset; returns the end of the parameter in the weight file.
FailureOr<int64_t> assign(attn::ParameterOp parameter, const LayoutConstraint &constraint, int64_t offset) {
  auto [layout, stored] =
      constraint.isPacked ? panelsOf(parameter, constraint) : rowsOf(parameter, constraint.columnGroup);
  if (!layout)
    return failure();
  if (constraint.transposed)
    parameter.transposeSources();
  return appendToWeights(parameter, layout, stored, cpu::inWeightFile(stored), offset);
}

RankedTensorType withDim(Type type, unsigned dim, int64_t size) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape(tensor.getShape());
  shape[dim] = size;
  return RankedTensorType::get(shape, tensor.getElementType());
}

RankedTensorType withLast(Type type, int64_t last) {
  return withDim(type, cast<RankedTensorType>(type).getRank() - 1, last);
}

/// Pads the rows of a constant with zeros, as parameters are.
void padConstant(OpOperand &operand, int64_t columns) {
  auto constant = operand.get().getDefiningOp<arith::ConstantOp>();
  auto values = constant ? dyn_cast<DenseFPElementsAttr>(constant.getValue()) : DenseFPElementsAttr();
  if (!values || values.getType().getRank() == 0 || values.getType().getShape().back() >= columns)
    return;
  SmallVector<APFloat> padded;
  const int64_t width = values.getType().getShape().back();
  for (auto [i, value] : llvm::enumerate(values.getValues<APFloat>())) {
    padded.push_back(value);
    if (static_cast<int64_t>(i + 1) % width == 0)
      padded.append(columns - width, APFloat::getZero(value.getSemantics()));
  }
  OpBuilder b(constant);
  auto type = cast<RankedTensorType>(withLast(values.getType(), columns));
  operand.set(arith::ConstantOp::create(b, constant.getLoc(), DenseElementsAttr::get(type, padded)));
}

/// Arithmetic of static extents; none where one is dynamic.
struct StaticExtents {
  using T = std::optional<int64_t>;

  T dim(Value tensor, unsigned i) {
    int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(i);
    return ShapedType::isDynamic(size) ? T() : T(size);
  }
  T index(Value) { return {}; }
  T number(int64_t number) { return number; }
  T combine(AffineExprKind kind, T lhs, T rhs) {
    if (!lhs || !rhs)
      return {};
    return kind == AffineExprKind::Add   ? llvm::checkedAdd(*lhs, *rhs)
           : kind == AffineExprKind::Mul ? llvm::checkedMul(*lhs, *rhs)
           : *lhs >= 0 && *rhs > 0       ? T(*lhs / *rhs)
                                         : T();
  }
};

/// The channels of an operand or result in memory: those that follow from the operands, which have theirs already, or
/// its own padded to panels.
std::optional<int64_t> channelsInMemory(const attn::DimRelations &dims, Value tensor, unsigned dim) {
  StaticExtents extents;
  AffineExpr expr = dims.find(tensor, dim);
  if (std::optional<int64_t> channels = expr ? dims.evaluate<std::optional<int64_t>>(expr, extents) : std::nullopt)
    return channels;
  std::optional<int64_t> own = extents.dim(tensor, dim);
  return own ? std::optional(padToPanel(*own)) : std::nullopt;
}

/// The channels of each operand before it is padded, by op.
using ChannelCounts = llvm::DenseMap<Operation *, SmallVector<int64_t>>;

ChannelCounts countChannels(ModuleOp module) {
  ChannelCounts counts;
  module.walk([&](attn::ChannelsOpInterface op) {
    SmallVector<int64_t> &channels = counts[op];
    for (OpOperand &operand : op->getOpOperands()) {
      std::optional<unsigned> dim = op.getChannelsDim(operand);
      channels.push_back(dim ? cast<RankedTensorType>(operand.get().getType()).getDimSize(*dim) : 0);
    }
  });
  return counts;
}

/// Whether an op quantizes rows in groups that do not begin anew with each part of the columns, as blocks of a file
/// are.
bool quantizesWhole(Operation *op) {
  auto quantize = dyn_cast<attn::QuantizeRowsOp>(op);
  return quantize && cast<attn::QuantizedType>(quantize.getResult().getType().getElementType()).getPeriod() == 0;
}

/// A tensor before it is padded: its type, and the columns of a part where parts are padded each. The columns of parts
/// are only known for what an op of another dialect or one that knows no parts reads, an op makes that does not keep
/// zeros, or an entry gives back.
struct Logical {
  RankedTensorType type;
  int64_t group = 0;
  bool keepsZeros = true; ///< of the op that makes it
};
using LogicalTypes = llvm::DenseMap<Value, Logical>;

/// The columns of a part of `type` that are padded each; 0 where one part is all of them, whose padding is the row's.
int64_t groupIn(RankedTensorType type, int64_t group) { return group && group != type.getShape().back() ? group : 0; }

LogicalTypes logicalTypes(ModuleOp module) {
  LogicalTypes types;
  auto take = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    Operation *op = value.getDefiningOp();
    const bool keepsZeros = !op || cpu::keepsZeros(op);
    const bool needsGroup = !keepsZeros || llvm::any_of(value.getUsers(), [](Operation *user) {
      return isUpstream(user) || isa<func::ReturnOp>(user) || quantizesWhole(user);
    });
    types[value] = {type, needsGroup ? groupIn(type, cpu::paddedGroup(value)) : 0, keepsZeros};
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResults(), take);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), take);
  });
  return types;
}

/// Whether an op of another dialect made `value`, whose columns are then as its type said at first.
bool isMadeUpstream(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument != loop.getInductionVar() && isMadeUpstream(loop.getTiedLoopInit(argument)->get());
  }
  Operation *op = value.getDefiningOp();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return isMadeUpstream(loop.getInitArgs()[cast<OpResult>(value).getResultNumber()]);
  return isUpstream(op) && !isa<arith::ConstantOp>(op);
}

/// Ops of other dialects read the columns that count.
LogicalResult cutOperands(Operation *op, const LogicalTypes &logical) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  for (OpOperand &operand : op->getOpOperands()) {
    auto [type, group, keepsZeros] = logical.lookup(operand.get());
    if (!type || type == operand.get().getType())
      continue;
    if (auto dim = dyn_cast<tensor::DimOp>(op))
      if (std::optional<int64_t> i = dim.getConstantIndex(); i && type.isDynamicDim(*i))
        continue;
    if (group)
      return op->emitOpError() << "reads " << type << ", whose columns the CPU pads in groups of " << group
                               << ": read the heads after attn.split_heads instead";
    operand.set(cpu::cutTo(b, operand.get(), type));
  }
  return success();
}

/// Whether `operand` is the weight of a matmul and no parameter.
bool isComputedWeight(OpOperand &operand) {
  auto linear = dyn_cast<attn::LinearOp>(operand.getOwner());
  return linear && &operand == &linear.getWeightMutable() && !linear.isQuantized() &&
         linear.getWeight().getType().hasStaticShape() && !operand.get().getDefiningOp<attn::ParameterSliceOp>();
}

/// Whether a matmul's weight is no parameter and has dynamic extents: it is multiplied where it lies, without padding.
bool hasDynamicWeight(Operation *op) {
  auto linear = dyn_cast<attn::LinearOp>(op);
  return linear && !linear.getWeight().getType().hasStaticShape() &&
         !linear.getWeight().getDefiningOp<attn::ParameterSliceOp>();
}

/// An op of attn reads a parameter that is no weight of its own, a weight that is no parameter, and columns by which it
/// counts, as what an op of another dialect made.
void cutParameters(Operation *op, const LogicalTypes &logical) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  for (OpOperand &operand : op->getOpOperands()) {
    const bool isTensor = operand.get().getDefiningOp<attn::ParameterSliceOp>() && !weightUseOf(operand);
    RankedTensorType type = logical.lookup(operand.get()).type;
    const bool isFactors = attn::elementUseOf(operand) == attn::ElementUse::factors;
    const bool isCut = isTensor || isComputedWeight(operand) || isFactors || hasDynamicWeight(op);
    if (isCut && type && type != operand.get().getType())
      operand.set(cpu::cutTo(b, operand.get(), type));
  }
}

/// Whether `use` are values for rows that are padded.
bool goesIntoPadding(attn::WriteRowsOp op, OpOperand &use) {
  auto columnsOf = [](Value value) { return cast<RankedTensorType>(value.getType()).getShape().back(); };
  return &use == &op.getValuesMutable() && columnsOf(op.getValues()) != columnsOf(op.getInput());
}

/// Whether `use` is an array of the caller that its op reads with padding: the element that it computes of [rows,
/// columns], and what it writes into a cache or into padded rows. A cast of heads has no other operand, and keeps their
/// channels.
bool readsCallersArray(OpOperand &use) {
  auto linear = dyn_cast<attn::LinearOp>(use.getOwner());
  auto argument = dyn_cast<BlockArgument>(use.get());
  auto type = dyn_cast<RankedTensorType>(use.get().getType());
  if (!argument || !type || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return false;
  if (isa<attn::KVAppendOp>(use.getOwner()))
    return true;
  if (auto write = dyn_cast<attn::WriteRowsOp>(use.getOwner()))
    return goesIntoPadding(write, use);
  if (linear && linear.isOfHeads())
    return &use == &linear.getInputMutable();
  return type.getRank() <= 2 &&
         (linear ? &use != &linear.getInputMutable() : isa<attn::EpilogueOpInterface>(use.getOwner()));
}

/// Whether `value` has its columns one behind another in memory, and its padding behind the last: what norms and
/// matmuls by groups give, elementwise ops on it, and its rows in another order.
bool hasLeadingColumns(Value value) {
  if (auto select = value.getDefiningOp<attn::SelectRowsOp>())
    return hasLeadingColumns(select.getInput());
  if (auto linear = value.getDefiningOp<attn::LinearOp>())
    return static_cast<bool>(linear.getGroups());
  if (auto elementwise = value.getDefiningOp<attn::EpilogueOpInterface>())
    return llvm::all_of(elementwise->getOperands(), hasLeadingColumns);
  auto op = value.getDefiningOp<attn::ChannelsOpInterface>();
  return op && op.takesLeadingChannels();
}

/// Columns of a part of what the op reads; 0 where it knows no parts. A matmul adds what has the parts of its result.
int64_t partsOf(attn::ChannelsOpInterface op, OpOperand &operand) {
  auto linear = dyn_cast<attn::LinearOp>(op.getOperation());
  if (!linear || !llvm::is_contained(linear.getExtras(), operand.get()))
    return op.getChannelGroup(operand.get());
  const bool isOfRows = cast<RankedTensorType>(operand.get().getType()).getRank() != 1;
  return isOfRows && !linear.hasMatrices() ? cpu::paddedGroup(linear.getResult()) : 0;
}

/// Ops of attn read what an op of another dialect or a caller made with the padding that they expect, and heads with
/// padding behind each.
LogicalResult padOperands(attn::ChannelsOpInterface op, const LogicalTypes &logical) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto linear = dyn_cast<attn::LinearOp>(op.getOperation());
  for (OpOperand &operand : op->getOpOperands()) {
    // Matrices of whole panels are packed as one.
    if (linear && linear.hasMatrices() && isComputedWeight(operand) &&
        linear.getResult().getType().getShape().back() % kPanel != 0)
      return op->emitOpError() << "multiplies rows by one of several matrices each, which are no parameter: the CPU "
                               << "takes only parameters here, or matrices of a multiple of " << kPanel << " columns";
    if (isComputedWeight(operand)) {
      Value packed = cpu::packWeight(b, linear);
      if (packed != operand.get())
        linear.setLayoutAttr(attn_cpu::PanelsAttr::of(b.getContext(), /*interleave=*/1));
      operand.set(packed);
      continue;
    }
    if (const Logical before = logical.lookup(operand.get());
        before.group && before.type != operand.get().getType() && quantizesWhole(op)) {
      operand.set(cpu::cutGroups(b, operand.get(), before.type, before.group));
      continue;
    }
    const int64_t parts = partsOf(op, operand);
    if (parts % kPanel != 0 && hasLeadingColumns(operand.get())) {
      operand.set(cpu::padGroups(b, operand.get(), logical.lookup(operand.get()).type, parts));
      continue;
    }
    if (!isMadeUpstream(operand.get()) && !readsCallersArray(operand))
      continue;
    auto type = dyn_cast<RankedTensorType>(operand.get().getType());
    std::optional<unsigned> dim = type ? op.getChannelsDim(operand) : std::nullopt;
    if (!dim || type.isDynamicDim(*dim) || type.getDimSize(*dim) % kPanel == 0)
      continue;
    int64_t group = groupIn(type, cpu::paddedGroup(operand.get()));
    if (*dim + 1 != type.getRank() || group)
      return op->emitOpError() << "takes " << type << " of an op of another dialect, whose channels the CPU cannot pad"
                               << (group ? " in groups" : ", as they are not the last dim");
    operand.set(cpu::padTo(b, operand.get(), padToPanel(type.getDimSize(*dim))));
  }
  return success();
}

/// Ops read weights as their parameters lie: an op that can read one in a layout has the attribute `layout`.
void setLayout(attn::ChannelsOpInterface op) {
  auto isWeight = [&](OpOperand &operand) { return op.getWeightUse(operand).has_value(); };
  if (!op->getInherentAttr("layout") || llvm::none_of(op->getOpOperands(), isWeight))
    return;
  attn_cpu::PanelsAttr layout;
  for (OpOperand &operand : op->getOpOperands()) {
    auto slice = isWeight(operand) ? operand.get().getDefiningOp<attn::ParameterSliceOp>() : nullptr;
    auto parameter =
        slice ? SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr()) : nullptr;
    if (parameter && isa<attn_cpu::PackedAttr>(*parameter.getLayout()))
      layout = attn_cpu::PanelsAttr::of(slice.getValue().getType().getElementType());
  }
  if (layout)
    op->setAttr("layout", layout);
  else
    op->removeAttr("layout");
}

/// The columns in memory that a matmul gives.
int64_t columnsOf(attn::LinearOp op) {
  if (op.hasMatrices())
    return padToPanel(op.getResult().getType().getShape().back());
  RankedTensorType weight = op.getWeight().getType();
  return op.getLayout() ? op.getLayout()->getColumns(weight) : padToPanel(weight.getDimSize(1));
}

/// Pads the types of one op's results; operands are done already.
LogicalResult retype(Operation *op, const ChannelCounts &counts, const LogicalTypes &logical) {
  if (auto slice = dyn_cast<attn::ParameterSliceOp>(op)) {
    auto parameter = SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(op, slice.getParameterAttr());
    slice.getValue().setType(parameter.getSliceType());
  }
  auto channels = dyn_cast<attn::ChannelsOpInterface>(op);
  if (!channels)
    return success();
  if (hasDynamicWeight(op))
    return success();
  setLayout(channels);
  if (failed(padOperands(channels, logical)))
    return failure();
  ArrayRef<int64_t> before = counts.find(op)->second;
  if (channels.takesLeadingChannels())
    for (auto [operand, count] : llvm::zip_equal(op->getOpOperands(), before))
      if (std::optional<unsigned> dim = channels.getChannelsDim(operand))
        if (auto type = cast<RankedTensorType>(operand.get().getType());
            type.getDimSize(*dim) != count && type.getDimSize(*dim) != padToPanel(count))
          return op->emitOpError() << "takes " << count << " columns that are padded in groups, as " << type;
  if (failed(channels.keepChannels(before, padToPanel)))
    return failure();
  if (auto linear = dyn_cast<attn::LinearOp>(op)) {
    linear.setTransposed(false);
    for (OpOperand &extra : linear.getExtrasMutable())
      padConstant(extra, columnsOf(linear));
    // An entry's output has exact strides: the matmul stores its last panel narrow, but reads a residual by whole
    // panels.
    const bool readsRows = linear.hasMatrices() || llvm::any_of(linear.getExtras().getTypes(), [](Type type) {
                             return cast<RankedTensorType>(type).getRank() != 1;
                           });
    if (readsRows || linear->use_empty() || !llvm::all_of(linear->getUsers(), llvm::IsaPred<func::ReturnOp>))
      linear.getResult().setType(withLast(linear.getResult().getType(), columnsOf(linear)));
    return success();
  }
  attn::DimRelations dims(op->getContext());
  relateDims(op, dims);
  for (OpOperand &operand : op->getOpOperands())
    if (std::optional<unsigned> dim = channels.getChannelsDim(operand))
      if (std::optional<int64_t> size = channelsInMemory(dims, operand.get(), *dim))
        padConstant(operand, *size);
  for (Value result : op->getResults()) {
    std::optional<unsigned> dim = channels.getResultChannelsDim(result);
    if (std::optional<int64_t> size = dim ? channelsInMemory(dims, result, *dim) : std::nullopt)
      result.setType(withDim(result.getType(), *dim, *size));
  }
  return success();
}

/// The values that an iteration yields have the columns that the loop carries.
void adaptYield(scf::ForOp loop) {
  ImplicitLocOpBuilder b(loop.getLoc(), loop.getBody()->getTerminator());
  for (auto [argument, operand] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getBody()->getTerminator()->getOpOperands())) {
    auto type = dyn_cast<RankedTensorType>(argument.getType()),
         made = dyn_cast<RankedTensorType>(operand.get().getType());
    if (!type || !made || type == made)
      continue;
    operand.set(made.getShape().back() > type.getShape().back() ? cpu::cutTo(b, operand.get(), type)
                                                                : cpu::padTo(b, operand.get(), type.getShape().back()));
  }
}

/// The padding of a result is zero, whatever its op writes there.
void zeroPadding(Operation *op, LogicalTypes &logical) {
  Value result = op->getNumResults() == 1 ? Value(op->getResult(0)) : Value();
  const Logical before = logical.lookup(result);
  if (before.keepsZeros || result.getType() == before.type)
    return;
  auto type = cast<RankedTensorType>(result.getType());
  ImplicitLocOpBuilder b(op->getLoc(), op->getContext());
  b.setInsertionPointAfter(op);
  const int64_t columns = type.getShape().back(), group = before.group;
  Value zeroed = group ? cpu::zeroPadding(b, result, group, padToPanel(group))
                       : cpu::zeroPadding(b, result, before.type.getShape().back(), columns);
  if (Attribute number = op->getAttr(attn::AttnDialect::opAttr))
    zeroed.getDefiningOp()->setAttr(attn::AttnDialect::opAttr, number);
  result.replaceUsesWithIf(zeroed, [&](OpOperand &use) {
    return use.getOwner() != zeroed.getDefiningOp() && !isa<tensor::DimOp>(use.getOwner());
  });
  logical[zeroed] = before;
}

LogicalResult retypeBlock(Block &block, const ChannelCounts &counts, LogicalTypes &logical) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      for (auto [init, argument, result] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults())) {
        argument.setType(init.getType());
        result.setType(init.getType());
      }
      if (failed(retypeBlock(*loop.getBody(), counts, logical)))
        return failure();
      adaptYield(loop);
    } else if (isUpstream(&op) && !op.hasTrait<OpTrait::IsTerminator>()) {
      if (failed(cutOperands(&op, logical)))
        return failure();
    } else {
      cutParameters(&op, logical);
      if (failed(retype(&op, counts, logical)))
        return failure();
      zeroPadding(&op, logical);
    }
  }
  return success();
}

/// A state of the model: an argument that the entry gives back under its name, as it does the cache. Its rows are
/// padded in memory, too, but for what linear attention and short convolutions keep. A kernel's arguments are arrays of
/// the caller, as they are.
bool isState(func::FuncOp entry, BlockArgument argument) {
  if (attn::isKernelModule(entry->getParentOp()))
    return false;
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  Attribute name = entry.getArgAttr(argument.getArgNumber(), attn::AttnDialect::nameAttr);
  if (entry.getArgAttr(argument.getArgNumber(), attn::AttnDialect::cacheAttr))
    return false;
  constexpr int64_t rankOfRows = 3; // slots, parts, columns
  if (!name || !type || type.getRank() < 2 || type.getRank() > rankOfRows || !type.getElementType().isFloat() ||
      cast<StringAttr>(name) == nameOf(EntryRole::ConvState))
    return false;
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (entry.getResultAttr(i, attn::AttnDialect::nameAttr) == name)
      return true;
  return false;
}

/// Outputs have the strides that their types said before padding: a result that is padded in memory is cut.
void cutOutputs(func::FuncOp entry, TypeRange declared, const LogicalTypes &logical) {
  Operation *end = entry.getBody().front().getTerminator();
  for (auto [operand, type] : llvm::zip(end->getOpOperands(), declared)) {
    auto before = dyn_cast<RankedTensorType>(type), now = dyn_cast<RankedTensorType>(operand.get().getType());
    Attribute name = entry.getResultAttr(operand.getOperandNumber(), attn::AttnDialect::nameAttr);
    const auto state = llvm::find_if(entry.getArguments(), [&](BlockArgument argument) {
      return entry.getArgAttr(argument.getArgNumber(), attn::AttnDialect::nameAttr) == name;
    });
    const bool isState = state != entry.getArguments().end();
    if (!before || !now || before.getRank() == 0)
      continue;
    ImplicitLocOpBuilder b(end->getLoc(), end);
    if (isState && isMadeUpstream(operand.get()))
      operand.set(cpu::padTo(b, operand.get(), cast<RankedTensorType>((*state).getType()).getShape().back()));
    else if (!isState && before.getShape().back() != now.getShape().back())
      operand.set(cpu::cutGroups(b, operand.get(), before, logical.lookup(operand.get()).group));
  }
}

/// A kernel's ops have their padding already, but for what they write into a cache, which pads the heads that it takes.
void padAppended(func::FuncOp kernel) {
  kernel.walk([](attn::KVAppendOp append) {
    ImplicitLocOpBuilder b(append.getLoc(), append);
    for (OpOperand *operand : {&append.getKeyMutable(), &append.getValueMutable()}) {
      const int64_t channels = cast<RankedTensorType>(operand->get().getType()).getShape().back();
      operand->set(cpu::padTo(b, operand->get(), append.getLayout()->getPadded(channels)));
    }
  });
}

struct MaterializeLayouts : rapt::impl::AttnMaterializeLayoutsBase<MaterializeLayouts> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    cpu::forgetCuts(module);
    if (failed(verifyTypes(module, Stage::Canonical)) || failed(materializeCaches(module, attn_cpu::cachePanelsOf)))
      return signalPassFailure();
    llvm::MapVector<StringAttr, LayoutConstraint> constraints;
    WalkResult walk = module.walk([&](attn::ParameterSliceOp slice) {
      auto parameter = SymbolTable::lookupNearestSymbolFrom<attn::ParameterOp>(slice, slice.getParameterAttr());
      for (OpOperand &use : slice.getValue().getUses()) {
        FailureOr<LayoutConstraint> constraint = constraintOf(use);
        if (failed(constraint))
          return WalkResult::interrupt();
        auto [it, isNew] = constraints.insert({parameter.getSymNameAttr(), *constraint});
        if (!isNew && failed(merge(parameter, it->second, *constraint)))
          return WalkResult::interrupt();
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();

    const ChannelCounts counts = countChannels(module);
    LogicalTypes logical = logicalTypes(module);
    FailureOr<int64_t> offset = 0;
    for (auto parameter : module.getOps<attn::ParameterOp>())
      if (failed(offset = assign(parameter, constraints.lookup(parameter.getSymNameAttr()), *offset)))
        return signalPassFailure();

    for (auto entry : module.getOps<func::FuncOp>()) {
      if (entry.isDeclaration())
        continue;
      for (BlockArgument argument : entry.getArguments())
        if (isState(entry, argument))
          argument.setType(
              withLast(argument.getType(), padToPanel(cast<RankedTensorType>(argument.getType()).getShape().back())));
      if (attn::isKernelModule(module))
        padAppended(entry);
      else if (failed(retypeBlock(entry.getBody().front(), counts, logical)))
        return signalPassFailure();
      if (entry->hasAttr(attn::AttnDialect::entryAttr))
        cutOutputs(entry, entry.getResultTypes(), logical);
      entry.setFunctionType(FunctionType::get(&getContext(), entry.getBody().front().getArgumentTypes(),
                                              entry.getBody().front().getTerminator()->getOperandTypes()));
    }
    cpu::forgetCuts(module);
  }
};

} // namespace
