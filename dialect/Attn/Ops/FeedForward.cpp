//===- FeedForward.cpp - Matmuls, activations, gates ----------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/Regions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <numbers>

using namespace mlir;
using namespace rapt::attn;

Value rapt::attn::emitConstantLike(OpBuilder &builder, Location loc, Value x, double value) {
  Type type = x.getType();
  FloatAttr scalar = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(shaped, scalar));
  return arith::ConstantOp::create(builder, loc, scalar);
}

namespace {
/// x * sigmoid(scale * x) as x / (1 + exp(-scale * x)).
Value emitSwish(OpBuilder &b, Location loc, Value x, double scale) {
  Value e = math::ExpOp::create(b, loc, arith::MulFOp::create(b, loc, x, emitConstantLike(b, loc, x, -scale)));
  return arith::DivFOp::create(b, loc, x, arith::AddFOp::create(b, loc, e, emitConstantLike(b, loc, x, 1.0)));
}
} // namespace

Value rapt::attn::emitActivation(OpBuilder &b, Location loc, ActivationKind kind, Value x) {
  auto constant = [&](double v) { return emitConstantLike(b, loc, x, v); };
  auto mul = [&](Value l, Value r) -> Value { return arith::MulFOp::create(b, loc, l, r); };
  auto add = [&](Value l, Value r) -> Value { return arith::AddFOp::create(b, loc, l, r); };
  switch (kind) {
  case ActivationKind::gelu:
    return mul(mul(x, constant(0.5)),
               add(constant(1.0), math::ErfOp::create(b, loc, mul(x, constant(1.0 / std::numbers::sqrt2)))));
  case ActivationKind::gelu_tanh: {
    // 0.5 x (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3): one exp, and no cancellation for
    // large negative x.
    double c = std::sqrt(2.0 * std::numbers::inv_pi);
    Value inner = mul(x, add(mul(mul(x, x), constant(-2.0 * c * 0.044715)), constant(-2.0 * c)));
    return arith::DivFOp::create(b, loc, x, add(math::ExpOp::create(b, loc, inner), constant(1.0)));
  }
  case ActivationKind::relu:
    return arith::MaximumFOp::create(b, loc, x, constant(0.0));
  case ActivationKind::silu:
    return emitSwish(b, loc, x, 1.0);
  case ActivationKind::quick_gelu:
    return emitSwish(b, loc, x, 1.702);
  case ActivationKind::tanh:
    return math::TanhOp::create(b, loc, x);
  case ActivationKind::sigmoid: {
    Value e = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, x));
    return arith::DivFOp::create(b, loc, constant(1.0), add(e, constant(1.0)));
  }
  }
  llvm_unreachable("every activation kind is handled");
}

void LinearOp::build(OpBuilder &builder, OperationState &state, Type result, Value input, Value weight) {
  build(builder, state, result, input, weight, ValueRange(), /*groups=*/Value(), /*transposed=*/UnitAttr(),
        WeightLayoutInterface());
}

Block *LinearOp::ensureEpilogue(OpBuilder &builder) {
  if (!getEpilogue().empty())
    return &getEpilogue().front();
  OpBuilder::InsertionGuard guard(builder);
  Type f32 = builder.getF32Type();
  SmallVector<Type> types(1 + getExtras().size(), f32);
  SmallVector<Location> locs(types.size(), getLoc());
  Block *block = builder.createBlock(&getEpilogue(), {}, types, locs);
  YieldOp::create(builder, getLoc(), block->getArgument(0));
  return block;
}

Value LinearOp::getUnquantizedInput() {
  auto quantized = getInput().getDefiningOp<QuantizeRowsOp>();
  return quantized ? Value(quantized.getInput()) : Value(getInput());
}

int64_t LinearOp::getDepth() {
  RankedTensorType weight = getWeight().getType();
  return getLayout() ? getLayout()->getRows(weight) : weight.getDimSize(getTransposed() ? 1 : 0);
}

int64_t LinearOp::getMatrices() {
  if (!hasMatrices())
    return 1;
  RankedTensorType weight = getWeight().getType();
  const int64_t columns = getLayout() ? getLayout()->getColumns(weight) : weight.getDimSize(getTransposed() ? 0 : 1);
  return ShapedType::isDynamic(columns) ? columns : columns / getResult().getType().getShape().back();
}

/// Groups are [number + 1, 2], and the weight has whole matrices of the result's columns.
static LogicalResult verifyGroups(LinearOp op, int64_t columns) {
  auto groups = cast<RankedTensorType>(op.getGroups().getType());
  if (groups.getRank() != 2 || groups.isDynamicDim(0) || groups.getDimSize(0) < 2 || groups.getDimSize(1) != 2)
    return op.emitOpError() << "needs groups [number + 1, 2] with static extents, found " << groups;
  const int64_t own = op.getResult().getType().getDimSize(1);
  if (ShapedType::isDynamic(own) || own == 0 || (!ShapedType::isDynamic(columns) && columns % own != 0))
    return op.emitOpError() << "has groups of rows, but its weight " << op.getWeight().getType()
                            << " is no whole number of matrices with the columns of its result "
                            << op.getResult().getType();
  return success();
}

