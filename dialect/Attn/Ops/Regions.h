//===- Regions.h - Rules of the regions that map elements ------------------*- C++ -*-===//
#pragma once
#include "dialect/Attn/AttnOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

namespace rapt::attn {

/// The number of a rule before a message about a region of attention; nothing before one about another op's.
inline std::string ruleOf(mlir::Operation *op, llvm::StringRef rule) {
  return llvm::isa<ScoreAndMaskOpInterface>(op) ? (rule + ": ").str() : std::string();
}

/// Ops of a region are scalar arithmetic and look-ups, which may be computed for any keys, in any order and any number
/// of times (A44). Their tensors are extra operands (A17), their integers have at most 64 bits (A16).
inline mlir::LogicalResult verifyOpsOfRegion(mlir::Operation *op, mlir::Block &block, llvm::StringRef name) {
  for (mlir::Operation &inner : block.without_terminator()) {
    if (llvm::isa<mlir::CallOpInterface>(inner) || inner.getNumRegions() != 0)
      return inner.emitOpError() << ruleOf(op, "A44") << "is in the " << name << " region of '" << op->getName()
                                 << "', which has no calls, loops or branches; use ops of arith and math, "
                                    "arith.select among them";
    if (!mlir::isMemoryEffectFree(&inner))
      return inner.emitOpError() << ruleOf(op, "A44") << "has side effects or reads memory, but the " << name
                                 << " region of '" << op->getName()
                                 << "' may be computed any number of times; give what it reads as an extra operand";
    for (mlir::Type type : inner.getResultTypes()) {
      if (!type.isIntOrIndexOrFloat())
        return inner.emitOpError() << ruleOf(op, "A17") << "makes a " << type << " in the " << name << " region of '"
                                   << op->getName() << "', which computes with scalars; give it as an extra operand";
      if (auto integer = llvm::dyn_cast<mlir::IntegerType>(type); integer && integer.getWidth() > 64)
        return inner.emitOpError() << ruleOf(op, "A16") << "computes with " << type << " in the " << name
                                   << " region of '" << op->getName() << "', where integers have at most 64 bits";
    }
  }
  return mlir::success();
}

/// Whether `value` is defined behind `op` in its block, or is a result of it: no scalar that its regions may use.
inline bool isDefinedBehind(mlir::Operation *op, mlir::Value value) {
  mlir::Operation *definition = value.getDefiningOp();
  mlir::Operation *beside = definition ? op->getBlock()->findAncestorOpInBlock(*definition) : nullptr;
  return beside && (beside == op || op->isBeforeInBlock(beside));
}

/// Checks a region that computes one element: one block that yields a `result`, and nothing read from outside but
/// scalars (A17: a tensor is an operand of `op`, so that it is tiled with it). `name` is the region's.
inline mlir::LogicalResult verifyElementRegion(mlir::Operation *op, mlir::Region &region, llvm::StringRef name,
                                               mlir::Type result) {
  if (!region.hasOneBlock())
    return op->emitOpError() << ruleOf(op, "A44") << name << " region must have one block";
  mlir::Block &block = region.front();
  auto yield = block.empty() ? YieldOp() : llvm::dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getValue().getType() != result)
    return op->emitOpError() << ruleOf(op, "A5") << name << " region must yield " << result;
  if (failed(verifyOpsOfRegion(op, block, name)))
    return mlir::failure();
  mlir::LogicalResult status = mlir::success();
  mlir::visitUsedValuesDefinedAbove(region, [&](mlir::OpOperand *used) {
    const mlir::Type type = used->get().getType();
    if (succeeded(status) && isDefinedBehind(op, used->get()))
      status = op->emitOpError() << ruleOf(op, "A17") << name << " region uses a value of type " << type
                                 << " that is defined behind the op, or by it; define it before the op";
    else if (succeeded(status) && !type.isIntOrIndexOrFloat())
      status = op->emitOpError() << ruleOf(op, "A17") << name << " region reads a " << type
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
      return op->emitOpError() << "A30: has a table " << type << ", but a table has 1 to " << INT32_MAX << " elements";
  for (mlir::Operation *user : argument.getUsers())
    if (!llvm::isa<LookupOp>(user))
      return user->emitOpError("A30: uses a table, which only attn.lookup reads");
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
      return op->emitOpError() << "A5: " << name << " region must take (" << (isScore ? "s: f32, " : "")
                               << "b, h, q, kv: index, and one element of each extra operand, or a table whole): ("
                               << expected << "), found (" << region->front().getArgumentTypes() << ")";
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
