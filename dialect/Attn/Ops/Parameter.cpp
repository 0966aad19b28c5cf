//===- Parameter.cpp - Weights and declared dims --------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace rapt::attn;

bool rapt::attn::isKernelModule(Operation *module) {
  return !module->hasAttr(AttnDialect::modelAttr) &&
         llvm::none_of(module->getRegion(0).front(), llvm::IsaPred<ParameterOp>);
}

LogicalResult DimOp::verify() {
  int64_t min = getMin(), max = getMax();
  if (min < 0 || max < min)
    return emitOpError() << "needs 0 <= min <= max, found min " << min << ", max " << max;
  return success();
}

LogicalResult DimSizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<DimOp>(*this, getDimAttr()))
    return emitOpError() << "names '" << getDim() << "', which is no attn.dim";
  return success();
}

void DimSizeOp::inferResultRanges(ArrayRef<ConstantIntRanges>, SetIntRangeFn setRange) {
  auto dim = SymbolTable::lookupNearestSymbolFrom<DimOp>(*this, getDimAttr());
  if (dim)
    setRange(getSize(), ConstantIntRanges::fromSigned(APInt(64, dim.getMin()), APInt(64, dim.getMax())));
}

RankedTensorType ParameterOp::getSliceType() {
  auto type = cast<RankedTensorType>(getType());
  if (!getLayers())
    return type;
  return RankedTensorType::get(type.getShape().drop_front(), type.getElementType());
}

ArrayRef<int64_t> ParameterOp::getLogicalShape() {
  if (std::optional<ParameterLayoutInterface> layout = getLayout())
    return layout->getShape();
  return cast<RankedTensorType>(getType()).getShape().drop_front(getLayers() ? 1 : 0);
}

/// The shape of each source's part; none where it is the source that tells it.
static std::optional<SmallVector<int64_t>> shapeOfEachPart(ParameterOp op) {
  SmallVector<int64_t> shape(op.getLogicalShape());
  std::optional<JoinAttr> join = op.getJoin();
  if (join && join->getKind() == JoinKind::stack)
    shape.erase(shape.begin() + join->getDim());
  else if (op.getSources().size() > 1)
    return std::nullopt;
  return shape;
}

SmallVector<int64_t> ParameterOp::getStoredShape(SourceAttr source) {
  return source.storedShape(shapeOfEachPart(*this)).value();
}

void ParameterOp::transposeSources() {
  std::optional<JoinAttr> join = getJoin();
  if (join)
    setJoinAttr(JoinAttr::get(getContext(), join->getKind(), 1 - join->getDim()));
  if (join && join->getKind() == JoinKind::stack)
    return; // of vectors
  SmallVector<Attribute> sources;
  for (auto source : getSources().getAsRange<SourceAttr>())
    sources.push_back(source.transposed());
  setSourcesAttr(ArrayAttr::get(getContext(), sources));
}

bool ParameterOp::isReadAsBytes(RankedTensorType type) {
  return getLayout() && isa<QuantizedType>(getSliceType().getElementType()) && type.hasStaticShape() &&
         type.getElementType().isInteger(8);
}

LogicalResult RowsAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape, int64_t group) {
  if (llvm::any_of(shape, [](int64_t extent) { return extent < 1 || extent > (int64_t(1) << 40); }))
    return emitError() << "expected extents from 1 to 2^40, found [" << shape << "]";
  if (group < 0 || (group > 0 && (shape.empty() || shape.back() % group != 0)))
    return emitError() << "expected groups that make up the columns of [" << shape << "], found groups of " << group;
  return success();
}

bool RowsAttr::isStored(RankedTensorType layer) const {
  ArrayRef<int64_t> shape = getShape(), stored = layer.getShape();
  auto quantized = dyn_cast<QuantizedType>(layer.getElementType());
  if (stored.size() != shape.size() || (quantized && quantized.getAxis() != 1))
    return false;
  if (shape.empty())
    return true;
  const int64_t groups = getColumnGroup() ? shape.back() / getColumnGroup() : 1;
  return stored.drop_back() == shape.drop_back() && stored.back() >= shape.back() && stored.back() % groups == 0;
}

/// The name has {layer} where the parameter is stacked over layers.
static LogicalResult verifyName(ParameterOp op, StringRef name) {
  if (name.contains("{layer}") == op.getLayers().has_value())
    return success();
  return op.emitOpError() << "source '" << name << "' "
                          << (op.getLayers() ? "must name {layer}, because the parameter is stacked"
                                             : "names {layer}, but the parameter is not stacked");
}

static LogicalResult verifyJoin(ParameterOp op) {
  std::optional<JoinAttr> join = op.getJoin();
  if (op.getSources().empty())
    return op.emitOpError() << "needs at least one source tensor";
  if (!join && op.getSources().size() > 1)
    return op.emitOpError() << "has " << op.getSources().size()
                            << " sources, which concat<dim = D> or stack<dim = D> must join";
  if (join && (join->getDim() < 0 || join->getDim() >= int64_t(op.getLogicalShape().size())))
    return op.emitOpError() << "joins sources along dim " << join->getDim() << " of [" << op.getLogicalShape()
                            << "], which has no such dim";
  return success();
}

