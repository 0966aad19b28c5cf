//===- Embedding.cpp - Table look-ups ----------------------------------------===//
#include "lib/Reference/Ops.h"

using namespace mlir;
namespace rapt::reference {

template <typename S> Result<S> evaluate(attn::EmbeddingOp op, const Tensor<S> &ids, const Tensor<S> &table) {
  auto type = RankedTensorType::get(table.shape, op.getTable().getType().getElementType());
  std::optional<attn::WeightLayoutInterface> layout = op.getLayout(); // of the transposed table
  int64_t rows = layout ? layout->getColumns(type) : table.dim(0);
  int64_t columns = layout ? layout->getRows(type) : table.dim(1);
  int64_t width = layout ? layout->getWidthOfRows(type) : columns;
  Result<S> result = makeTensor<S>(op, {ids.dim(0), width});
  if (failed(result))
    return failure();
  S scale = op.getScale() ? S(op.getScale()->convertToFloat()) : S(1);
  for (int64_t i = 0; i < ids.dim(0); ++i) {
    int64_t id = ids.ints[i];
    if (id < 0 || id >= rows)
      return op.emitOpError() << "looks id " << id << " (element " << i << ") up in a table of " << rows << " rows";
    for (int64_t c = 0; c < columns; ++c)
      result->floats[i * width + c] = scale * table.floats[layout ? layout->getOffset(type, c, id) : id * columns + c];
  }
  return result;
}

template <typename S>
Result<S> evaluate(attn::SelectRowsOp op, const Tensor<S> &input, int64_t layer, const Tensor<S> &rows) {
  int64_t columns = input.shape.back(), layers = op.getLayer() ? input.dim(1) : 1;
  if (layer < 0 || layer >= layers)
    return op.emitOpError() << "selects layer " << layer << " of " << layers;
  Result<S> result = makeTensor<S>(op, {rows.dim(0), columns});
  if (failed(result))
    return failure();
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    int64_t row = rows.ints[i];
    if (row < 0 || row >= input.dim(0))
      return op.emitOpError() << "selects row " << row << " (element " << i << ") of " << input.dim(0) << " rows";
    std::copy_n(input.floats.begin() + (row * layers + layer) * columns, columns, result->floats.begin() + i * columns);
  }
  return result;
}

template <typename S>
Result<S> evaluate(attn::WriteRowsOp op, const Tensor<S> &input, const Tensor<S> &values, int64_t layer,
                   const Tensor<S> &rows) {
  const int64_t columns = input.dim(1), layers = op.getLayer() ? values.dim(1) : 1;
  if (layer < 0 || layer >= layers)
    return op.emitOpError() << "reads layer " << layer << " of " << layers;
  if (values.dim(0) != rows.dim(0) || values.shape.back() != columns)
    return op.emitOpError() << "has values [" << values.dim(0) << ", " << values.shape.back() << "] for " << rows.dim(0)
                            << " rows of " << columns << " columns";
  Tensor<S> result = input;
  std::vector<bool> written(input.dim(0));
  for (int64_t i = 0; i < rows.dim(0); ++i) {
    const int64_t row = rows.ints[i];
    if (row < 0 || row >= input.dim(0))
      return op.emitOpError() << "writes row " << row << " (element " << i << ") of " << input.dim(0) << " rows";
    if (written[row])
      return op.emitOpError() << "writes row " << row << " twice (element " << i << ")";
    written[row] = true;
    for (int64_t column = 0; column < columns; ++column) {
      S &element = result.floats[row * columns + column];
      const S value = values.floats[(i * layers + layer) * columns + column];
      element = op.getKind() == attn::RowWrite::set ? value : element + value;
    }
  }
  return result;
}

template <typename S> Result<S> evaluate(attn::ColumnOp op, const Tensor<S> &input) {
  Result<S> result = makeTensor<S>(op, {input.dim(0)});
  if (failed(result))
    return failure();
  for (int64_t i = 0; i < input.dim(0); ++i)
    result->floats[i] = input.floats[i * input.dim(1) + int64_t(op.getColumn())];
  return result;
}

#define INSTANTIATE(S)                                                                                                 \
  template Result<S> evaluate(attn::EmbeddingOp, const Tensor<S> &, const Tensor<S> &);                                \
  template Result<S> evaluate(attn::SelectRowsOp, const Tensor<S> &, int64_t, const Tensor<S> &);                      \
  template Result<S> evaluate(attn::WriteRowsOp, const Tensor<S> &, const Tensor<S> &, int64_t, const Tensor<S> &);    \
  template Result<S> evaluate(attn::ColumnOp, const Tensor<S> &);
RAPT_FOR_EACH_SCALAR(INSTANTIATE)

} // namespace rapt::reference
