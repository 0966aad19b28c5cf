//===- ZeroPadding.cpp - Ops that write other numbers into padding ------------------------===//
//
// Sums over channels (norms, scores, matmuls) include the padding, which is zero. The
// scalar form of an op is folded with zeros to learn whether its result keeps that.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Layout/ZeroPadding.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace rapt;

/// The constant that `result` of `block` folds to where all arguments are zero; null where it does not fold.
static Attribute foldWithZeros(Block &block, Value result) {
  llvm::DenseMap<Value, Attribute> known;
  auto constantOf = [&](Value value) {
    Attribute constant = known.lookup(value);
    if (!constant)
      matchPattern(value, m_Constant(&constant)); // from outside of the block
    return constant;
  };
  for (BlockArgument argument : block.getArguments())
    known[argument] = Builder(argument.getContext()).getZeroAttr(argument.getType());
  for (Operation &op : block) {
    SmallVector<Attribute> operands = llvm::map_to_vector(op.getOperands(), constantOf);
    SmallVector<OpFoldResult> folded;
    if (op.getNumResults() != 1 || !llvm::all_of(operands, [](Attribute constant) { return constant; }) ||
        failed(op.fold(operands, folded)) || folded.size() != 1)
      continue;
    auto constant = dyn_cast<Attribute>(folded[0]);
    known[op.getResult(0)] = constant ? constant : constantOf(cast<Value>(folded[0]));
  }
  return constantOf(result);
}

bool cpu::keepsZeros(Operation *op) {
  Attribute number;
  if (auto linear = dyn_cast<attn::LinearOp>(op)) {
    if (linear.getEpilogue().empty())
      return true;
    Block &epilogue = linear.getEpilogue().front();
    number = foldWithZeros(epilogue, cast<attn::YieldOp>(epilogue.back()).getValue());
  } else if (auto elementwise = dyn_cast<attn::EpilogueOpInterface>(op)) {
    Block scalars;
    OpBuilder b(op->getContext());
    b.setInsertionPointToStart(&scalars);
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      scalars.addArgument(b.getF32Type(), op->getLoc());
    number = foldWithZeros(scalars, elementwise.emitScalar(b, op->getLoc(), scalars.getArguments()));
  } else {
    return true;
  }
  auto real = dyn_cast_or_null<FloatAttr>(number);
  return real && real.getValue().isZero();
}

Value cpu::zeroPadding(ImplicitLocOpBuilder &b, Value value, int64_t count, int64_t padded) {
  auto type = cast<RankedTensorType>(value.getType());
  Value dest = tensor::EmptyOp::create(b, tensor::getMixedSizes(b, b.getLoc(), value), type.getElementType());
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(), utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange elements) {
    ImplicitLocOpBuilder b(loc, nested);
    Value column = linalg::IndexOp::create(b, type.getRank() - 1);
    if (padded != type.getShape().back())
      column = arith::RemUIOp::create(b, column, arith::ConstantIndexOp::create(b, padded));
    Value counts =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult, column, arith::ConstantIndexOp::create(b, count));
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
    linalg::YieldOp::create(b, arith::SelectOp::create(b, counts, elements[0], zero).getResult());
  };
  return linalg::GenericOp::create(b, type, value, dest, maps, loops, body).getResult(0);
}
