//===- Elementwise.cpp - Interfaces of upstream's elementwise arithmetic --------------------===//
//
// Sums, multiplications and casts of activations are arith and math on tensors. These ops get the
// interfaces by which elementwise ops of attn are fused, tiled, padded and counted.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/Elementwise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt::attn;

bool rapt::attn::hasInterfaces(Operation *op) {
  if (!isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return true;
  if (auto rounded = dyn_cast<arith::TruncFOp>(op); rounded && rounded.getRoundingmode())
    return false;
  // Extents may differ for a while: a pass pads operands first.
  const bool isCast = isa<arith::ExtFOp, arith::TruncFOp>(op);
  return llvm::all_of(llvm::concat<const Type>(op->getOperandTypes(), op->getResultTypes()), [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && (tensor.getRank() == 2 || isCast) && !tensor.getEncoding() &&
           isa<Float32Type, BFloat16Type, Float16Type>(tensor.getElementType());
  });
}

bool rapt::attn::isAttnOp(Operation *op) { return isa<AttnDialect>(op->getDialect()) || isa<EpilogueOpInterface>(op); }

Value rapt::attn::emitCast(OpBuilder &b, Location loc, Value tensor, Type element) {
  auto typeOf = [&](Type element) { return cast<RankedTensorType>(tensor.getType()).clone(element); };
  if (typeOf(element) == tensor.getType())
    return tensor;
  if (!cast<RankedTensorType>(tensor.getType()).getElementType().isF32())
    tensor = arith::ExtFOp::create(b, loc, typeOf(b.getF32Type()), tensor);
  return element.isF32() ? tensor : Value(arith::TruncFOp::create(b, loc, typeOf(element), tensor));
}

namespace {

template <typename Op> struct Scalar : EpilogueOpInterface::ExternalModel<Scalar<Op>, Op> {
  Value emitScalar(Operation *op, OpBuilder &b, Location loc, ValueRange operands) const {
    // Operands are widened and results rounded by whoever takes the scalar form.
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      return operands[0];
    OperationState state(loc, op->getName(), operands, operands[0].getType());
    state.propertiesAttr = op->getPropertiesAsAttribute();
    return b.create(state)->getResult(0);
  }
};

template <typename Op> struct Channels : ChannelsOpInterface::ExternalModel<Channels<Op>, Op> {
  std::optional<unsigned> getChannelsDim(Operation *, OpOperand &operand) const { return lastDim(operand); }
  RowAccess getRowAccess(Operation *) const { return RowAccess::same; }
};

template <typename Op> struct Costs : CostOpInterface::ExternalModel<Costs<Op>, Op> {};

template <typename Op> struct Shapes : ReifyRankedShapedTypeOpInterface::ExternalModel<Shapes<Op>, Op> {
  LogicalResult reifyResultShapes(Operation *op, OpBuilder &b, ReifiedRankedShapedTypeDims &shapes) const {
    if (!hasInterfaces(op))
      return failure();
    shapes.push_back(tensor::getMixedSizes(b, op->getLoc(), op->getOperand(0)));
    return success();
  }
};

template <typename... Ops> void attach(MLIRContext *context) {
  (Ops::template attachInterface<Scalar<Ops>, Channels<Ops>, Costs<Ops>, Shapes<Ops>>(*context), ...);
}

} // namespace

void rapt::attn::attachInterfaces(MLIRContext *context) {
  attach<arith::AddFOp, arith::DivFOp, arith::ExtFOp, arith::MaximumFOp, arith::MinimumFOp, arith::MulFOp,
         arith::NegFOp, arith::SubFOp, arith::TruncFOp>(context);
  attach<math::AbsFOp, math::CosOp, math::ErfOp, math::Exp2Op, math::ExpOp, math::LogOp, math::RsqrtOp, math::SinOp,
         math::SqrtOp, math::TanhOp>(context);
}