/// Heads have static extents, and the weight has a matrix for each.
static LogicalResult verifyHeads(LinearOp op, int64_t columns) {
  if (op.getGroups() || !op.getExtras().empty() || op.isQuantized())
    return op.emitOpError("multiplies each head by a matrix of its own, which takes no groups of rows, no extra "
                          "operands and no quantized "
                          "weight");
  const int64_t heads = op.getInput().getType().getDimSize(1), own = op.getResult().getType().getDimSize(2);
  if (ShapedType::isDynamic(heads) || ShapedType::isDynamic(own) ||
      (!ShapedType::isDynamic(columns) && columns != heads * own))
    return op.emitOpError() << "has heads " << op.getInput().getType() << ", but its weight "
                            << op.getWeight().getType() << " has no matrix for each with the columns of its result "
                            << op.getResult().getType();
  return success();
}

/// Rows and weight are both quantized, in the same groups, or neither.
static LogicalResult verifyQuantized(LinearOp op) {
  auto rows = dyn_cast<QuantizedType>(op.getInput().getType().getElementType()),
       weight = dyn_cast<QuantizedType>(op.getWeight().getType().getElementType());
  if (!rows && !weight)
    return success();
  if (!rows || !weight || weight.getCode() == QuantizedCode::s8 || rows != weight.ofRows())
    return op.emitOpError() << "needs rows of s8 in the groups of a quantized weight, found " << op.getInput().getType()
                            << " and " << op.getWeight().getType();
  int64_t axis = op.getTransposed() ? 1 : 0;
  if (weight.getAxis() != axis)
    return op.emitOpError() << "sums over axis " << axis << " of its weight, whose groups are along axis "
                            << weight.getAxis();
  return success();
}

LogicalResult YieldOp::verify() {
  if (!(*this)->getParentOp()->hasTrait<ComputesElements>())
    return emitOpError() << "gives the element that a region computes, but '" << (*this)->getParentOp()->getName()
                         << "' has no such region";
  return success();
}

LogicalResult LinearOp::verify() {
  RankedTensorType input = getInput().getType(), weight = getWeight().getType(), result = getResult().getType();
  if (failed(verifyQuantized(*this)))
    return failure();
  if ((input.getRank() != 2 && input.getRank() != 3) || result.getRank() != input.getRank() ||
      input.getShape().drop_back() != result.getShape().drop_back())
    return emitOpError() << "needs an input [m, k] and a result [m, n], or heads [m, h, k] and [m, h, n], found "
                         << input << " and " << result;
  const int64_t rowsOfWeight = input.getShape().back(), own = result.getShape().back();
  if (std::optional<WeightLayoutInterface> layout = getLayout()) {
    if (getTransposed())
      return emitOpError("cannot be transposed when the weight has a layout");
    if (!layout->takesRows(input.getElementType(), rowsOfWeight))
      return emitOpError() << "takes no rows " << input << " with a weight in the layout " << *layout;
    const int64_t columns = hasMatrices() ? layout->getColumns(weight) : own;
    if (!layout->isMatrix(weight, rowsOfWeight, columns))
      return emitOpError() << "weight " << weight << " in the layout " << *layout << " does not fit input " << input
                           << " and result " << result;
    if ((getGroups() && failed(verifyGroups(*this, columns))) || (isOfHeads() && failed(verifyHeads(*this, columns))))
      return failure();
  } else {
    if (weight.getRank() != 2)
      return emitOpError() << "needs a weight of rank 2, or a layout, found " << weight;
    int64_t k = weight.getDimSize(getTransposed() ? 1 : 0), n = weight.getDimSize(getTransposed() ? 0 : 1);
    if ((getGroups() && failed(verifyGroups(*this, n))) || (isOfHeads() && failed(verifyHeads(*this, n))))
      return failure();
    if (k != rowsOfWeight || (!hasMatrices() && n != own))
      return emitOpError() << "weight " << weight << (getTransposed() ? " transposed" : "") << " does not fit input "
                           << input << " and result " << result;
  }
  for (Value extra : getExtras()) {
    auto type = cast<RankedTensorType>(extra.getType());
    const bool isVector = type.getRank() == 1;
    if (isVector && getGroups() && type.getDimSize(0) != getMatrices() * own)
      return emitOpError() << "extra operand " << type << " has not the " << own << " elements of each matrix of "
                           << weight;
    bool bias = isVector && type.getDimSize(0) >= own;
    if (!bias && type.getShape() != result.getShape())
      return emitOpError() << "extra operand " << type << " is neither a bias [n] nor of the result's shape " << result;
  }
  return success();
}

