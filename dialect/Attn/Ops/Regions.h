//===- Regions.h - Rules of the regions that map elements ------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/Transforms/RegionUtils.h"

namespace rapt::attn {

/// Checks a region that computes one element: one block that yields a `result`, and nothing read from outside but
/// scalars (a tensor is an operand of `op`, so that it is tiled with it). `name` is the region's.
inline mlir::LogicalResult verifyElementRegion(mlir::Operation *op, mlir::Region &region, llvm::StringRef name,
                                               mlir::Type result) {
  if (!region.hasOneBlock())
    return op->emitOpError() << name << " region must have one block";
  mlir::Block &block = region.front();
  auto yield = block.empty() ? YieldOp() : llvm::dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValue().getType() != result)
    return op->emitOpError() << name << " region must yield " << result;
  mlir::LogicalResult status = mlir::success();
  mlir::visitUsedValuesDefinedAbove(region, [&](mlir::OpOperand *used) {
    if (succeeded(status) && llvm::isa<mlir::ShapedType>(used->get().getType()))
      status = op->emitOpError() << name << " region reads a " << used->get().getType()
                                 << " from outside: it must be an extra operand";
  });
  return status;
}

/// Checks the score and mask regions of attention, each of which may be absent: what they take and what they yield.
inline mlir::LogicalResult verifyScoreAndMask(mlir::Operation *op, mlir::Region &score, mlir::Region &mask,
                                              mlir::ValueRange extras) {
  mlir::Builder builder(op->getContext());
  for (mlir::Region *region : {&score, &mask}) {
    if (region->empty())
      continue;
    bool isScore = region == &score;
    llvm::StringRef name = isScore ? "score" : "mask";
    llvm::SmallVector<mlir::Type> expected(isScore, builder.getF32Type());
    expected.append(4, builder.getIndexType());
    for (mlir::Value extra : extras)
      expected.push_back(mlir::getElementTypeOrSelf(extra.getType()));
    if (mlir::TypeRange(region->front().getArgumentTypes()) != mlir::TypeRange(expected))
      return op->emitOpError() << name << " region must take (" << (isScore ? "s: f32, " : "")
                               << "b, h, q, kv: index, and one element of each extra operand)";
    if (failed(verifyElementRegion(op, *region, name,
                                   isScore ? mlir::Type(builder.getF32Type()) : mlir::Type(builder.getI1Type()))))
      return mlir::failure();
  }
  return mlir::success();
}

} // namespace rapt::attn
