//===- Recurrence.cpp - Recurrent cells over rows of tokens -------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace rapt::attn;

LogicalResult RecurrenceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                             SmallVectorImpl<Type> &results) {
  auto gates = dyn_cast<RankedTensorType>(adaptor.getGates().getType());
  auto begin = dyn_cast<RankedTensorType>(adaptor.getRowBegin().getType());
  int64_t parts = partsOf(adaptor.getKind());
  if (!gates || gates.getRank() != 2 || gates.isDynamicDim(1) || gates.getDimSize(1) == 0 ||
      gates.getDimSize(1) % parts != 0)
    return emitOptionalError(location, "needs gates [tokens, ", parts, " h] with h above 0, found ",
                             adaptor.getGates().getType());
  if (!begin || begin.getRank() != 1 || begin.getDimSize(0) == 0)
    return emitOptionalError(location, "needs row_begin [rows + 1], found ", adaptor.getRowBegin().getType());
  auto ofRows = [&](int64_t rows) {
    return RankedTensorType::get({rows, gates.getDimSize(1) / parts}, gates.getElementType());
  };
  int64_t rows = begin.isDynamicDim(0) ? ShapedType::kDynamic : begin.getDimSize(0) - 1;
  results.push_back(ofRows(gates.getDimSize(0)));
  if (adaptor.getInitial().empty())
    results.append(statesOf(adaptor.getKind()), ofRows(rows));
  else
    llvm::append_range(results, adaptor.getInitial().getTypes());
  return success();
}

LogicalResult RecurrenceOp::verify() {
  auto gates = cast<RankedTensorType>(getGates().getType()), begin = cast<RankedTensorType>(getRowBegin().getType());
  RankedTensorType weight = getWeight().getType();
  size_t needed = statesOf(getKind());
  if (!getInitial().empty() && getInitial().size() != needed)
    return emitOpError() << "needs " << (needed == 2 ? "two initial states, h and c" : "one initial state")
                         << ", or none, found " << getInitial().size();
  int64_t hidden = getHidden(), columns = gates.getDimSize(1);
  for (Value initial : getInitial()) {
    auto state = cast<RankedTensorType>(initial.getType());
    if (state != getInitial()[0].getType())
      return emitOpError() << "needs initial states of one type, found " << getInitial()[0].getType() << " and "
                           << state;
    if (state.getDimSize(1) != hidden)
      return emitOpError() << "initial state " << state << " does not fit gates " << gates << " of " << getParts()
                           << " times " << hidden << " columns";
    if (!begin.isDynamicDim(0) && !state.isDynamicDim(0) && begin.getDimSize(0) - 1 != state.getDimSize(0))
      return emitOpError() << "needs one initial state for each of the " << begin.getDimSize(0) - 1 << " rows, found "
                           << state;
  }
  if (getBias() && cast<RankedTensorType>(getBias().getType()).getDimSize(0) != columns)
    return emitOpError() << "bias " << getBias().getType() << " does not fit gates " << gates;
  std::optional<WeightLayoutInterface> layout = getLayout();
  if (layout ? !weight.hasStaticShape() || !layout->isMatrix(weight, hidden, columns)
             : weight.getShape() != ArrayRef<int64_t>{hidden, columns})
    return emitOpError() << "weight " << weight << (layout ? " in a layout" : "") << " does not fit gates " << gates
                         << " of " << getParts() << " times " << hidden << " columns";
  return success();
}

LogicalResult UpdateRowsOp::verify() {
  auto state = cast<RankedTensorType>(getState().getType()), values = cast<RankedTensorType>(getValues().getType());
  auto rows = cast<RankedTensorType>(getRows().getType());
  if (state.getRank() != (getLayer() ? 3 : 2))
    return emitOpError() << "needs a state of rank " << (getLayer() ? "3 with a layer" : "2 without a layer")
                         << ", found " << state;
  if (values.getDimSize(0) != rows.getDimSize(0) || values.getDimSize(1) != state.getShape().back())
    return emitOpError() << "values " << values << " do not fit state " << state << " and rows " << rows;
  return success();
}

LogicalResult ConcatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location, Adaptor adaptor,
                                         SmallVectorImpl<Type> &results) {
  if (adaptor.getInputs().empty())
    return emitOptionalError(location, "needs an input");
  int64_t rows = ShapedType::kDynamic, columns = 0;
  for (auto [i, input] : llvm::enumerate(adaptor.getInputs())) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (!type || type.getRank() != 2 || type.isDynamicDim(1))
      return emitOptionalError(location, "needs inputs [rows, columns] with static columns, found ", input.getType());
    if (!type.isDynamicDim(0))
      rows = type.getDimSize(0);
    std::optional<ArrayRef<int64_t>> used = adaptor.getColumns();
    if (used && used->size() != adaptor.getInputs().size())
      return emitOptionalError(location, "has columns for ", used->size(), " of ", adaptor.getInputs().size(),
                               " inputs");
    int64_t width = used ? (*used)[i] : type.getDimSize(1);
    if (width < 0 || width > type.getDimSize(1))
      return emitOptionalError(location, "takes ", width, " columns of ", type);
    if (llvm::AddOverflow(columns, width, columns))
      return emitOptionalError(location, "gives more columns than can be counted");
  }
  const int64_t width = adaptor.getWidth().value_or(columns);
  if (width < columns)
    return emitOptionalError(location, "joins ", columns, " columns, but its width is ", width);
  results.push_back(
      RankedTensorType::get({rows, width}, cast<RankedTensorType>(adaptor.getInputs()[0].getType()).getElementType()));
  return success();
}

