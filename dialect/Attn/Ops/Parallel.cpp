//===- Parallel.cpp - Calls into the executor --------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace rapt::attn;

LogicalResult ParallelForOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto task = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getTaskAttr());
  if (!task)
    return emitOpError() << "names '" << getTask() << "', which is no function";
  ArrayRef<Type> inputs = task.getArgumentTypes();
  if (inputs.size() != getCaptures().size() + 3 || TypeRange(inputs.drop_back(3)) != TypeRange(getCaptures()))
    return emitOpError() << "task '" << getTask() << "' must take the captures, then begin, end and worker";
  return success();
}
