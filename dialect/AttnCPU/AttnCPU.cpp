//===- AttnCPU.cpp - The dialect of the CPU target ---------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/Attn/Ops/Assembly.h"
#include "dialect/AttnCPU/CacheLayout.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_cpu;
using rapt::attn::parseNamedRegions;
using rapt::attn::printNamedRegions;
using rapt::attn::QuantizedCode;
using rapt::attn::QuantizedType;

/// One type for all of the operands.
static ParseResult parseTypeOfAll(OpAsmParser &parser, ArrayRef<OpAsmParser::UnresolvedOperand> operands,
                                  SmallVectorImpl<Type> &types) {
  Type type;
  if (parser.parseType(type))
    return failure();
  types.assign(operands.size(), type);
  return success();
}

static void printTypeOfAll(OpAsmPrinter &printer, Operation *, OperandRange, TypeRange types) {
  printer << types.front();
}

#include "dialect/AttnCPU/AttnCPUDialect.cpp.inc"
#include "dialect/AttnCPU/AttnCPUEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnCPU/AttnCPUAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/AttnCPU/AttnCPUOps.cpp.inc"

void AttnCPUDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/AttnCPU/AttnCPUAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/AttnCPU/AttnCPUOps.cpp.inc"
      >();
}

LogicalResult CachePanelsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t positions, int64_t keys,
                                      int64_t values) {
  return attn::verifyCacheExtents(emitError, positions, keys, values);
}

int64_t CachePanelsAttr::getPadded(int64_t channels) const { return padToPanel(channels); }

SmallVector<int64_t> CachePanelsAttr::getHeadShape(Type element, int64_t channels) const {
  const CacheLayout layout{element, getPositions(), padToPanel(channels)};
  return {layout.lines(), layout.columns()};
}

std::string CachePanelsAttr::getElementAt(Type element, int64_t channels, bool areValues) const {
  const CacheLayout layout{element, getPositions(), padToPanel(channels)};
  const int64_t interleave = layout.interleave();
  // Columns of panels are positions of keys, and channels of values.
  const std::string column = areValues ? "c" : "p", row = areValues ? "p" : "c", width = std::to_string(kPanel),
                    by = std::to_string(interleave);
  const int64_t rows = (areValues ? layout.paddedBlock() : layout.channels) / interleave;
  const std::string panel = column + " / " + width + " * " + std::to_string(rows), lane = column + " % " + width;
  if (interleave == 1)
    return "(" + panel + " + " + row + ") * " + width + " + " + lane;
  return "(" + panel + " + " + row + " / " + by + ") * " + std::to_string(layout.columns()) + " + " + lane + " * " +
         by + " + " + row + " % " + by;
}

std::string CachePanelsAttr::getScaleAt(Type element, int64_t channels) const {
  const CacheLayout layout{element, getPositions(), padToPanel(channels)};
  if (!layout.hasScales())
    return {};
  return std::to_string(layout.elementLines() * layout.columns()) + " + p * " + std::to_string(layout.scaleBytes());
}

Attribute ModuleScheduleAttr::getLinalgTiles() const { return getLinalg(); }

ModuleScheduleAttr ModuleScheduleAttr::around(Operation *op) {
  auto module = op->getParentOfType<ModuleOp>();
  return module ? attn::scheduleOf<ModuleScheduleAttr>(module) : ModuleScheduleAttr();
}

static LogicalResult verifyFusedInto(Operation *op, Attribute value) {
  std::optional<Root> expected;
  if (isa<attn::LinearOp>(op))
    expected = Root::consumer;
  else if (isa<attn::RopeOp, CastRowsOp>(op))
    expected = Root::producer;
  auto root = dyn_cast<RootAttr>(value);
  if (expected && root && root.getValue() == *expected)
    return success();
  InFlightDiagnostic error = op->emitOpError() << "attribute '" << AttnCPUDialect::fusedIntoAttr << "' ";
  if (!expected)
    return error << "belongs to attn.linear, attn.rope and attn_cpu.cast_rows";
  return error << "must be " << RootAttr::get(op->getContext(), *expected) << ", found " << value;
}

LogicalResult AttnCPUDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() == fusedIntoAttr)
    return verifyFusedInto(op, attribute.getValue());
  if (attribute.getName() != bf16MatmulAttr)
    return success();
  auto attention = dyn_cast<attn::AttentionOp>(op);
  if (!attention || !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError() << "attribute '" << bf16MatmulAttr << "' is a unit attribute of attn.attention";
  if (attention.getAdditive())
    return op->emitOpError() << "has '" << bf16MatmulAttr << "' and an additive similarity, which is no matmul";
  return success();
}

