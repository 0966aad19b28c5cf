//===- Slots.h - Shared code of the ops that keep a state for each sequence -------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "dialect/Attn/Ops/State.h"

namespace rapt::attn {

/// The state of an op is [slots, `sizes`...], or with a layer [slots, layers, `sizes`...]. Row r begins with slot
/// from[r] and leaves its state in slot to[r]; without these numbers both are r.
template <typename Op> mlir::LogicalResult verifySlots(Op op, llvm::ArrayRef<int64_t> sizes) {
  if (!op.getState() && (op.getFrom() || op.getLayer()))
    return op.emitOpError() << "has " << (op.getFrom() ? "slots" : "a layer") << ", but no state";
  if (!op.getState())
    return mlir::success();
  mlir::RankedTensorType state = op.getState().getType(), begin = op.getRowBegin().getType();
  const size_t leading = op.getLayer() ? 2 : 1;
  if (size_t(state.getRank()) != leading + sizes.size() || state.getShape().drop_front(leading) != sizes) {
    std::string text;
    for (int64_t size : sizes)
      text += ", " + std::to_string(size);
    return op.emitOpError() << "needs a state [slots" << (op.getLayer() ? ", layers" : "") << text << "], found "
                            << state;
  }
  const int64_t rows = begin.isDynamicDim(0) ? mlir::ShapedType::kDynamic : begin.getDimSize(0) - 1;
  if (!op.getFrom() && !fits(state.getDimSize(0), rows))
    return op.emitOpError() << "needs one state for each of the " << rows << " rows, found " << state;
  for (mlir::Value slots : {op.getFrom(), op.getTo()})
    if (slots && !fits(llvm::cast<mlir::RankedTensorType>(slots.getType()).getDimSize(0), rows))
      return op.emitOpError() << "needs one slot for each of the " << rows << " rows, found " << slots.getType();
  return mlir::success();
}

/// Each row reads and writes its state, of so many elements, once.
template <typename Op> void moveSlots(Op op, int64_t elements, CostModel &model) {
  if (!op.getState())
    return;
  const Polynomial rows = model.dim(op.getFrom() ? op.getFrom() : op.getState(), 0);
  model.move(op.getNewState(), Polynomial(2 * elements) * rows * model.elementBytes(op.getState()));
}

/// The equations between the dims of rows and states.
template <typename Op> void relateSlots(Op op, DimRelations &dims) {
  if (!op.getState())
    return dims.offsets(op.getRowBegin());
  dims.equal(op.getNewState(), op.getState());
  if (op.getFrom())
    dims.offsets(op.getRowBegin(), {op.getFrom(), op.getTo()});
  else
    dims.offsets(op.getRowBegin(), op.getState());
}

} // namespace rapt::attn
