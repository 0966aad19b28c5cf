//===- AttnGPU.cpp - The dialect of NVIDIA GPUs: layouts and types -----------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

namespace {

// Bounds that a thread's registers and a block's shared memory set.
constexpr int64_t kMaxElements = 512, kMaxExtent = 65536, kMaxSharedBytes = 227 * 1024;

/// custom<Tile>($rows, $columns, $element): "64x128xbf16".
ParseResult parseTile(AsmParser &parser, int64_t &rows, int64_t &columns, Type &element) {
  SmallVector<int64_t> shape;
  const SMLoc at = parser.getCurrentLocation();
  if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element))
    return failure();
  if (shape.size() != 2)
    return parser.emitError(at, "expected rows and columns, found ") << shape.size() << " extents";
  rows = shape[0];
  columns = shape[1];
  return success();
}

void printTile(AsmPrinter &printer, int64_t rows, int64_t columns, Type element) {
  printer << rows << 'x' << columns << 'x' << element;
}

/// custom<Swizzle>($swizzle, $pitch, ref($rows)): no pitch where it is the number of rows.
ParseResult parseSwizzle(AsmParser &parser, SwizzleAttr &swizzle, int64_t &pitch, int64_t rows) {
  pitch = rows;
  if (parser.parseAttribute(swizzle))
    return failure();
  if (failed(parser.parseOptionalComma()))
    return success();
  return failure(parser.parseKeyword("pitch") || parser.parseEqual() || parser.parseInteger(pitch));
}

void printSwizzle(AsmPrinter &printer, SwizzleAttr swizzle, int64_t pitch, int64_t rows) {
  printer << swizzle;
  if (pitch != rows)
    printer << ", pitch = " << pitch;
}

bool isHalf(Type type) { return type.isBF16() || type.isF16(); }

/// Two quantized values of 8 bits are an element of 16.
bool isFactor(Type type) { return isHalf(type) || type.isInteger(16); }

bool isSum(Type type) { return type.isF32() || type.isInteger(32); }

bool isAccumulator(FragmentLayoutInterface layout) { return !layout.isPacked(); }

bool isExtent(int64_t extent, int64_t multiple) { return extent > 0 && extent <= kMaxExtent && extent % multiple == 0; }

/// Ops of one kind have the same schedule: text names it once.
struct ScheduleAliases : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;
  AliasResult getAlias(Attribute attribute, raw_ostream &os) const final {
    if (!isa<AttentionScheduleAttr, LinearScheduleAttr>(attribute))
      return AliasResult::NoAlias;
    os << "schedule";
    return AliasResult::FinalAlias;
  }
};

} // namespace

Type attn_gpu::scalarOf(Type type) {
  auto fragment = dyn_cast<FragmentType>(type);
  return fragment && !fragment.getLayout().isPacked() ? fragment.getElementType() : Float32Type::get(type.getContext());
}

#include "dialect/AttnGPU/AttnGPUDialect.cpp.inc"
#include "dialect/AttnGPU/AttnGPUEnums.cpp.inc"
#include "dialect/AttnGPU/AttnGPUInterfaces.cpp.inc"
#include "dialect/AttnGPU/AttnGPUOpInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnGPU/AttnGPUAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialect/AttnGPU/AttnGPUTypes.cpp.inc"

void AttnGPUDialect::initialize() {
  addInterfaces<ScheduleAliases>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/AttnGPU/AttnGPUAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/AttnGPU/AttnGPUTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/AttnGPU/AttnGPUOps.cpp.inc"
      >();
}

LogicalResult WgmmaLayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError, MatmulOperand operand) {
  if (operand == MatmulOperand::b)
    return emitError() << "the second operand of wgmma is a tile in shared memory, expected layout a or acc";
  return success();
}

LogicalResult SwizzleAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t bytes) {
  if (bytes != 32 && bytes != 64 && bytes != 128)
    return emitError() << "expected a swizzle of 32, 64 or 128 bytes, found " << bytes;
  return success();
}

LogicalResult FragmentType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t columns,
                                   Type elementType, FragmentLayoutInterface layout) {
  const LayoutAtom &atom = layout.getAtom();
  if (!isExtent(rows, atom.rows) || !isExtent(columns, atom.columns))
    return emitError() << "expected a multiple of " << atom.rows << "x" << atom.columns << " up to " << kMaxExtent
                       << ", found " << rows << "x" << columns;
  if (rows * columns / atom.threads > kMaxElements)
    return emitError() << "expected at most " << kMaxElements << " elements for each thread, found "
                       << rows * columns / atom.threads;
  if (isAccumulator(layout) ? !isSum(elementType) : !isFactor(elementType))
    return emitError() << "expected "
                       << (isAccumulator(layout) ? "accumulators of f32 or i32" : "operands of bf16, f16 or i16")
                       << ", found " << elementType;
  return success();
}

LogicalResult RowVectorType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                                    FragmentLayoutInterface layout) {
  if (!isAccumulator(layout) || !isExtent(rows, layout.getAtom().rows))
    return emitError() << "expected rows of accumulators, a multiple of " << layout.getAtom().rows << " up to "
                       << kMaxExtent << ", found " << rows << " of " << layout;
  return success();
}

LogicalResult TileType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t columns,
                               Type elementType, SwizzleAttr swizzle, int64_t pitch) {
  const int64_t bytes = elementType.isF32() ? 4 : 2, box = swizzle.getBytes() / bytes;
  if (!isExtent(rows, 8) || !isExtent(columns, box) || !(isFactor(elementType) || elementType.isF32()))
    return emitError() << "expected elements of bf16, f16, f32 or i16 in a multiple of 8x" << box << " up to "
                       << kMaxExtent << ", found " << rows << "x" << columns << "x" << elementType;
  if (pitch < rows || !isExtent(pitch, 8) || pitch * columns * bytes > kMaxSharedBytes)
    return emitError() << "expected a pitch from " << rows << ", a multiple of 8 with at most " << kMaxSharedBytes
                       << " bytes in all, found " << pitch;
  return success();
}
