//===- WindowGrid.cpp - Windows of a grid of patches -----------------------------===//
#include "lib/Import/Parts/WindowGrid.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

/// Arithmetic on positions in a grid, which are not negative.
class GridMath {
public:
  struct Position {
    Value row, column;
  };

  GridMath(OpBuilder &builder, Location loc, const WindowGrid &grid) : builder(builder), loc(loc), grid(grid) {}

  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(builder, loc, x, y); }
  Value sub(Value x, Value y) { return arith::SubIOp::create(builder, loc, x, y); }
  Value mul(Value x, int64_t y) { return arith::MulIOp::create(builder, loc, x, number(y)); }
  Value div(Value x, int64_t y) { return arith::DivUIOp::create(builder, loc, x, number(y)); }
  Value rem(Value x, int64_t y) { return arith::RemUIOp::create(builder, loc, x, number(y)); }

  /// Row and column of the number of a cell, row by row.
  Position positionOf(Value cell, int64_t columns) { return {div(cell, columns), rem(cell, columns)}; }
  Value cellOf(const Position &position, int64_t columns) { return add(mul(position.row, columns), position.column); }

  int64_t windowColumns() const { return grid.columns / grid.side; }

  /// The position in the unshifted grid of patch `cell` of an order.
  Position find(Value cell, const GridOrder &order) {
    Position position;
    if (order.isOfWindows) {
      const int64_t area = grid.side * grid.side;
      Position window = positionOf(div(cell, area), windowColumns()), inner = positionOf(rem(cell, area), grid.side);
      position = {add(mul(window.row, grid.side), inner.row), add(mul(window.column, grid.side), inner.column)};
    } else {
      position = positionOf(cell, grid.columns);
    }
    return moved(position, order.shift);
  }

  /// The inverse.
  Value cellOf(Position position, const GridOrder &order) {
    position = moved(position, -order.shift);
    if (!order.isOfWindows)
      return cellOf(position, grid.columns);
    Position window = {div(position.row, grid.side), div(position.column, grid.side)};
    Position inner = {rem(position.row, grid.side), rem(position.column, grid.side)};
    return add(mul(cellOf(window, windowColumns()), grid.side * grid.side), cellOf(inner, grid.side));
  }

private:
  Position moved(const Position &position, int64_t by) {
    if (by == 0)
      return position;
    auto wrapped = [&](Value at, int64_t extent) { return rem(add(at, number((by + extent) % extent)), extent); };
    return {wrapped(position.row, grid.rows), wrapped(position.column, grid.columns)};
  }

  OpBuilder &builder;
  Location loc;
  const WindowGrid &grid;
};

} // namespace

Value importing::reorder(const Scope &scope, Location loc, Value images, const WindowGrid &grid, const GridOrder &from,
                         const GridOrder &to) {
  OpBuilder &builder = scope.builder;
  Value tokens = GridMath(builder, loc, grid).mul(images, grid.patches());
  auto type = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  Value empty = tensor::EmptyOp::create(builder, loc, type, tokens);
  AffineMap maps[] = {builder.getMultiDimIdentityMap(1)};
  const utils::IteratorType loops[] = {utils::IteratorType::parallel};
  return linalg::GenericOp::create(builder, loc, type, ValueRange(), empty, maps, loops,
                                   [&](OpBuilder &inner, Location at, ValueRange) {
                                     GridMath math(inner, at, grid);
                                     Value token = linalg::IndexOp::create(inner, at, 0);
                                     Value cell = math.rem(token, grid.patches()), first = math.sub(token, cell);
                                     Value found = math.add(first, math.cellOf(math.find(cell, to), from));
                                     Value row = arith::IndexCastOp::create(inner, at, inner.getI32Type(), found);
                                     linalg::YieldOp::create(inner, at, row);
                                   })
      .getResult(0);
}

/// Whether query and key were apart before the grid was shifted: in the last window of their row or column of windows,
/// on both sides of the border.
static Value areApart(OpBuilder &b, Location loc, const WindowGrid &grid, int64_t shift, Value window,
                      const GridMath::Position &query, const GridMath::Position &key) {
  GridMath math(b, loc, grid);
  auto compare = [&](arith::CmpIPredicate predicate, Value x, int64_t y) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, math.number(y));
  };
  auto isBehind = [&](Value at) { return compare(arith::CmpIPredicate::uge, at, grid.side - shift); };
  auto areApartAlong = [&](Value of, int64_t windows, Value from, Value to) -> Value {
    Value isLast = compare(arith::CmpIPredicate::eq, of, windows - 1);
    return arith::AndIOp::create(b, loc, isLast, arith::XOrIOp::create(b, loc, isBehind(from), isBehind(to)));
  };
  GridMath::Position at = math.positionOf(math.rem(window, grid.windows()), math.windowColumns());
  return arith::OrIOp::create(b, loc, areApartAlong(at.row, grid.rows / grid.side, query.row, key.row),
                              areApartAlong(at.column, math.windowColumns(), query.column, key.column));
}

void importing::addWindowBias(const Scope &scope, const WindowGrid &grid, int64_t shift, attn::AttentionOp attention,
                              Value table) {
  addExtra(attention, table, AffineMap::get(attn::AttentionOp::NumDims, 0, scope.builder.getContext()));
  mapScores(scope, attention, [&](const Scope &inner, Location loc, ValueRange arguments) -> Value {
    OpBuilder &b = inner.builder;
    GridMath math(b, loc, grid);
    GridMath::Position query = math.positionOf(arguments[3], grid.side), key = math.positionOf(arguments[4], grid.side);
    // The distance plus the largest one, which is not negative.
    auto distance = [&](Value from, Value to) { return math.sub(math.add(from, math.number(grid.side - 1)), to); };
    Value row = math.cellOf({distance(query.row, key.row), distance(query.column, key.column)}, 2 * grid.side - 1);
    Value bias = attn::LookupOp::create(b, loc, b.getF32Type(), arguments[5], ValueRange{row, arguments[2]});
    Value score = arith::AddFOp::create(b, loc, arguments[0], bias);
    if (shift == 0)
      return score;
    Value apart = arith::AddFOp::create(b, loc, score, constant(inner, loc, -100));
    return arith::SelectOp::create(b, loc, areApart(b, loc, grid, shift, arguments[1], query, key), apart, score);
  });
}