LogicalResult PanelsAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t width, int64_t interleave) {
  if (width != kPanel || (interleave != 1 && interleave != 2))
    return emitError() << "expected panels of " << kPanel << " columns with interleave factor 1 or 2, found " << width
                       << " columns and interleave factor " << interleave;
  return success();
}

PanelsAttr PanelsAttr::of(MLIRContext *context, int64_t interleave) { return get(context, kPanel, interleave); }

PanelsAttr PanelsAttr::of(Type element) { return of(element.getContext(), interleaveOf(element)); }

bool PanelsAttr::isWeight(ShapedType weight) const {
  return weight.getRank() == 3 && weight.getDimSize(2) == getWidth() * getInterleave() &&
         (getInterleave() == 1 || weight.getElementType().isBF16());
}

// Panels are rounded up without counting their columns, which may overflow.
bool PanelsAttr::isMatrix(ShapedType weight, int64_t rows, int64_t columns) const {
  auto panelsOf = [](int64_t count, int64_t of) { return count / of + (count % of != 0); };
  return isWeight(weight) && weight.getDimSize(0) == panelsOf(columns, getWidth()) &&
         weight.getDimSize(1) <= panelsOf(rows, getInterleave());
}

int64_t PanelsAttr::getRows(ShapedType weight) const {
  const int64_t units = weight.getDimSize(1);
  return weight.isDynamicDim(1) ? units : std::min(units, INT64_MAX / 4) * getInterleave();
}

int64_t PanelsAttr::getColumns(ShapedType weight) const { return weight.getDimSize(0) * getWidth(); }

int64_t PanelsAttr::getWidthOfRows(ShapedType weight) const {
  return weight.isDynamicDim(1) ? ShapedType::kDynamic : padToPanel(getRows(weight));
}

int64_t PanelsAttr::getOffset(ShapedType weight, int64_t row, int64_t column) const {
  const int64_t k = getInterleave(), width = getWidth();
  return (column / width * weight.getDimSize(1) + row / k) * width * k + column % width * k + row % k;
}

bool PanelsAttr::takesRows(Type element, int64_t columns) const {
  return !isa<FloatType>(element) || element.isF32() || (element.isBF16() && getInterleave() == 2 && columns % 2 == 0);
}

LogicalResult PackedAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                 int64_t columnGroup, int64_t rowGroup, int64_t interleave) {
  if (shape.size() != 2 ||
      llvm::any_of(shape, [](int64_t extent) { return extent < 1 || extent > (int64_t(1) << 40); }))
    return emitError() << "expected a matrix with extents from 1 to 2^40, found [" << shape << "]";
  auto divides = [](int64_t group, int64_t extent) { return group >= 0 && (group == 0 || extent % group == 0); };
  if (!divides(columnGroup, shape[1]) || !divides(rowGroup, shape[0]))
    return emitError() << "expected groups that make up the rows and columns of [" << shape << "], found groups of "
                       << rowGroup << " and " << columnGroup;
  if (interleave < 1 || interleave > 8 || !llvm::isPowerOf2_64(interleave))
    return emitError() << "expected the interleave factor 1, 2, 4 or 8, found " << interleave;
  return success();
}

/// The interleave factor of a parameter in the weight file.
static int64_t interleaveInFile(Type element) {
  auto quantized = dyn_cast<QuantizedType>(element);
  if (quantized && quantized.blocks())
    return 4; // rows whose codes follow one another in a plane
  // A word of 32 bits has the interleaved values of a column.
  return quantized ? 32 / quantized.bits() : interleaveOf(element);
}

PackedAttr PackedAttr::of(Type element, ArrayRef<int64_t> shape, int64_t columnGroup, int64_t rowGroup) {
  return get(element.getContext(), shape, columnGroup, rowGroup, interleaveInFile(element));
}

RankedTensorType PackedAttr::getStored(Type element) const {
  auto padded = [](int64_t extent, int64_t group) { return extent / group * padToPanel(group); };
  const int64_t columns = padded(getShape()[1], getColumnGroup() ? getColumnGroup() : getShape()[1]);
  const int64_t rows = getRowGroup() ? padded(getShape()[0], getRowGroup()) : getShape()[0];
  // The type of quantized values does not show how they are interleaved.
  const int64_t k = isa<QuantizedType>(element) ? 1 : getInterleave();
  return RankedTensorType::get({columns / kPanel, llvm::divideCeilSigned(rows, k), kPanel * k}, element);
}

bool PackedAttr::isStored(RankedTensorType layer) const {
  auto quantized = dyn_cast<QuantizedType>(layer.getElementType());
  return layer == getStored(layer.getElementType()) && getInterleave() == interleaveInFile(layer.getElementType()) &&
         (!quantized || quantized.getAxis() == 0);
}

bool rapt::attn_cpu::isInterleaved(std::optional<attn::WeightLayoutInterface> layout) {
  auto panels = layout ? dyn_cast<PanelsAttr>(*layout) : PanelsAttr();
  return panels && panels.getInterleave() == 2;
}

