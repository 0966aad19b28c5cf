//===- PackRows.cpp - Packs a matmul's rows by tiles ---------------------------------------===//
//
// A grid over tiles, each of which transposes squares of its rows in registers.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CPU/Tile/PackRows.h"
#include "lib/Target/CPU/Tile/Transpose.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::tile;
using attn_cpu::kPanel;

namespace {

/// The first `count` lanes of a vector.
Value firstLanes(ImplicitLocOpBuilder &b, Value vector, int64_t count) {
  if (cast<VectorType>(vector.getType()).getDimSize(0) == count)
    return vector;
  return vector::ExtractStridedSliceOp::create(b, vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{count},
                                               ArrayRef<int64_t>{1});
}

/// Writes 32 columns from `column` on of rows [first + from, first + each) of the input to `tile`, [k, each]; of
/// kTransposed rows at most. `last` is the input's last row.
Value packSquares(ImplicitLocOpBuilder &b, Value input, Value first, Value last, Value column, int64_t from,
                  int64_t each, Value tile) {
  const int64_t count = std::min(each - from, kTransposed);
  auto read = [&](int64_t i, int64_t channel, int64_t channels) {
    Value row = arith::MinUIOp::create(b, plus(b, first, from + std::min(i, count - 1)), last);
    return readPanel(b, input, {row, plus(b, column, channel)}, channels);
  };
  auto write = [&](int64_t line, int64_t i, ArrayRef<Value> rows, Value dest) {
    const int64_t lanes = std::min(cast<VectorType>(rows[0].getType()).getDimSize(0), count - i);
    if (lanes <= 0)
      return dest;
    SmallVector<Value> lines(rows);
    for (Value &values : lines)
      values = firstLanes(b, values, lanes);
    Value lane = index(b, from + i);
    return writeLines(
        b, lines, [&](int64_t nth) { return SmallVector<Value>{plus(b, column, line + nth), lane}; }, dest);
  };
  return writeTransposed(b, /*isInterleaved=*/false, read, write, tile);
}

} // namespace

Value tile::packRows(ImplicitLocOpBuilder &b, Value input, OpFoldResult rows, int64_t each) {
  AffineExpr d0 = b.getAffineDimExpr(0);
  const int64_t k = llvm::alignTo(cast<RankedTensorType>(input.getType()).getDimSize(1), kPanel);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1), columns = b.getIndexAttr(k),
               width = b.getIndexAttr(each), tiles = affineOf(b, d0.ceilDiv(each), {rows});
  Value last = asValue(b, affineOf(b, d0 - 1, {rows}));
  Value dest = tensor::EmptyOp::create(b, SmallVector<OpFoldResult>{tiles, columns, width}, b.getF32Type());
  return grid(b, tiles, dest, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    Insertion out{{}, {OpFoldResult(ids[0]), zero, zero}, {one, columns, width}};
    Value first = asValue(b, affineOf(b, d0 * each, {OpFoldResult(ids[0])}));
    Value tile = extract(b, dests[0], out.offsets, out.sizes, {k, each});
    out.tile =
        loop(b, index(b, 0), index(b, k), kPanel, tile, [&](ImplicitLocOpBuilder &b, Value column, Value carried) {
          for (int64_t from = 0; from < each; from += kTransposed)
            carried = packSquares(b, input, first, last, column, from, each, carried);
          return carried;
        });
    return SmallVector<Insertion>{out};
  })[0];
}
