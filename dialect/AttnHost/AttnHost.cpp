//===- AttnHost.cpp - The dialect of host programs ----------------------------------===//
#include "dialect/AttnHost/AttnHost.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt::attn_host;

/// custom<TypeList>(type($operands)): types in parentheses, maybe none.
static ParseResult parseTypeList(OpAsmParser &parser, SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                        [&] { return parser.parseType(types.emplace_back()); });
}
static void printTypeList(OpAsmPrinter &printer, Operation *, TypeRange types) { printer << '(' << types << ')'; }

#include "dialect/AttnHost/AttnHostDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnHost/AttnHostAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/AttnHost/AttnHostOps.cpp.inc"

void AttnHostDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/AttnHost/AttnHostAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/AttnHost/AttnHostOps.cpp.inc"
      >();
}

LogicalResult AttnHostDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == kernelAttr && (!isa<FunctionOpInterface>(op) || !isa<KernelAttr>(attribute.getValue())))
    return op->emitOpError() << "attribute '" << kernelAttr << "' is a #attn_host.kernel of a function";
  return success();
}

LogicalResult KernelAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t threads, int64_t shared,
                                 int64_t maps, bool) {
  for (int64_t number : {threads, shared, maps})
    if (number < 0 || number > INT32_MAX)
      return emitError() << "expected numbers of 31 bits, found " << number;
  return success();
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
  auto facts = kernel->getAttrOfType<KernelAttr>(AttnHostDialect::kernelAttr);
  if (!facts)
    return emitOpError() << "kernel " << getKernel() << " has no " << AttnHostDialect::kernelAttr;
  if (facts.getMaps() > int64_t(getCaptures().size()))
    return emitOpError() << "kernel " << getKernel() << " has " << facts.getMaps() << " tensor maps of "
                         << getCaptures().size() << " captures";
  return success();
}

// CUDA driver API, cuTensorMapEncodeTiled.
constexpr int64_t kMostDims = 5, kMostOfBox = 256, kBoxRow = 16;

LogicalResult TensorMapOp::verify() {
  auto type = cast<MemRefType>(getArray().getType());
  ArrayRef<int64_t> dims = getDims(), box = getBox();
  SmallVector<bool> seen(type.getRank());
  for (int64_t dim : dims) {
    if (dim < 0 || dim >= type.getRank() || seen[dim])
      return emitOpError() << "needs each dim of the array once in 'dims'";
    seen[dim] = true;
  }
  if (int64_t(dims.size()) != type.getRank() || dims.empty() || int64_t(dims.size()) > kMostDims)
    return emitOpError() << "needs an array of 1 to " << kMostDims << " dims, and each of them once in 'dims'";
  auto [strides, offset] = type.getStridesAndOffset();
  if (strides[dims[0]] != 1)
    return emitOpError() << "needs a first dim whose elements are beside each other";
  if (box.size() != dims.size() || llvm::any_of(box, [](int64_t n) { return n < 1 || n > kMostOfBox; }))
    return emitOpError() << "needs from 1 to " << kMostOfBox << " elements of a box along each dim";
  Type element = type.getElementType();
  const int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (bits != 8 && bits != 16 && bits != 32)
    return emitOpError() << "needs elements of 1, 2 or 4 bytes, found " << element;
  const int64_t row = box[0] * bits / 8, swizzle = getSwizzle();
  if ((swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) || row % kBoxRow != 0 ||
      (swizzle != 0 && row > swizzle))
    return emitOpError() << "needs a swizzle of 0, 32, 64 or 128 bytes, and rows of a box of a multiple of " << kBoxRow
                         << " bytes that are not longer";
  return success();
}