bool rapt::attn_cpu::usesBf16Matmul(Operation *attention) { return attention->hasAttr(AttnCPUDialect::bf16MatmulAttr); }

LogicalResult PanelMatmulOp::verify() {
  if (llvm::any_of(getOperandTypes(), llvm::IsaPred<UnrankedTensorType>))
    return emitOpError("works on ranked tiles");
  auto rows = cast<ShapedType>(getRows().getType()), panel = cast<ShapedType>(getPanel().getType()),
       dest = cast<ShapedType>(getDest().getType());
  const int64_t rank = panel.getRank();
  bool fits = rows.getRank() == 2 && (rank == 2 || rank == 3) && dest.getRank() == 2 &&
              rows.getDimSize(0) == dest.getDimSize(0) &&
              dest.getDimSize(1) == (rank == 3 ? panel.getDimSize(0) : 1) * kPanel;
  const int64_t interleave = interleaveOf(panel.getElementType());
  if (fits) {
    const int64_t k = rows.getDimSize(1), lines = panel.getDimSize(rank - 2);
    fits = panel.getShape().back() == interleave * kPanel && (interleave > 1 || rows.getElementType().isF32()) &&
           (ShapedType::isDynamic(k) ? ShapedType::isDynamic(lines) : k == interleave * lines);
  }
  if (!fits)
    return emitOpError() << "needs rows [m, k], a panel [k, " << kPanel << "] or, VNNI-packed in bf16, [k/2, "
                         << 2 * kPanel << "], and dest [m, " << kPanel << "], or panels [n/" << kPanel
                         << ", ...] and dest [m, n], found " << rows << ", " << panel << " and " << dest;
  auto isMatrix = [](Value prefetched) { return cast<ShapedType>(prefetched.getType()).getRank() == 2; };
  if (!llvm::all_of(getPrefetched(), isMatrix) || getBounds().size() != 2 * getPrefetched().size())
    return emitOpError("needs two row bounds for each matrix that it prefetches");
  bool onTensors = isa<RankedTensorType>(dest);
  if (getResult().size() != (onTensors ? 1 : 0) || (onTensors && getResult()[0].getType() != dest))
    return emitOpError("gives a tensor of the type of dest, and nothing on memory");
  return success();
}

void PanelMatmulOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (isa<TensorType>(getDest().getType()))
    return;
  for (OpOperand *read : {&getRowsMutable(), &getPanelMutable(), &getDestMutable()})
    effects.emplace_back(MemoryEffects::Read::get(), read, SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getDestMutable(), SideEffects::DefaultResource::get());
}

LogicalResult VnniMatmulOp::verify() {
  if (llvm::any_of(getOperandTypes(), llvm::IsaPred<UnrankedTensorType>))
    return emitOpError("works on ranked tiles");
  auto rows = cast<ShapedType>(getRows().getType()), panel = cast<ShapedType>(getPanel().getType()),
       dest = cast<ShapedType>(getDest().getType());
  auto are = [](int64_t extent, int64_t times, int64_t count) {
    return ShapedType::isDynamic(extent) || ShapedType::isDynamic(count) || extent == times * count;
  };
  const int64_t k = rows.getRank() == 2 ? rows.getDimSize(1) : 0, rank = panel.getRank();
  bool fits = rows.getRank() == 2 && dest.getRank() == 2 && (rank == 2 || rank == 3) &&
              panel.getShape().back() == 2 * kPanel && rows.getDimSize(0) == dest.getDimSize(0);
  if (fits && rank == 2)
    fits = dest.getDimSize(1) == kPanel && !ShapedType::isDynamic(k) && panel.getDimSize(0) == k / 2 + k % 2;
  else if (fits)
    fits = are(dest.getDimSize(1), kPanel, panel.getDimSize(0)) && are(k + k % 2, 2, panel.getDimSize(1));
  if (!fits || (rows.getElementType().isBF16() && !ShapedType::isDynamic(k) && k % 2 != 0))
    return emitOpError() << "needs rows [m, k], with an even k in bf16, a panel [k/2, " << 2 * kPanel
                         << "] and dest [m, " << kPanel << "], or panels [n/" << kPanel << ", k/2, " << 2 * kPanel
                         << "] and dest [m, n], found " << rows << ", " << panel << " and " << dest;
  bool onTensors = isa<RankedTensorType>(dest);
  if (getResult().size() != (onTensors ? 1 : 0) || (onTensors && getResult()[0].getType() != dest))
    return emitOpError("gives a tensor of the type of dest, and nothing on memory");
  return success();
}

void VnniMatmulOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (isa<TensorType>(getDest().getType()))
    return;
  for (OpOperand &read : getOperation()->getOpOperands())
    effects.emplace_back(MemoryEffects::Read::get(), &read, SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getDestMutable(), SideEffects::DefaultResource::get());
}

LogicalResult CastRowsOp::verify() {
  RankedTensorType input = getInput().getType(), result = getResult().getType();
  const bool areRows = input.getRank() == result.getRank() && input.getRank() >= 2 && input.getRank() <= 3 &&
                       input.getShape().drop_back() == result.getShape().drop_back();
  if (!areRows || ShapedType::isDynamic(input.getShape().back()) || ShapedType::isDynamic(result.getShape().back()) ||
      result.getShape().back() < input.getShape().back())
    return emitOpError() << "needs an input [m, k] and a result [m, n], or heads [m, h, k] and [m, h, n], with static "
                            "k and n, where n "
                            "is at least k, found "
                         << input << " and " << result;
  return success();
}

LogicalResult QuantizedMatmulOp::verify() {
  if (llvm::any_of(getOperandTypes(), llvm::IsaPred<UnrankedTensorType>))
    return emitOpError("works on ranked tiles");
  auto rows = cast<ShapedType>(getRows().getType()), panel = cast<ShapedType>(getPanel().getType()),
       dest = cast<ShapedType>(getDest().getType());
  auto type = cast<QuantizedType>(getWeight());
  int64_t depth = getDepth();
  if (type.getCode() == QuantizedCode::s8 || depth < 1 || depth > (int64_t(1) << 32))
    return emitOpError() << "needs a quantized weight with at least one row, found " << type << " of depth " << depth;
  if (type.blocks() && (depth % type.blocks()->block != 0 || getWords() || panel.getRank() != 2))
    return emitOpError() << "multiplies one panel of whole blocks, by rows of bytes, found " << panel << " of depth "
                         << depth << " of " << type;
  if (getUnpacked() && (type.bits() != 4 || type.blocks()))
    return emitOpError() << "unpacks a panel of 4 bits, not of " << type;
  const QuantizedLayout layout(type, depth);
  const RankedTensorType packed = layout.panelBytes(1), unpacked = layout.unpacked();
  const auto shape = getUnpacked() ? unpacked.getShape() : packed.getShape().drop_front();
  const bool isOfSeveral = panel.getRank() == 3 && !getUnpacked() && dest.getRank() == 2 && dest.getDimSize(0) == 1;
  const int64_t panels = isOfSeveral ? panel.getDimSize(0) : 1;
  if (rows.getRank() != 2 || (panel.getRank() != 2 && !isOfSeveral) || dest.getRank() != 2 ||
      ShapedType::isDynamic(panels) || dest.getDimSize(1) != panels * kPanel ||
      rows.getDimSize(0) != dest.getDimSize(0) ||
      rows.getDimSize(1) != QuantizedLayout::ofRows(type, depth, getWords()).rowBytes() ||
      panel.getShape().take_back(2) != shape)
    return emitOpError() << "rows " << rows << ", panel " << panel << " and dest " << dest << " do not fit depth "
                         << depth << " of " << type;
  bool onTensors = isa<RankedTensorType>(dest);
  if (getResult().size() != (onTensors ? 1 : 0) || (onTensors && getResult()[0].getType() != dest))
    return emitOpError("gives a tensor of the type of dest, and nothing on memory");
  return success();
}

void QuantizedMatmulOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (isa<TensorType>(getDest().getType()))
    return;
  for (OpOperand *read : {&getRowsMutable(), &getPanelMutable()})
    effects.emplace_back(MemoryEffects::Read::get(), read, SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), &getDestMutable(), SideEffects::DefaultResource::get());
}

LogicalResult WriteLinesOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                             SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getDest().getType());
  return success();
}

ValueRange WriteLinesOp::getPlace(unsigned i) {
  const int64_t rank = getDest().getType().getRank();
  return getAt().slice(i * rank, rank);
}

LogicalResult WriteLinesOp::verify() {
  RankedTensorType dest = getDest().getType();
  const size_t lines = getLines().size();
  if (lines == 0 || getAt().size() != lines * dest.getRank())
    return emitOpError() << "needs lines, and for each an index of every dim of the destination; found " << lines
                         << " lines and " << getAt().size() << " indices of " << dest;
  auto line = cast<VectorType>(getLines().front().getType());
  if (!llvm::all_equal(getLines().getTypes()))
    return emitOpError("needs lines of one type");
  const int64_t columns = dest.getRank() > 0 ? dest.getShape().back() : 0;
  if (line.isScalable() || line.getElementType() != dest.getElementType() ||
      (!ShapedType::isDynamic(columns) && line.getDimSize(0) > columns))
    return emitOpError() << "needs lines that fit the destination, found " << line << " and " << dest;
  return success();
}
