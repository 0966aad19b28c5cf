//===- AttnDialect.cpp - Registration, types, attributes ------------------===//
//
// Registers what the other files define, and verifies what belongs to the
// dialect as a whole: its types and its discardable attributes.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/CacheWindow.h"
#include "dialect/Attn/Elementwise.h"
#include "dialect/Attn/ReadByRows.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt::attn;

#include "dialect/Attn/AttnAttrInterfaces.cpp.inc"
#include "dialect/Attn/AttnDialect.cpp.inc"
#include "dialect/Attn/AttnEnums.cpp.inc"
#include "dialect/Attn/AttnInterfaces.cpp.inc"

/// "[2, 3]", or "[]" of a single element.
static ParseResult parseExtents(AsmParser &parser, SmallVector<int64_t> &extents) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                        [&] { return parser.parseInteger(extents.emplace_back()); });
}
static void printExtents(AsmPrinter &printer, ArrayRef<int64_t> extents) { printer << '[' << extents << ']'; }

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

/// Ops of one kind have the same schedule: text names it once.
struct ScheduleAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &os) const final {
    if (!isa<ScheduleInterface>(attribute))
      return AliasResult::NoAlias;
    os << "schedule";
    return AliasResult::FinalAlias;
  }
};
} // namespace

void AttnDialect::initialize() {
  addInterfaces<AttnInlinerInterface, ScheduleAliases>();
  registerTypes();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialect/Attn/AttnOps.cpp.inc"
      >();
  attachInterfaces(getContext());
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

namespace {
bool isName(Attribute value) {
  auto text = dyn_cast<StringAttr>(value);
  return text && !text.empty();
}

/// The rule that `attribute` of an argument (`isArgument`) or of a result breaks; empty when it breaks none.
StringRef faultOfBorder(NamedAttribute attribute, bool isArgument) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  if (name == AttnDialect::nameAttr)
    return isName(value) ? "" : "must be a string that is not empty";
  if (name == AttnDialect::dimsAttr) {
    auto dims = dyn_cast<ArrayAttr>(value);
    return dims && llvm::all_of(dims, isName) ? "" : "must be an array of names of dims";
  }
  if (name != AttnDialect::limitAttr && name != AttnDialect::optionalAttr && name != AttnDialect::cacheAttr &&
      name != cacheWindowAttr)
    return "is none that the attn dialect has for an argument or result";
  if (!isArgument)
    return "belongs to arguments, not to results";
  if (name == AttnDialect::optionalAttr)
    return isa<UnitAttr>(value) ? "" : "must be a unit attribute";
  if (name == AttnDialect::cacheAttr) {
    auto type = dyn_cast<TypeAttr>(value);
    return type && isa<KVCacheType>(type.getValue()) ? "" : "must be the type of a cache";
  }
  auto limit = dyn_cast<IntegerAttr>(value);
  return limit && limit.getType().isInteger(64) && limit.getInt() > 0 ? "" : "must be a positive 64-bit integer";
}

LogicalResult verifyBorder(Operation *op, NamedAttribute attribute, StringRef what, unsigned index, bool isArgument) {
  StringRef fault = faultOfBorder(attribute, isArgument);
  if (fault.empty())
    return success();
  return op->emitOpError() << "attribute '" << attribute.getName().getValue() << "' of " << what << " " << index << " "
                           << fault << ", found " << attribute.getValue();
}
} // namespace

LogicalResult AttnDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned index, NamedAttribute attribute) {
  return verifyBorder(op, attribute, "argument", index, /*isArgument=*/true);
}

LogicalResult AttnDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned index,
                                                       NamedAttribute attribute) {
  return verifyBorder(op, attribute, "result", index, /*isArgument=*/false);
}

LogicalResult AttnDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  StringRef name = attribute.getName();
  Attribute value = attribute.getValue();
  auto check = [&](bool valid, const Twine &what) -> LogicalResult {
    return valid ? success() : op->emitOpError() << "attribute '" << name << "' " << what;
  };
  if (name == stageAttr) {
    auto stage = dyn_cast<StringAttr>(value);
    return check(isa<ModuleOp>(op) && stage && llvm::is_contained(kStages, stage.getValue()),
                 "must be one of \"" + llvm::join(std::begin(kStages), std::end(kStages), "\", \"") +
                     "\", on a module");
  }
  if (name == entryAttr || name == scalarLoopsAttr)
    return check(isa<FunctionOpInterface>(op) && isa<UnitAttr>(value), "is a unit attribute of a function");
  if (name == repeatedAttr)
    return check(isa<AttentionOp>(op) && isa<UnitAttr>(value), "is a unit attribute of attention");
  if (name == readByRowsAttr)
    return check(isa<ParameterOp>(op) && isa<UnitAttr>(value), "is a unit attribute of a parameter");
  if (name == buffersAttr) {
    auto buffers = dyn_cast<ArrayAttr>(value);
    return check(isa<FunctionOpInterface>(op) && buffers && llvm::all_of(buffers, llvm::IsaPred<DictionaryAttr>),
                 "is an array of dictionaries of a function");
  }
  if (name == costsAttr)
    return check(isa<FunctionOpInterface>(op) && isa<DictionaryAttr>(value), "is a dictionary of a function");
  if (name == dispatchAttr && isa<FunctionOpInterface>(op))
    return check(isa<DenseI64ArrayAttr>(value), "of a function is an array of 64-bit integers");
  if (name == opAttr || name == dispatchAttr) {
    auto number = dyn_cast<IntegerAttr>(value);
    // A dispatch that belongs to no op has the number -1.
    int64_t least = name == dispatchAttr ? -1 : 0;
    return check(number && number.getType().isInteger(64) && number.getInt() >= least,
                 "is a 64-bit integer from " + Twine(least) + " on");
  }
  if (name == movesAttr)
    return check(isa<ArrayAttr>(value), "is an array of polynomials");
  if (name == modelAttr || name == targetAttr)
    return check(isa<ModuleOp>(op) && isa<DictionaryAttr>(value), "is a dictionary of a module");
  if (name == cacheOrderAttr)
    return check(isa<ModuleOp>(op) && isa<StringAttr>(value), "is a string of a module");
  if (name == scheduleAttr)
    return check(isa<ScheduleInterface>(value), "is a schedule");
  // A lowered kernel names the dims that its C function takes.
  if (name == dimsAttr && isa<FunctionOpInterface>(op)) {
    auto dims = dyn_cast<ArrayAttr>(value);
    return check(dims && llvm::all_of(dims, isName), "must be an array of names of dims");
  }
  if (llvm::is_contained({nameAttr, dimsAttr, limitAttr, optionalAttr}, name))
    return check(false, "belongs to an argument or result of a function");
  return check(false, "is none that the attn dialect has for an op");
}
