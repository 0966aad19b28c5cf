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

} // namespace rapt::attn
