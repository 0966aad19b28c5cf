//===- Regions.h - Rules of the regions that map elements ------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

namespace rapt::attn {

/// Checks a region that computes one element: one block that yields a `result`, and nothing read from outside but
/// scalars (A17: a tensor is an operand of `op`, so that it is tiled with it). `name` is the region's.
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

/// Whether an extra operand of attention is a table: it has dims, and its map none.
inline bool isTableWith(mlir::AffineMap map, mlir::Value operand) {
  return map.getNumResults() == 0 && llvm::cast<mlir::RankedTensorType>(operand.getType()).getRank() != 0;
}

/// Tables (A30) of static shape have elements that 32 bits can count. All are read by attn.lookup alone.
inline mlir::LogicalResult verifyTable(mlir::Operation *op, mlir::BlockArgument argument) {
  auto type = llvm::cast<mlir::RankedTensorType>(argument.getType());
  int64_t elements = 1;
  for (int64_t extent : type.getShape())
    if (!mlir::ShapedType::isDynamic(extent) &&
        (extent <= 0 || llvm::MulOverflow(elements, extent, elements) || elements > INT32_MAX))
      return op->emitOpError() << "has a table " << type << ", but a table has 1 to " << INT32_MAX << " elements";
  for (mlir::Operation *user : argument.getUsers())
    if (!llvm::isa<LookupOp>(user))
      return user->emitOpError("uses a table, which only attn.lookup reads");
  return mlir::success();
}

/// Checks the score and mask regions of attention, each of which may be absent: what they take and what they yield.
/// `isTable` tells which extra operands they get whole.
inline mlir::LogicalResult verifyScoreAndMask(mlir::Operation *op, mlir::Region &score, mlir::Region &mask,
                                              mlir::ValueRange extras, llvm::function_ref<bool(unsigned)> isTable) {
  mlir::Builder builder(op->getContext());
  for (mlir::Region *region : {&score, &mask}) {
    if (region->empty())
      continue;
    bool isScore = region == &score;
    llvm::StringRef name = isScore ? "score" : "mask";
    llvm::SmallVector<mlir::Type> expected(isScore, builder.getF32Type());
    expected.append(4, builder.getIndexType());
    for (auto [i, extra] : llvm::enumerate(extras))
      expected.push_back(isTable(i) ? extra.getType() : mlir::getElementTypeOrSelf(extra.getType()));
    if (mlir::TypeRange(region->front().getArgumentTypes()) != mlir::TypeRange(expected))
      return op->emitOpError() << name << " region must take (" << (isScore ? "s: f32, " : "")
                               << "b, h, q, kv: index, and one element of each extra operand, or a table whole)";
    for (mlir::BlockArgument argument : region->front().getArguments())
      if (llvm::isa<mlir::RankedTensorType>(argument.getType()) && failed(verifyTable(op, argument)))
        return mlir::failure();
    mlir::Type result = isScore ? mlir::Type(builder.getF32Type()) : mlir::Type(builder.getI1Type());
    if (failed(verifyElementRegion(op, *region, name, result)))
      return mlir::failure();
  }
  return mlir::success();
}

} // namespace rapt::attn
