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

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  if (!kernel || getKernel().getNestedReferences().size() != 1)
    return emitOpError() << "names " << getKernel() << ", which is no function of a nested module";
  if (TypeRange(kernel.getArgumentTypes()) != TypeRange(getCaptures()))
    return emitOpError() << "kernel " << getKernel() << " must take the captures";
  auto attribute = kernel->getAttrOfType<DictionaryAttr>(AttnHostDialect::kernelAttr);
  for (StringRef name : {"threads", "shared"}) {
    auto number = attribute ? attribute.getAs<IntegerAttr>(name) : IntegerAttr();
    if (!number || number.getInt() < 0 || number.getInt() > INT32_MAX)
      return emitOpError() << "kernel " << getKernel() << " has no " << AttnHostDialect::kernelAttr << " with '" << name
                           << "', a number of 31 bits";
  }
  return success();
}
