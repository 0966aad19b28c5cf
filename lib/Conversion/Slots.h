//===- Slots.h - States that ops keep for sequences ------------------------------*- C++ -*-===//
#pragma once
#include "lib/Conversion/Tensors.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt::tile {

/// Whether an op has the result, and somebody reads it. Others have no destination.
inline bool isUsed(Value result) { return result && !result.use_empty(); }

/// Replaces the results that are used by `made`, in their order, and erases the op.
inline void replaceUsed(mlir::PatternRewriter &rewriter, mlir::Operation *op, ValueRange made) {
  for (auto [result, value] : llvm::zip_equal(llvm::make_filter_range(op->getResults(), isUsed), made))
    rewriter.replaceAllUsesWith(result, value);
  rewriter.eraseOp(op);
}

/// The tokens of a row.
struct RowTokens {
  Value begin, length;

  RowTokens(ImplicitLocOpBuilder &b, Value rowBegin, Value row)
      : begin(readIndex(b, rowBegin, row)),
        length(mlir::arith::SubIOp::create(b, readIndex(b, rowBegin, plus(b, row, 1)), begin)) {}
};

/// The head of `tensor`, one of the keys, values or queries, that belongs to a state: getPaired for a number that is
/// not known.
inline Value headOf(ImplicitLocOpBuilder &b, attn::LinearAttentionOp op, Value tensor, Value state) {
  const int64_t heads = llvm::cast<mlir::RankedTensorType>(tensor.getType()).getDimSize(1);
  mlir::AffineExpr d0 = b.getAffineDimExpr(0);
  const bool isRemainder = op.getPairing() == attn::HeadPairing::remainder;
  return asValue(b, affineOf(b, isRemainder ? d0 % heads : d0.floorDiv(op.getStates() / heads), {state}));
}

/// Where the state of row `row` is, whose slots are `slots` (null: the row's number): `inner` are the offset and size
/// of each dim behind those of slots and layers; without them the whole.
template <typename Op>
Insertion placeOfSlot(ImplicitLocOpBuilder &b, Op op, Value slots, Value row,
                      llvm::ArrayRef<std::pair<OpFoldResult, OpFoldResult>> inner) {
  const OpFoldResult one = b.getIndexAttr(1);
  Insertion at{{}, {slots ? OpFoldResult(readIndex(b, slots, row)) : OpFoldResult(row)}, {one}};
  if (op.getLayer()) {
    at.offsets.push_back(op.getLayer());
    at.sizes.push_back(one);
  }
  for (auto [offset, size] : inner) {
    at.offsets.push_back(offset);
    at.sizes.push_back(size);
  }
  for (int64_t i = int64_t(at.offsets.size()), rank = op.getState().getType().getRank(); i < rank; ++i) {
    at.offsets.push_back(b.getIndexAttr(0));
    at.sizes.push_back(b.getIndexAttr(op.getState().getType().getDimSize(i)));
  }
  return at;
}

/// Replaces the extents of dim 0 of the op's results, so that these have a reader only where their elements are read: a
/// destination of a grid whose result has none would be folded away, and its tasks would write to copies. The output
/// has as many tokens as `tokens`.
template <typename Op> void forgetExtents(mlir::PatternRewriter &rewriter, Op op, Value tokens) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  for (mlir::Operation *user : llvm::make_early_inc_range(op->getUsers()))
    if (auto dim = llvm::dyn_cast<mlir::tensor::DimOp>(user); dim && dim.getConstantIndex() == 0) {
      Value of = dim.getSource() == op.getOutput() ? tokens : Value(op.getState());
      rewriter.replaceOp(dim, asValue(b, extent(b, of, 0)));
    }
}

} // namespace rapt::tile
