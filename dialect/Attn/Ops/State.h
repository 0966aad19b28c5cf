//===- State.h - Shared code of the ops on a state of online softmax -------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt::attn {

/// Whether two extents can be one: they are equal, or a dynamic one hides what it is.
inline bool fits(int64_t a, int64_t b) {
  return mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b) || a == b;
}

/// Whether each result of the map over (q, kv) is 0, q or kv, the last two at most once.
inline bool placesQueriesAndKeys(mlir::AffineMap map) {
  if (map.getNumDims() != 2 || map.getNumSymbols() != 0)
    return false;
  bool isTaken[2] = {};
  return llvm::all_of(map.getResults(), [&](mlir::AffineExpr expr) {
    auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr);
    return dim ? !std::exchange(isTaken[dim.getPosition()], true) : expr == 0;
  });
}

/// Maps over (q, kv) with as many results as the extra has dims, and an element for each query and key; how many keys
/// an extra has is not compared where `keys` is dynamic.
template <typename Op> mlir::LogicalResult verifyStateExtras(Op op, int64_t queries, int64_t keys) {
  size_t maps = op.getExtraMaps() ? op.getExtraMaps()->size() : 0;
  if (maps != op.getExtras().size())
    return op.emitOpError() << "has " << maps << " maps for " << op.getExtras().size() << " extra operands";
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    mlir::AffineMap map = op.getExtraMap(i);
    auto type = llvm::cast<mlir::RankedTensorType>(extra.getType());
    if (!placesQueriesAndKeys(map) || (map.getNumResults() != type.getRank() && !op.isTable(i)))
      return op.emitOpError() << "map of extra operand " << i
                              << " must be a projected permutation of (q, kv), or 0 for a unit dim, for " << type;
    for (auto [expr, size] : llvm::zip(map.getResults(), type.getShape())) {
      auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr);
      if (!dim && !fits(size, 1))
        return op.emitOpError() << "map of extra operand " << i << " has 0 for a dim of " << size << " elements of "
                                << type;
      const bool isQueries = dim && dim.getPosition() == 0;
      if (dim && !fits(size, isQueries ? queries : keys))
        return op.emitOpError() << "has " << (isQueries ? queries : keys) << (isQueries ? " queries" : " keys")
                                << ", but extra operand " << i << " is " << type;
    }
  }
  return mlir::success();
}

/// One max and one sum for each query.
template <typename Op> mlir::LogicalResult verifyRowsOfState(Op op, int64_t queries) {
  for (mlir::Value row : {op.getMax(), op.getSum()})
    if (!fits(llvm::cast<mlir::RankedTensorType>(row.getType()).getDimSize(0), queries))
      return op.emitOpError() << "needs one max and one sum for each of the " << queries << " queries";
  return mlir::success();
}

/// The states of parts, and the one that they are merged into.
template <typename Op> mlir::LogicalResult verifyMerge(Op op) {
  mlir::RankedTensorType accs = op.getPartialAcc().getType(), acc = op.getAcc().getType();
  if (accs.getRank() != 3 || acc.getRank() != 2)
    return op.emitOpError() << "needs parts [p, m, dv] and acc [m, dv], found " << accs << " and " << acc;
  if (!fits(accs.getDimSize(1), acc.getDimSize(0)) || !fits(accs.getDimSize(2), acc.getDimSize(1)))
    return op.emitOpError() << "parts " << accs << " do not fit acc " << acc;
  for (mlir::Value rows : {op.getPartialMax(), op.getPartialSum()})
    if (auto type = llvm::cast<mlir::RankedTensorType>(rows.getType());
        !fits(type.getDimSize(0), accs.getDimSize(0)) || !fits(type.getDimSize(1), acc.getDimSize(0)))
      return op.emitOpError() << "needs one max and one sum for each part and query of " << accs << ", found " << type;
  return verifyRowsOfState(op, acc.getDimSize(0));
}

/// Takes the operands of casts in place. Upstream's pattern does so for all ops with destinations, by a clone that does
/// not allow empty regions, so this one goes before it.
template <typename Op> struct FoldCastsIntoState : mlir::OpRewritePattern<Op> {
  explicit FoldCastsIntoState(mlir::MLIRContext *context) : mlir::OpRewritePattern<Op>(context, /*benefit=*/2) {}

  mlir::LogicalResult matchAndRewrite(Op op, mlir::PatternRewriter &rewriter) const override {
    auto styled = llvm::cast<mlir::DestinationStyleOpInterface>(op.getOperation());
    if (!mlir::tensor::hasFoldableTensorCastOperand(op))
      return mlir::failure();
    llvm::SmallVector<mlir::Type> types(op->getResultTypes());
    llvm::SmallVector<mlir::Value> operands = mlir::tensor::getUpdatedOperandsAfterCastOpFolding(styled, types);
    rewriter.modifyOpInPlace(op, [&] { op->setOperands(operands); });
    rewriter.setInsertionPointAfter(op);
    for (auto [result, type] : llvm::zip_equal(op->getResults(), types)) {
      mlir::Type before = result.getType();
      if (type == before)
        continue;
      rewriter.modifyOpInPlace(op, [&, state = mlir::Value(result)]() mutable { state.setType(type); });
      auto users = mlir::tensor::CastOp::create(rewriter, op.getLoc(), before, result);
      rewriter.replaceAllUsesExcept(result, users, users);
    }
    return mlir::success();
  }
};

} // namespace rapt::attn