/// Whether a part of `shape` fits the parameter, beside others along `dim` where `dim` is not negative.
static bool fits(ArrayRef<int64_t> shape, ArrayRef<int64_t> whole, int64_t dim) {
  if (shape.size() != whole.size())
    return false;
  for (auto [i, extents] : llvm::enumerate(llvm::zip_equal(shape, whole)))
    if (int64_t(i) != dim && std::get<0>(extents) != std::get<1>(extents))
      return false;
  return true;
}

/// Each source makes its part of the parameter's shape, and together they make all of it.
static LogicalResult verifySources(ParameterOp op) {
  const std::optional<SmallVector<int64_t>> known = shapeOfEachPart(op);
  const ArrayRef<int64_t> whole = known ? ArrayRef<int64_t>(*known) : op.getLogicalShape();
  const int64_t dim = known ? -1 : op.getJoin()->getDim();
  std::optional<int64_t> joined = 0;
  for (auto source : op.getSources().getAsRange<SourceAttr>()) {
    if (failed(verifyName(op, source.getName())))
      return failure();
    auto wrong = [&] { return op.emitOpError() << "source '" << source.getName() << "': "; };
    const std::optional<SmallVector<int64_t>> stored = source.storedShape(known);
    if (!stored)
      return wrong()
             << "write its shape in the checkpoint behind the name, as in \"w\" : 64x96; type and transforms do "
                "not tell it";
    const FailureOr<SmallVector<int64_t>> part = source.shapeOfPart(*stored, wrong);
    if (failed(part))
      return failure();
    if (!fits(*part, whole, dim))
      return wrong() << "gives [" << *part << "]"
                     << (source.getTransforms().empty() ? "" : " after " + source.textOfTransforms()) << ", "
                     << (dim < 0 ? "expected [" : "which is no part of [") << whole << "]"
                     << (dim < 0 ? "" : " along dim " + std::to_string(dim));
    if (dim >= 0)
      joined = joined ? llvm::checkedAdd(*joined, (*part)[dim]) : joined;
  }
  const bool isStack = op.getJoin() && op.getJoin()->getKind() == JoinKind::stack;
  if (isStack && int64_t(op.getSources().size()) != op.getLogicalShape()[op.getJoin()->getDim()])
    return op.emitOpError() << "stacks " << op.getSources().size() << " sources along dim " << op.getJoin()->getDim()
                            << " of [" << op.getLogicalShape() << "]";
  if (dim >= 0 && joined != whole[dim])
    return op.emitOpError() << "has sources of " << joined.value_or(0) << " along dim " << dim << " of [" << whole
                            << "]";
  return success();
}

LogicalResult ParameterOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (!type.hasStaticShape())
    return emitOpError() << "needs a static shape, found " << type;
  auto quantized = dyn_cast<QuantizedType>(type.getElementType());
  if (!isa<FloatType>(type.getElementType()) && !quantized)
    return emitOpError() << "needs a float or quantized element type, found " << type;
  const std::optional<ParameterLayoutInterface> layout = getLayout();
  if (quantized && (quantized.getCode() == QuantizedCode::s8 || getLogicalShape().size() != 2))
    return emitOpError() << "is quantized, but no matrix of u8, u4 or blocks: " << type;
  if (std::optional<uint64_t> layers = getLayers()) {
    if (static_cast<int64_t>(*layers) < 1 || static_cast<int64_t>(getFirstLayer()) < 0)
      return emitOpError() << "needs at least one layer and a first layer from 0 on, found "
                           << static_cast<int64_t>(*layers) << " from " << static_cast<int64_t>(getFirstLayer())
                           << " on";
    if (type.getRank() < 1 || type.getDimSize(0) != static_cast<int64_t>(*layers))
      return emitOpError() << "is stacked over " << *layers << " layers, but its type is " << type;
  }
  if (std::optional<ArrayRef<int64_t>> numbers = getLayerNumbers()) {
    if (int64_t(numbers->size()) != int64_t(getLayers().value_or(0)) || getFirstLayer() != 0)
      return emitOpError() << "needs one number for each of its " << getLayers().value_or(0)
                           << " layers and no first layer, found [" << *numbers << "]";
    if (numbers->front() < 0 || std::ranges::adjacent_find(*numbers, std::ranges::greater_equal()) != numbers->end())
      return emitOpError() << "needs ascending numbers of layers from 0 on, found [" << *numbers << "]";
  }
  if (llvm::is_contained(type.getShape(), 0))
    return emitOpError() << "needs extents from 1 on, found " << type;
  if (layout && !layout->isStored(getSliceType()))
    return emitOpError() << "has the layout " << *layout << ", in which no layer is " << getSliceType();
  return failed(verifyJoin(*this)) ? failure() : verifySources(*this);
}

LogicalResult ParameterSliceOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto parameter = symbols.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (!parameter)
    return emitOpError() << "names '" << getParameter() << "', which is no attn.parameter";
  if (parameter.getLayers().has_value() != static_cast<bool>(getLayer()))
    return emitOpError() << (getLayer() ? "gives a layer, but '" : "needs a layer, because '") << getParameter()
                         << (getLayer() ? "' is not stacked" : "' is stacked");
  if (parameter.getSliceType() != getValue().getType() && !parameter.isReadAsBytes(getValue().getType()))
    return emitOpError() << "has type " << getValue().getType() << ", but '" << getParameter() << "' gives "
                         << parameter.getSliceType();
  return success();
}

/// A parameter's shape is static.
void ParameterSliceOp::relateDims(DimRelations &) {}

ElementSource ParameterSliceOp::getElementSource(Value) { return ElementSource::given; }
