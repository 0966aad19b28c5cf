//===- StageContract.cpp - Checks of every stage's contract ----------------------------===//
#include "lib/Transforms/StageContract.h"
#include "dialect/Attn/AttnDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rapt;

LogicalResult rapt::checkStage(Pass &pass, Operation *op, ArrayRef<Stage> stages) {
  auto module = isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (!module || !module->hasAttr(attn::AttnDialect::stageAttr) || llvm::is_contained(stages, stageOf(module)))
    return success();
  return op->emitError() << "'" << pass.getArgument() << "' runs on the stage "
                         << llvm::join(llvm::map_range(stages, nameOf), " or ") << ", found "
                         << nameOf(stageOf(module));
}

/// A dim that a shape does not have is undefined behavior of upstream's ops: their verifiers accept it, and their
/// lowerings read past the shape.
LogicalResult rapt::verifyDim(Operation *op) {
  auto dim = dyn_cast<ShapedDimOpInterface>(op);
  if (!dim)
    return success();
  auto type = cast<ShapedType>(dim.getShapedValue().getType());
  const std::optional<int64_t> index = getConstantIntValue(dim.getDimension());
  if (!index || !type.hasRank())
    return op->emitOpError("needs a constant index and a ranked type, as the dims of a shape are known");
  if (*index < 0 || *index >= type.getRank())
    return op->emitOpError() << "asks for dim " << *index << " of " << type << ", which has " << type.getRank();
  return success();
}

/// The dialect of which an attribute is by its name or its value, if it is none of `dialects`; empty if there is none.
static StringRef foreignDialect(NamedAttribute attribute, ArrayRef<StringRef> dialects) {
  // "dialect.name"; names of no dialect have no meaning for a pass.
  auto [prefix, rest] = attribute.getName().getValue().split('.');
  if (!rest.empty() && !llvm::is_contained(dialects, prefix))
    return prefix;
  StringRef foreign;
  attribute.getValue().walk([&](Attribute value) {
    StringRef name = value.getDialect().getNamespace();
    if (llvm::is_contained(dialects, name))
      return WalkResult::advance();
    foreign = name;
    return WalkResult::interrupt();
  });
  return foreign;
}

LogicalResult rapt::verifyAttributes(Operation *op, Stage stage, ArrayRef<StringRef> dialects,
                                     ArrayRef<StringRef> allowed) {
  auto verify = [&](NamedAttribute attribute) -> LogicalResult {
    StringRef foreign = foreignDialect(attribute, dialects);
    if (foreign.empty())
      return success();
    return op->emitOpError() << "has the attribute '" << attribute.getName().getValue() << "' of the dialect "
                             << foreign << ": the " << nameOf(stage) << " stage promises code of no target";
  };
  for (NamedAttribute attribute : op->getAttrs())
    if (!llvm::is_contained(allowed, attribute.getName().getValue()) && failed(verify(attribute)))
      return failure();
  auto function = dyn_cast<FunctionOpInterface>(op);
  for (unsigned i = 0; function && i < function.getNumArguments(); ++i)
    for (NamedAttribute attribute : function.getArgAttrs(i))
      if (failed(verify(attribute)))
        return failure();
  for (unsigned i = 0; function && i < function.getNumResults(); ++i)
    for (NamedAttribute attribute : function.getResultAttrs(i))
      if (failed(verify(attribute)))
        return failure();
  return success();
}

static bool isElement(Type type) {
  return isa<Float32Type, BFloat16Type, Float16Type, IndexType>(type) ||
         (isa<IntegerType>(type) && type.getIntOrFloatBitWidth() > 0 && type.getIntOrFloatBitWidth() <= 64);
}

static bool isValue(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return isElement(tensor.getElementType()) || isa<attn::QuantizedType>(tensor.getElementType());
  return isElement(type) || isa<attn::AttnDialect>(type.getDialect());
}

/// The first of `types` that is none of a program.
static Type foreignType(TypeRange types) {
  auto found = llvm::find_if_not(types, isValue);
  return found == types.end() ? Type() : *found;
}

LogicalResult rapt::verifyTypes(Operation *op, Stage stage) {
  Type type = foreignType(op->getResultTypes());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      type = type ? type : foreignType(TypeRange(block.getArgumentTypes()));
  if (auto function = dyn_cast<FunctionOpInterface>(op); function && !type) {
    type = foreignType(function.getArgumentTypes());
    type = type ? type : foreignType(function.getResultTypes());
  }
  if (!type)
    return success();
  return op->emitOpError()
         << "has a value of type " << type << "; the " << nameOf(stage)
         << " stage has caches, and scalars and tensors of f32, bf16, f16, index, integers of at most "
         << "64 bits and quantized values";
}

LogicalResult rapt::verifyTypes(ModuleOp module, Stage stage) {
  return verifyEach(module, [&](Operation *op) { return verifyTypes(op, stage); });
}

LogicalResult rapt::verifyTarget(ModuleOp module, Stage stage) {
  if (module->hasAttr(attn::AttnDialect::targetAttr))
    return success();
  return module.emitOpError() << "has no " << attn::AttnDialect::targetAttr << ", which the " << nameOf(stage)
                              << " stage promises";
}

/// An upper bound of a loop of `op`, from an operand of which it is an extent; none where none is known.
static std::optional<int64_t> mostOfLoop(linalg::LinalgOp op, unsigned loop) {
  for (OpOperand &operand : op->getOpOperands())
    for (auto [i, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() == loop)
        if (FailureOr<int64_t> most = ValueBoundsConstraintSet::computeConstantBound(
                presburger::BoundType::UB, {operand.get(), int64_t(i)}, /*stopCondition=*/nullptr, /*closedUB=*/true);
            succeeded(most))
          return *most;
  return std::nullopt;
}

/// A grid of one task is folded into its body, so an op of bounded extents may be a tile where no grid is around it.
LogicalResult rapt::verifyInGrid(Operation *op) {
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  if (!linalg || op->getParentOfType<scf::ForallOp>())
    return success();
  constexpr int64_t mostOfTile = 1 << 20;
  int64_t points = 1;
  for (auto [i, loop] : llvm::enumerate(linalg.getIteratorTypesArray())) {
    if (loop != utils::IteratorType::parallel)
      continue;
    std::optional<int64_t> most = mostOfLoop(linalg, i);
    if (!most || llvm::MulOverflow(points, *most, points) || points > mostOfTile)
      return op->emitOpError("is left whole: the tiled stage promises tiles in grids (scf.forall)");
  }
  return success();
}

LogicalResult rapt::verifyEach(ModuleOp module, function_ref<LogicalResult(Operation *)> verify) {
  return success(!module
                      .walk([&](Operation *op) {
                        return failed(verifyDim(op)) || failed(verify(op)) ? WalkResult::interrupt()
                                                                           : WalkResult::advance();
                      })
                      .wasInterrupted());
}
