//===- FragmentOps.cpp - Verifiers of ops on fragments ------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

/// custom<TileRegions>($score, $mask, $blocks): each with its name, where it is there.
static ParseResult parseTileRegions(OpAsmParser &parser, Region &score, Region &mask, Region &blocks) {
  for (auto [name, region] : {std::pair("score", &score), std::pair("mask", &mask), std::pair("blocks", &blocks)})
    if (succeeded(parser.parseOptionalKeyword(name)) && parser.parseRegion(*region))
      return failure();
  return success();
}

static void printTileRegions(OpAsmPrinter &printer, Operation *, Region &score, Region &mask, Region &blocks) {
  for (auto [name, region] : {std::pair("score", &score), std::pair("mask", &mask), std::pair("blocks", &blocks)})
    if (!region->empty()) {
      printer << ' ' << name << ' ';
      printer.printRegion(*region);
    }
}

#define GET_OP_CLASSES
#include "dialect/AttnGPU/AttnGPUOps.cpp.inc"

/// Sums of integers are only filled, multiplied and scaled.
static bool isAccumulator(FragmentType fragment) {
  return fragment.isOperand(MatmulOperand::acc) && fragment.getElementType().isF32();
}

LogicalResult FillOp::verify() {
  auto fragment = dyn_cast<FragmentType>(getResult().getType());
  if (fragment && !fragment.isOperand(MatmulOperand::acc))
    return emitOpError() << "makes accumulators or row vectors, found " << fragment;
  return success();
}

/// The bounds and the element type of an access to global memory.
static LogicalResult verifyAccess(Operation *op, size_t bounds, Type element, FragmentType fragment) {
  if (bounds > 2)
    return op->emitOpError() << "has bounds of rows and columns, found " << bounds << " bounds";
  const bool isKnown = element.isF32() || element.isBF16() || element.isF16();
  if (!isKnown || (!isAccumulator(fragment) && element != fragment.getElementType()))
    return op->emitOpError() << "works on f32, bf16 and f16, and on an operand's own elements, found " << element
                             << " for " << fragment;
  return success();
}

LogicalResult LoadFragmentOp::verify() {
  return verifyAccess(*this, getBounds().size(), getElement(), getFragment().getType());
}

LogicalResult StoreFragmentOp::verify() {
  if (!isAccumulator(getFragment().getType()))
    return emitOpError() << "stores accumulators, found " << getFragment().getType();
  return verifyAccess(*this, getBounds().size(), getElement(), getFragment().getType());
}

LogicalResult StoreRowsOp::verify() {
  if (!isAccumulator(getFragment().getType()))
    return emitOpError() << "stores accumulators, found " << getFragment().getType();
  if (!isRowOffset(getBody()))
    return emitOpError() << "has a region of a row that yields an offset";
  if (getFours() && (getElements() || getElement().isF32() || getFragment().getType().getColumns() % 16 != 0))
    return emitOpError() << "stores fours of bf16 or f16, of fragments of a multiple of 16 columns, found "
                         << getFragment().getType() << " as " << getElement();
  return verifyAccess(*this, /*bounds=*/2, getElement(), getFragment().getType());
}

/// Whether a map of values of type `result` takes an operand: of the same type, or for fragments the values of its
/// rows.
static bool isOperandOf(Type operand, Type result) {
  if (operand == result)
    return true;
  auto fragment = dyn_cast<FragmentType>(result);
  auto rows = dyn_cast<RowVectorType>(operand);
  return fragment && rows && rows.getRows() == fragment.getRows() && rows.getLayout() == fragment.getLayout();
}

/// Whether every two accumulators of a thread have columns beside each other, the first of which is even.
static bool hasPairs(FragmentType fragment) {
  for (int64_t i = 0; i < fragment.getElements(); i += 2) {
    const Coordinates first = fragment.getDistance(i), second = fragment.getDistance(i + 1);
    if (first.column % 2 != 0 || second.column != first.column + 1 || second.row != first.row)
      return false;
  }
  return llvm::all_of(fragment.getLayout().getAtom().ofThread,
                      [](const LayoutField &field) { return field.step.column % 2 == 0; });
}

LogicalResult MapOp::verify() {
  if (getResults().empty() || !llvm::all_equal(getResultTypes()))
    return emitOpError() << "has results of one type";
  const Type result = getResultTypes()[0];
  auto fragment = dyn_cast<FragmentType>(result);
  if (fragment && !isAccumulator(fragment))
    return emitOpError() << "computes accumulators or row vectors, found " << fragment;
  for (Type operand : getOperandTypes())
    if (!isOperandOf(operand, result))
      return emitOpError() << "has operands that belong to its results, found " << operand << " for " << result;
  const size_t elements = getPairs() ? 2 : 1; // of an operand or result that the region sees
  if (getPairs() && (!fragment || getOperands().size() != 1 || getResults().size() != 1 ||
                     getOperandTypes()[0] != result || !hasPairs(fragment)))
    return emitOpError() << "maps the pairs of one fragment to another of its type, found " << getOperandTypes()
                         << " for " << result;
  SmallVector<Type> expected(getOperands().size() * elements, Float32Type::get(getContext()));
  expected.append(fragment ? 2 : 1, IndexType::get(getContext()));
  if (getBody().getArgumentTypes() != TypeRange(expected))
    return emitOpError() << "has a region of (" << expected << "), found (" << getBody().getArgumentTypes() << ")";
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getValues().size() != getResults().size() * elements ||
      !llvm::all_of(yield.getValues().getTypes(), llvm::IsaPred<Float32Type>))
    return emitOpError() << "yields " << (elements == 2 ? "two values" : "one value") << " for each result";
  Operation *own = nullptr;
  getBody().walk([&](Operation *op) {
    if (op != yield && isa<AttnGPUDialect>(op->getDialect()))
      own = op;
  });
  if (own)
    return emitOpError() << "has a region of scalars, found " << own->getName();
  return success();
}

