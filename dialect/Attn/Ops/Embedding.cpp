//===- Embedding.cpp - Table look-ups ----------------------------------------===//
#include "dialect/Attn/AttnOps.h"

using namespace mlir;
using namespace rapt::attn;

LogicalResult EmbeddingOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                            SmallVectorImpl<Type> &types) {
  auto ids = cast<RankedTensorType>(adaptor.getIds().getType());
  auto table = cast<RankedTensorType>(adaptor.getTable().getType());
  if (ids.getRank() != 1 || (adaptor.getLayout() ? !adaptor.getLayout()->isWeight(table) : table.getRank() != 2))
    return emitOptionalError(loc, "no embedding of ids ", ids, " in a table ", table);
  int64_t columns = adaptor.getLayout() ? adaptor.getLayout()->getWidthOfRows(table) : table.getDimSize(1);
  types.push_back(RankedTensorType::get({ids.getDimSize(0), columns}, Float32Type::get(ids.getContext())));
  return success();
}

LogicalResult EmbeddingOp::verify() {
  auto ids = cast<RankedTensorType>(getIds().getType()), table = cast<RankedTensorType>(getTable().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (ids.getRank() != 1)
    return emitOpError() << "needs ids of rank 1, found " << ids;
  if (getScale() && !getScale()->isFinite())
    return emitOpError("needs a finite scale");
  if (!getLayout() && table.getRank() != 2)
    return emitOpError() << "needs a table of rank 2, or a layout, found " << table;
  if (getLayout() && !getLayout()->isWeight(table))
    return emitOpError() << "needs a table in the layout " << *getLayout() << ", found " << table;
  const int64_t columns = getLayout() ? getLayout()->getWidthOfRows(table) : table.getDimSize(1);
  if (result.getRank() != 2 || result.getDimSize(0) != ids.getDimSize(0) || result.getDimSize(1) != columns)
    return emitOpError() << "result " << result << " does not fit ids " << ids << " and table " << table;
  return success();
}

LogicalResult SelectRowsOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                             SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(adaptor.getInput().getType());
  auto rows = cast<RankedTensorType>(adaptor.getRows().getType());
  if (input.getRank() != (adaptor.getLayer() ? 3 : 2) || rows.getRank() != 1)
    return emitOptionalError(loc, "no rows ", rows, " of an input ", input);
  types.push_back(RankedTensorType::get({rows.getDimSize(0), input.getShape().back()}, input.getElementType()));
  return success();
}

LogicalResult SelectRowsOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()), rows = cast<RankedTensorType>(getRows().getType());
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t rank = getLayer() ? 3 : 2;
  if (input.getRank() != rank || rows.getRank() != 1)
    return emitOpError() << "needs an input of rank " << rank << " and rows of rank 1, found " << input << " and "
                         << rows;
  if (result.getRank() != 2 || result.getDimSize(0) != rows.getDimSize(0) ||
      result.getDimSize(1) != input.getShape().back())
    return emitOpError() << "result " << result << " does not fit input " << input << " and rows " << rows;
  return success();
}

LogicalResult WriteRowsOp::verify() {
  auto values = cast<RankedTensorType>(getValues().getType());
  RankedTensorType input = getInput().getType(), rows = getRows().getType();
  if (values.getRank() != (getLayer() ? 3 : 2))
    return emitOpError() << "needs values of rank " << (getLayer() ? "3 with a layer" : "2 without a layer")
                         << ", found " << values;
  if (values.getDimSize(0) != rows.getDimSize(0) || values.getShape().back() != input.getDimSize(1))
    return emitOpError() << "values " << values << " do not fit input " << input << " and rows " << rows;
  return success();
}

void ColumnOp::build(OpBuilder &builder, OperationState &state, Value input, int64_t column) {
  auto type = cast<RankedTensorType>(input.getType());
  build(builder, state, RankedTensorType::get({type.getDimSize(0)}, type.getElementType()), input, column);
}

LogicalResult ColumnOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()), result = cast<RankedTensorType>(getResult().getType());
  if (input.getRank() != 2 || input.isDynamicDim(1))
    return emitOpError() << "needs an input of rank 2 with static columns, found " << input;
  int64_t column = getColumn();
  if (column < 0 || column >= input.getDimSize(1))
    return emitOpError() << "takes column " << column << " of " << input.getDimSize(1);
  if (result.getRank() != 1 || result.getDimSize(0) != input.getDimSize(0))
    return emitOpError() << "result " << result << " does not fit input " << input;
  return success();
}

void EmbeddingOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), 0, getIds(), 0);
  if (!getLayout())
    dims.equal(getResult(), 1, getTable(), 1);
}

void SelectRowsOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), 0, getRows(), 0);
  dims.equal(getResult(), 1, getInput(), cast<RankedTensorType>(getInput().getType()).getRank() - 1);
}

void WriteRowsOp::relateDims(DimRelations &dims) {
  dims.equal(getResult(), getInput());
  dims.equal(getValues(), 0, getRows(), 0);
  dims.equal(getValues(), cast<RankedTensorType>(getValues().getType()).getRank() - 1, getInput(), 1);
}

void ColumnOp::relateDims(DimRelations &dims) { dims.equal(getResult(), 0, getInput(), 0); }

/// Rows of the table are read, not all of it.
void EmbeddingOp::addCosts(CostModel &model) {
  model.move(getTable(), model.elements(getResult()) * model.elementBytes(getTable()));
  model.move(getResult());
}

void SelectRowsOp::addCosts(CostModel &model) {
  model.move(getInput(), model.bytes(getResult()));
  model.move(getResult());
}

/// As many values are read as rows are written, which are read where they are added to.
void WriteRowsOp::addCosts(CostModel &model) {
  const Polynomial elements = model.dim(getRows(), 0) * model.dim(getInput(), 1);
  model.move(getValues(), elements * model.elementBytes(getValues()));
  if (getKind() == RowWrite::add)
    model.move(getInput(), elements * model.elementBytes(getInput()));
  model.move(getResult(), elements * model.elementBytes(getResult()));
}

std::optional<unsigned> EmbeddingOp::getChannelsDim(OpOperand &operand) {
  return &operand == &getTableMutable() && getLayout() ? std::nullopt : lastDim(operand);
}

RowAccess EmbeddingOp::getRowAccess() { return RowAccess::gather; }

/// A quantized table is read as the matmul with the table transposed reads it, which sums along the groups.
std::optional<WeightUse> EmbeddingOp::getWeightUse(OpOperand &operand) {
  if (operand.get() != getTable())
    return std::nullopt;
  auto quantized = dyn_cast<QuantizedType>(getTable().getType().getElementType());
  return WeightUse{quantized ? std::optional<unsigned>(1) : std::nullopt, {}, {}};
}

std::optional<unsigned> SelectRowsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

RowAccess SelectRowsOp::getRowAccess() { return RowAccess::gather; }

std::optional<unsigned> WriteRowsOp::getChannelsDim(OpOperand &operand) { return lastDim(operand); }

ElementUse EmbeddingOp::getElementUse(OpOperand &) { return ElementUse::fixed; }
ElementUse WriteRowsOp::getElementUse(OpOperand &operand) {
  return &operand == &getInputMutable() ? ElementUse::computed : ElementUse::fixed;
}
bool SelectRowsOp::movesNumbers() { return true; }
bool ColumnOp::movesNumbers() { return true; }