LogicalResult ConcatOp::verify() {
  for (Value input : getInputs()) {
    auto type = cast<RankedTensorType>(input.getType()), first = cast<RankedTensorType>(getInputs()[0].getType());
    if (type.getElementType() != first.getElementType())
      return emitOpError() << "needs inputs of one element type, found " << first << " and " << type;
    if (type.getDimSize(0) != first.getDimSize(0))
      return emitOpError() << "needs inputs of the same rows, found " << first << " and " << type;
  }
  return success();
}

void RecurrenceOp::relateDims(DimRelations &dims) {
  dims.equal(getOutput(), 0, getGates(), 0);
  for (Value result : getResults())
    dims.equal(result, 1, dims.extent(getGates(), 1).floorDiv(getParts()));
  dims.offsets(getRowBegin(), getStates());
  dims.offsets(getRowBegin(), getInitial());
}

void UpdateRowsOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getState());
  dims.equal(getValues(), 0, getRows(), 0);
  dims.equal(getValues(), 1, getState(), cast<RankedTensorType>(getState().getType()).getRank() - 1);
}

void ConcatOp::relateDims(DimRelations &dims) {
  for (Value input : getInputs().drop_front())
    dims.equal(input, 0, getInputs()[0], 0);
  dims.equal(getResult(), 0, getInputs()[0], 0);
  AffineExpr columns = dims.number(0);
  if (std::optional<uint64_t> width = getWidth())
    columns = dims.number(*width);
  else if (std::optional<ArrayRef<int64_t>> used = getColumns())
    columns = dims.number(llvm::sum_of(*used));
  else
    for (Value input : getInputs())
      columns = columns + dims.extent(input, 1);
  dims.equal(getResult(), 1, columns);
}

/// The weight is read once a time step of each tile of sequences.
void RecurrenceOp::addCosts(CostModel &model) {
  const Polynomial weight = Polynomial(getHidden()) * Polynomial(getParts()) * Polynomial(getHidden());
  model.compute(Polynomial(2) * weight * model.dim(getGates(), 0), getWeight().getType().getElementType());
  model.move(getWeight(), model.bytes(getWeight()) * model.timeSteps(getRowBegin()));
  model.move(getGates());
  model.move(getOutput());
}

void UpdateRowsOp::addCosts(CostModel &model) {
  model.move(getValues());
  model.move(getResult(), model.bytes(getValues()));
}

std::optional<unsigned> RecurrenceOp::getChannelsDim(OpOperand &operand) {
  return &operand == &getWeightMutable() ? std::nullopt : lastDim(operand);
}

/// The parts of the gates, and of what is added to them.
int64_t RecurrenceOp::getChannelGroup(Value tensor) {
  return tensor == getGates() || tensor == getBias() ? getHidden() : 0;
}

std::optional<WeightUse> RecurrenceOp::getWeightUse(OpOperand &operand) {
  if (operand.get() == getWeight())
    return WeightUse{0, getGates(), {}};
  return operand.get() == getBias() ? std::optional(WeightUse{std::nullopt, getGates(), {}}) : std::nullopt;
}

std::optional<unsigned> UpdateRowsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

std::optional<unsigned> ConcatOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

/// Columns are joined without the padding behind them.
LogicalResult ConcatOp::keepChannels(ArrayRef<int64_t> channels, Padding padded) {
  if (!getColumns())
    setColumns(channels);
  setWidth(padded(llvm::sum_of(*getColumns())));
  return success();
}
bool ConcatOp::takesLeadingChannels() { return true; }

ElementUse RecurrenceOp::getElementUse(OpOperand &operand) {
  return &operand == &getWeightMutable() ? ElementUse::fixed : ElementUse::computed;
}

SmallVector<EqualTypes> RecurrenceOp::getEqualTypes() {
  EqualTypes rows{getOutput(), getGates()}, states(getStates());
  if (getInitial().empty()) {
    llvm::append_range(rows, states);
    return {rows};
  }
  llvm::append_range(states, getInitial());
  return {rows, states};
}

ElementUse UpdateRowsOp::getElementUse(OpOperand &operand) {
  return &operand == &getValuesMutable() ? ElementUse::computed : ElementUse::fixed;
}

ElementSource UpdateRowsOp::getElementSource(Value) { return ElementSource::updated; }

SmallVector<EqualTypes> UpdateRowsOp::getEqualTypes() { return {EqualTypes{getResult(), getState()}}; }

bool ConcatOp::movesNumbers() { return true; }

SmallVector<EqualTypes> ConcatOp::getEqualTypes() {
  EqualTypes types{getResult()};
  llvm::append_range(types, getInputs());
  return {types};
}
