//===- StageContract.cpp - Checks of every stage's contract ----------------------------===//
#include "lib/Transforms/StageContract.h"
#include "dialect/Attn/AttnDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "llvm/ADT/StringExtras.h"

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

LogicalResult rapt::verifyEach(ModuleOp module, function_ref<LogicalResult(Operation *)> verify) {
  return success(!module
                      .walk([&](Operation *op) {
                        return failed(verifyDim(op)) || failed(verify(op)) ? WalkResult::interrupt()
                                                                           : WalkResult::advance();
                      })
                      .wasInterrupted());
}
