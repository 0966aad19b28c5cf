//===- AttnHost.cpp - The dialect of host programs ----------------------------------===//
#include "dialect/AttnHost/AttnHost.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace rapt::attn_host;

/// custom<TypeList>(type($operands)): types in parentheses, maybe none.
static ParseResult parseTypeList(OpAsmParser &parser, SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                        [&] { return parser.parseType(types.emplace_back()); });
}
static void printTypeList(OpAsmPrinter &printer, Operation *, TypeRange types) { printer << '(' << types << ')'; }

#include "dialect/AttnHost/AttnHostDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/AttnHost/AttnHostOps.cpp.inc"

void AttnHostDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/AttnHost/AttnHostOps.cpp.inc"
      >();
}

LogicalResult ParallelForOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto task = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getTaskAttr());
  if (!task)
    return emitOpError() << "names '" << getTask() << "', which is no function";
  ArrayRef<Type> inputs = task.getArgumentTypes();
  if (inputs.size() != getCaptures().size() + 3 || TypeRange(inputs.drop_back(3)) != TypeRange(getCaptures()))
    return emitOpError() << "task '" << getTask() << "' must take the captures, then begin, end and worker";
  return success();
}
