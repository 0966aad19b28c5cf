//===- GridBias.cpp - Biases of scores by the distance of patches ----------------===//
#include "lib/Import/GridBias.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

namespace {

/// Row and column of a token in the grid; those of the first patch for the class token, which is token 0.
std::pair<Value, Value> placeInGrid(OpBuilder &builder, Location loc, Value token, int64_t columns) {
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value one = number(1),
        patch = arith::SubIOp::create(builder, loc, arith::MaxUIOp::create(builder, loc, token, one), one);
  Value row = arith::DivUIOp::create(builder, loc, patch, number(columns));
  return {row, arith::RemUIOp::create(builder, loc, patch, number(columns))};
}

} // namespace

void importing::addGridBias(const Scope &scope, int64_t rows, int64_t columns, attn::AttentionOp attention,
                            Value table) {
  addExtra(attention, table, AffineMap::get(attn::AttentionOp::NumDims, 0, scope.builder.getContext()));
  mapScores(scope, attention, [&](const Scope &inner, Location loc, ValueRange arguments) -> Value {
    OpBuilder &b = inner.builder;
    auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
    auto add = [&](Value x, Value y) -> Value { return arith::AddIOp::create(b, loc, x, y); };
    // The distance plus the largest one, which is not negative.
    auto distance = [&](Value from, Value to, int64_t extent) -> Value {
      return arith::SubIOp::create(b, loc, add(from, number(extent - 1)), to);
    };
    Value query = arguments[3], key = arguments[4];
    auto [queryRow, queryColumn] = placeInGrid(b, loc, query, columns);
    auto [keyRow, keyColumn] = placeInGrid(b, loc, key, columns);
    Value row = arith::MulIOp::create(b, loc, distance(queryRow, keyRow, rows), number(2 * columns - 1));
    row = add(row, distance(queryColumn, keyColumn, columns));
    auto isClass = [&](Value token) -> Value {
      return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, token, number(0));
    };
    auto select = [&](Value condition, Value yes, Value no) -> Value {
      return arith::SelectOp::create(b, loc, condition, yes, no);
    };
    const int64_t end = gridBiasRows(rows, columns);
    Value ofClass = select(isClass(key), number(end - 1), number(end - 3));
    row = select(isClass(query), ofClass, select(isClass(key), number(end - 2), row));
    Value bias = attn::LookupOp::create(b, loc, b.getF32Type(), arguments[5], ValueRange{row, arguments[2]});
    return arith::AddFOp::create(b, loc, arguments[0], bias);
  });
}
