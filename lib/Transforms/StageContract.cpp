//===- StageContract.cpp - Checks of every stage's contract ----------------------------===//
#include "lib/Transforms/StageContract.h"
#include "dialect/Attn/AttnDialect.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
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

LogicalResult rapt::verifyEach(ModuleOp module, function_ref<LogicalResult(Operation *)> verify) {
  return success(!module
                      .walk([&](Operation *op) {
                        return failed(verifyDim(op)) || failed(verify(op)) ? WalkResult::interrupt()
                                                                           : WalkResult::advance();
                      })
                      .wasInterrupted());
}