LogicalResult LinearOp::verifyRegions() {
  if (getEpilogue().empty())
    return getExtras().empty() ? success() : emitOpError("has extra operands but no epilogue region");
  Block &block = getEpilogue().front();
  if (block.getNumArguments() != 1 + getExtras().size() ||
      !llvm::all_of(block.getArgumentTypes(), [](Type t) { return t.isF32(); }))
    return emitOpError() << "epilogue must take the f32 sum and one f32 for each of the " << getExtras().size()
                         << " extra operands";
  return verifyElementRegion(*this, getEpilogue(), "epilogue", Float32Type::get(getContext()));
}

OpFoldResult ActivationOp::fold(FoldAdaptor) {
  // relu(relu(x)) = relu(x)
  auto inner = getInput().getDefiningOp<ActivationOp>();
  if (getKind() == ActivationKind::relu && inner && inner.getKind() == ActivationKind::relu)
    return getInput();
  return {};
}

Value ActivationOp::emitScalar(OpBuilder &b, Location loc, ValueRange operands) {
  return emitActivation(b, loc, getKind(), operands[0]);
}

LogicalResult ClipOp::verify() {
  if (!getBound().isFinite() || getBound().isNegative())
    return emitOpError() << "needs a finite bound of at least 0, found " << getBound().convertToFloat();
  return success();
}

Value ClipOp::emitScalar(OpBuilder &b, Location loc, ValueRange operands) {
  Type type = operands[0].getType();
  auto bound = [&](APFloat value) -> Value {
    TypedAttr attr = b.getFloatAttr(b.getF32Type(), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, loc, attr);
  };
  Value most = bound(getBound()), least = bound(neg(getBound()));
  return arith::MaximumFOp::create(b, loc, arith::MinimumFOp::create(b, loc, operands[0], most), least);
}

Value GLUOp::emitScalar(OpBuilder &b, Location loc, ValueRange operands) {
  return arith::MulFOp::create(b, loc, emitActivation(b, loc, getKind(), operands[0]), operands[1]);
}

void LinearOp::relateDims(DimRelations &dims) {
  const unsigned last = getInput().getType().getRank() - 1;
  for (unsigned i = 0; i < last; ++i)
    dims.equal(getResult(), i, getInput(), i);
  if (!getLayout()) {
    if (!hasMatrices())
      dims.equal(getResult(), last, getWeight(), getTransposed() ? 0 : 1);
    dims.equal(getWeight(), getTransposed() ? 1 : 0, getInput(), last);
  }
  for (Value extra : getExtras())
    if (!getGroups() || cast<RankedTensorType>(extra.getType()).getRank() != 1)
      dims.equal(extra, getResult());
}

void ActivationOp::relateDims(DimRelations &dims) { dims.equal(getResult(), getInput()); }

void ClipOp::relateDims(DimRelations &dims) { dims.equal(getResult(), getInput()); }

void GLUOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getGate());
  dims.equal(getUp(), getGate());
}

void LinearOp::addCosts(CostModel &model) {
  const int64_t columns = llvm::product_of(getResult().getType().getShape().drop_front());
  Type operands = getWeight().getType().getElementType();
  if (isQuantized())
    operands = IntegerType::get(getContext(), cast<QuantizedType>(operands).bits());
  model.compute(model.dim(getInput(), 0) * Polynomial(2) * Polynomial(getDepth()) * Polynomial(columns), operands);
  model.moveAll(*this);
}

std::optional<unsigned> LinearOp::getChannelsDim(OpOperand &operand) {
  return &operand == &getWeightMutable() ? std::nullopt : lastDim(operand);
}

std::optional<WeightUse> LinearOp::getWeightUse(OpOperand &operand) {
  const int64_t matrix = hasMatrices() ? getResult().getType().getShape().back() : 0;
  if (operand.get() == getWeight()) {
    // Quantized rows whose groups do not begin anew with each part of the columns have no parts.
    const auto rows = dyn_cast<QuantizedType>(getInput().getType().getElementType());
    const bool hasParts = !rows || rows.getPeriod() != 0;
    return WeightUse{getTransposed() ? 1u : 0u, getResult(), hasParts ? getUnquantizedInput() : Value(), matrix};
  }
  if (operand.get() == getGroups())
    return std::nullopt;
  return WeightUse{
      std::nullopt, getResult(), {}, cast<RankedTensorType>(operand.get().getType()).getRank() == 1 ? matrix : 0};
}

ElementUse LinearOp::getElementUse(OpOperand &operand) {
  if (&operand == &getInputMutable())
    return ElementUse::computed;
  return &operand == &getWeightMutable() ? ElementUse::fixed : ElementUse::stored;
}

std::optional<unsigned> ActivationOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }
RowAccess ActivationOp::getRowAccess() { return RowAccess::same; }

std::optional<unsigned> ClipOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }
RowAccess ClipOp::getRowAccess() { return RowAccess::same; }

std::optional<unsigned> GLUOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }
RowAccess GLUOp::getRowAccess() { return RowAccess::same; }
