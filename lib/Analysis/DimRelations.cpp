//===- DimRelations.cpp - Relations between the extents of any op's values ---------------===//
#include "lib/Analysis/DimRelations.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace rapt;
using attn::DimRelations;

/// Relates the extents of operands that share a dim of the iteration space.
static void relateLinalg(linalg::LinalgOp op, DimRelations &dims) {
  SmallVector<AffineExpr> first(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands())
    for (auto [i, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        continue;
      if (AffineExpr &extent = first[dim.getPosition()])
        dims.equal(operand.get(), i, extent);
      else
        extent = dims.extent(operand.get(), i);
    }
}

static void relateLoop(LoopLikeOpInterface loop, DimRelations &dims) {
  ResultRange results = loop->getResults();
  SmallVector<Value> inits(loop.getInits());
  if (inits.size() != results.size() || loop.getRegionIterArgs().size() != inits.size() ||
      loop.getYieldedValues().size() != inits.size())
    return;
  for (auto [init, argument, result, yielded] :
       llvm::zip(inits, loop.getRegionIterArgs(), results, loop.getYieldedValues())) {
    dims.equal(argument, init);
    dims.equal(result, init);
    dims.equal(yielded, init);
  }
}

static void relateCall(CallOpInterface call, DimRelations &dims) {
  auto callee = dyn_cast_or_null<FunctionOpInterface>(call.resolveCallable());
  if (!callee || callee.isExternal() || !callee.getFunctionBody().hasOneBlock())
    return;
  Operation *end = callee.getFunctionBody().front().getTerminator();
  for (auto [operand, argument] : llvm::zip(call.getArgOperands(), callee.getArguments()))
    dims.equal(argument, operand);
  for (auto [result, value] : llvm::zip(call->getResults(), end->getOperands()))
    dims.equal(result, value);
}

/// Relates the dims of `tensor` to `sizes`, without the `dropped` ones.
static void relateSizes(Value tensor, ArrayRef<OpFoldResult> sizes, const llvm::SmallBitVector &dropped,
                        DimRelations &dims) {
  unsigned i = 0;
  for (auto [from, size] : llvm::enumerate(sizes))
    if (dropped.empty() || !dropped.test(from)) {
      if (auto value = dyn_cast<Value>(size))
        dims.equal(tensor, i, dims.index(value));
      ++i;
    }
}

/// Relates each dim of the result to the product of the dims that it collapses.
static void relateCollapse(tensor::CollapseShapeOp op, DimRelations &dims) {
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    AffineExpr extent = dims.number(1);
    for (int64_t dim : group)
      extent = extent * dims.extent(op.getSrc(), dim);
    dims.equal(op, i, extent);
  }
}

static AffineExpr exprOf(OpFoldResult size, DimRelations &dims) {
  if (auto value = dyn_cast<Value>(size))
    return dims.index(value);
  return dims.number(*getConstantIntValue(size));
}

static void relatePad(tensor::PadOp op, DimRelations &dims) {
  for (auto [i, low, high] : llvm::enumerate(op.getMixedLowPad(), op.getMixedHighPad()))
    dims.equal(op, i, dims.extent(op.getSource(), i) + exprOf(low, dims) + exprOf(high, dims));
}

static void relateConcat(tensor::ConcatOp op, DimRelations &dims) {
  AffineExpr sum = dims.number(0);
  for (Value input : op.getInputs()) {
    sum = sum + dims.extent(input, op.getDim());
    for (int64_t i = 0; i < op.getRank(); ++i)
      if (uint64_t(i) != op.getDim())
        dims.equal(op, i, input, i);
  }
  dims.equal(op, op.getDim(), sum);
}

void rapt::relateDims(Operation *op, DimRelations &dims) {
  if (auto relations = dyn_cast<attn::DimRelationsOpInterface>(op))
    return relations.relateDims(dims);
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return relateLoop(loop, dims);
  if (auto call = dyn_cast<CallOpInterface>(op))
    return relateCall(call, dims);
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return relateSizes(empty, empty.getMixedSizes(), {}, dims);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return relateSizes(slice, slice.getMixedSizes(), slice.getDroppedDims(), dims);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return relateSizes(expand, expand.getMixedOutputShape(), {}, dims);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return relateCollapse(collapse, dims);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return relatePad(pad, dims);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return relateConcat(concat, dims);
  if (auto insertion = dyn_cast<tensor::InsertSliceOp>(op))
    return dims.equal(insertion, insertion.getDest());
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    for (OpOperand &init : destination.getDpsInitsMutable())
      if (op->getNumResults() != 0)
        dims.equal(destination.getTiedOpResult(&init), init.get());
    if (auto linalg = dyn_cast<linalg::LinalgOp>(op))
      relateLinalg(linalg, dims);
    return;
  }
  // Elementwise arithmetic on tensors, and casts between types of one shape.
  if (op->getNumResults() == 1 && (OpTrait::hasElementwiseMappableTraits(op) || isa<tensor::CastOp>(op)))
    for (Value operand : op->getOperands())
      dims.equal(op->getResult(0), operand);
}
