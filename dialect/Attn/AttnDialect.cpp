//===- AttnDialect.cpp - Registration, types, attributes ------------------===//
//
// Registers what the other files define, and verifies what belongs to the
// dialect as a whole: its types and its discardable attributes.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt::attn;

#include "dialect/Attn/AttnDialect.cpp.inc"
#include "dialect/Attn/AttnEnums.cpp.inc"
#include "dialect/Attn/AttnInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/Attn/AttnTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/Attn/AttnAttrs.cpp.inc"

namespace {
/// Blocks are inlined into the layer loop: every op may move.
struct AttnInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final { return true; }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final { return true; }
};
} // namespace

void AttnDialect::initialize() {
  addInterfaces<AttnInlinerInterface>();
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/Attn/AttnOps.cpp.inc"
      >();
}

void AttnDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Attn/AttnTypes.cpp.inc"
      >();
}

void AttnDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/Attn/AttnAttrs.cpp.inc"
      >();
}

LogicalResult KVCacheType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t layers, int64_t heads,
                                  int64_t headDim, int64_t block, Type elementType) {
  if (layers < 1 || heads < 1 || headDim < 1)
    return emitError() << "kv_cache extents must be positive, found " << layers << " x " << heads << " x " << headDim;
  if (block < kPanel || block % kPanel != 0)
    return emitError() << "kv_cache block must be a positive multiple of " << kPanel << ", found " << block;
  if (!isa<FloatType>(elementType))
    return emitError() << "kv_cache element type must be a float, found " << elementType;
  return success();
}

LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  if (name == stageAttr) {
    auto stage = dyn_cast<StringAttr>(attribute.getValue());
    if (!stage || !llvm::is_contained({"imported", "canonical", "tiled", "backend", "llvm-dialect"}, stage.getValue()))
      return op->emitOpError()
             << "attribute '" << name
             << "' must be one of \"imported\", \"canonical\", \"tiled\", \"backend\", \"llvm-dialect\"";
  } else if (name == entryAttr) {
    if (!isa<FunctionOpInterface>(op) || !isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError() << "attribute '" << name << "' is a unit attribute of a function";
  } else if (name == modelAttr || name == targetAttr) {
    if (!isa<ModuleOp>(op) || !isa<DictionaryAttr>(attribute.getValue()))
      return op->emitOpError() << "attribute '" << name << "' is a dictionary of a module";
  }
  return success();
}