LogicalResult ReduceRowsOp::verify() {
  const FragmentType fragment = getFragment().getType();
  const RowVectorType rows = getResult().getType();
  if (rows.getRows() != fragment.getRows() || rows.getLayout() != fragment.getLayout())
    return emitOpError() << "gives a value for each row of accumulators, found " << rows << " for " << fragment;
  return success();
}

LogicalResult PackOp::verify() {
  const FragmentType from = getFragment().getType(), to = getResult().getType();
  if (!isAccumulator(from) || !to.isOperand(MatmulOperand::a) || !relabel(from, to))
    return emitOpError() << "makes a first operand of accumulators that the same threads hold, found " << from
                         << " and " << to;
  return success();
}

LogicalResult MmaOp::verify() {
  const FragmentType a = getA().getType(), b = getB().getType(), acc = getAcc().getType();
  auto is = [](FragmentType fragment, MatmulOperand operand) {
    auto layout = dyn_cast<MmaLayoutAttr>(fragment.getLayout());
    return layout && layout.getOperand() == operand;
  };
  if (!is(a, MatmulOperand::a) || !is(b, MatmulOperand::b) || !is(acc, MatmulOperand::acc))
    return emitOpError() << "needs fragments of the layouts mma<a>, mma<b> and mma<acc>, found " << a << ", " << b
                         << " and " << acc;
  if (a.getRows() != acc.getRows() || a.getColumns() != b.getRows() || b.getColumns() != acc.getColumns() ||
      a.getElementType() != b.getElementType() || a.getElementType().isInteger() || !isAccumulator(acc))
    return emitOpError() << "needs floats [m, k], [k, n] and [m, n] of one element type, found " << a << ", " << b
                         << " and " << acc;
  return success();
}

namespace {

struct Operand {
  int64_t rows, columns;
  Type element;
};

Operand operandOf(Type type) {
  if (auto tile = dyn_cast<TileType>(type))
    return {tile.getRows(), tile.getColumns(), tile.getElementType()};
  auto fragment = cast<FragmentType>(type);
  return {fragment.getRows(), fragment.getColumns(), fragment.getElementType()};
}

} // namespace

LogicalResult WgmmaOp::verify() {
  const FragmentType result = getResult().getType();
  auto fragment = dyn_cast<FragmentType>(getA().getType());
  if (!isa<WgmmaLayoutAttr>(result.getLayout()) || !isAccumulator(result) ||
      (fragment && (!isa<WgmmaLayoutAttr>(fragment.getLayout()) || isAccumulator(fragment))))
    return emitOpError() << "needs fragments of the layouts wgmma<a> and wgmma<acc>, found " << getA().getType()
                         << " and " << result;
  const Operand a = operandOf(getA().getType());
  Operand b = operandOf(getB().getType());
  if (getTranspose())
    std::swap(b.rows, b.columns);
  if (a.rows != result.getRows() || a.columns != b.rows || b.columns != result.getColumns() || a.element != b.element ||
      a.element.isInteger())
    return emitOpError() << "needs floats [m, k], [k, n] and [m, n] of one element type, found " << getA().getType()
                         << ", " << getB().getType() << " and " << result;
  if (b.element.isF32())
    return emitOpError() << "multiplies bf16 and f16, found " << getB().getType();
  if (b.columns > 256 || a.columns % 16 != 0)
    return emitOpError() << "needs at most 256 columns and a depth that is a multiple of 16, found " << b.columns
                         << " and " << a.columns;
  for (OpOperand &use : getResult().getUses()) {
    Operation *user = use.getOwner();
    auto next = dyn_cast<WgmmaOp>(user);
    if (!(next && next.getAcc() == getResult()) && !isa<WgmmaWaitOp, WgmmaFenceOp>(user) &&
        !user->hasTrait<OpTrait::IsTerminator>())
      return emitOpError() << "has a result that " << user->getName() << " uses before attn_gpu.wgmma_wait";
  }
  return success();
}

LogicalResult WgmmaFenceOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getFragments().getTypes());
  return success();
}

LogicalResult WgmmaWaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  llvm::append_range(types, adaptor.getFragments().getTypes());
  return success();
}
