//===- PatchGrid.cpp - Rotation and biases by the positions of patches -------===//
#include "lib/Import/Parts/PatchGrid.h"
#include "lib/Import/Parts/AxisRotation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>
#include <numbers>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

RotaryFrequencies importing::gridRotary(double theta, int64_t channels) {
  RotaryFrequencies result;
  for (int64_t i = 0; i < channels / 4; ++i) {
    const float inverse = 1 / static_cast<float>(std::pow(theta, double(4 * i) / double(channels)));
    result.values.push_back(static_cast<float>(2 * std::numbers::pi * double(inverse)));
  }
  return result;
}

namespace {

/// Emits the angle of one element, in the region of an op over [tokens, pairs].
class Angle {
public:
  Angle(OpBuilder &builder, Location loc, const Images &images, int64_t learned, int64_t pairs)
      : builder(builder), loc(loc), images(images), learned(learned), pairs(pairs) {}

  Value build(Value frequency) {
    Value token = arith::RemUIOp::create(builder, loc, linalg::IndexOp::create(builder, loc, 0), images.length);
    Value pair = linalg::IndexOp::create(builder, loc, 1);
    // The first patch stands for the learned tokens, whose angle is 0.
    Value first = number(learned), patch = arith::MaxUIOp::create(builder, loc, token, first);
    patch = arith::SubIOp::create(builder, loc, patch, first);
    Value row = arith::DivUIOp::create(builder, loc, patch, images.columns);
    Value column = arith::RemUIOp::create(builder, loc, patch, images.columns);
    Value isOfRow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, pair, number(pairs / 2));
    Value at = arith::SelectOp::create(builder, loc, isOfRow, row, column);
    Value extent = arith::SelectOp::create(builder, loc, isOfRow, images.rows, images.columns);
    Value angle = arith::MulFOp::create(builder, loc, center(at, extent), frequency);
    Value isLearned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, token, first);
    return arith::SelectOp::create(builder, loc, isLearned, real(0), angle);
  }

private:
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

  Value real(double value) {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(static_cast<float>(value)));
  }

  Value real(Value index) {
    Value integer = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
    return arith::SIToFPOp::create(builder, loc, builder.getF32Type(), integer);
  }

  /// (at + 1/2) / extent * 2 - 1
  Value center(Value at, Value extent) {
    Value middle = arith::AddFOp::create(builder, loc, real(at), real(0.5));
    Value share = arith::DivFOp::create(builder, loc, middle, real(extent));
    Value twice = arith::MulFOp::create(builder, loc, share, real(2));
    return arith::SubFOp::create(builder, loc, twice, real(1));
  }

  OpBuilder &builder;
  Location loc;
  const Images &images;
  int64_t learned, pairs;
};

} // namespace

std::array<Value, 2> importing::buildGridRotation(const Scope &top, const RotaryFrequencies &frequencies,
                                                  const Images &images, int64_t learned) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("rope_embeddings");
  std::vector<float> both = frequencies.values;
  both.insert(both.end(), frequencies.values.begin(), frequencies.values.end());
  const int64_t pairs = int64_t(both.size());
  Type f32 = builder.getF32Type();
  Value ofPair = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(RankedTensorType::get({pairs}, f32), ArrayRef<float>(both)));
  Value count = tensor::DimOp::create(builder, loc, images.pixels, 0);
  Value tokens = arith::MulIOp::create(builder, loc, count, images.length);
  auto type = RankedTensorType::get({ShapedType::kDynamic, pairs}, f32);
  Value empty = tensor::EmptyOp::create(builder, loc, type, tokens);
  AffineMap identity = builder.getMultiDimIdentityMap(2);
  AffineMap maps[] = {AffineMap::get(2, 0, builder.getAffineDimExpr(1)), identity, identity};
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto op = linalg::GenericOp::create(builder, loc, TypeRange{type, type}, ofPair, ValueRange{empty, empty}, maps,
                                      loops, [&](OpBuilder &inner, Location at, ValueRange elements) {
                                        Value angle = Angle(inner, at, images, learned, pairs).build(elements[0]);
                                        Value cosine = math::CosOp::create(inner, at, angle);
                                        Value sine = math::SinOp::create(inner, at, angle);
                                        linalg::YieldOp::create(inner, at, ValueRange{cosine, sine});
                                      });
  return {op.getResult(0), op.getResult(1)};
}

RotaryFrequencies importing::patchRotary(double theta, int64_t channels) {
  const RotaryFrequencies ofRow = plainRotary(theta, channels / 2);
  RotaryFrequencies both;
  for (int64_t axis = 0; axis < 2; ++axis) {
    both.values.insert(both.values.end(), ofRow.values.begin(), ofRow.values.end());
    both.axes.insert(both.axes.end(), ofRow.values.size(), axis);
  }
  return both;
}

std::array<Value, 2> importing::buildPatchRotation(const Scope &top, const RotaryFrequencies &frequencies,
                                                   const Images &images) {
  OpBuilder &builder = top.builder;
  Location loc = top.at("rotary_pos_emb");
  Value count = tensor::DimOp::create(builder, loc, images.pixels, 0);
  Value tokens = arith::MulIOp::create(builder, loc, count, images.length);
  auto list = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  const AffineMap maps[] = {builder.getMultiDimIdentityMap(1)};
  const utils::IteratorType loops[] = {utils::IteratorType::parallel};
  auto positions = [&](llvm::function_ref<Value(OpBuilder &, Location, Value patch)> of) {
    Value empty = tensor::EmptyOp::create(builder, loc, list, tokens);
    auto body = [&](OpBuilder &b, Location at, ValueRange) {
      Value patch = arith::RemUIOp::create(b, at, linalg::IndexOp::create(b, at, 0), images.length);
      linalg::YieldOp::create(b, at, arith::IndexCastOp::create(b, at, b.getI32Type(), of(b, at, patch)).getResult());
    };
    return linalg::GenericOp::create(builder, loc, list, ValueRange(), empty, maps, loops, body).getResult(0);
  };
  Value rows = positions([&](OpBuilder &b, Location at, Value patch) -> Value {
    return arith::DivUIOp::create(b, at, patch, images.columns);
  });
  Value columns = positions([&](OpBuilder &b, Location at, Value patch) -> Value {
    return arith::RemUIOp::create(b, at, patch, images.columns);
  });
  return buildAxisRotation(top, loc, frequencies, {rows, columns});
}

namespace {

/// One axis of a grid of learned positions, at a row or column of patches.
struct PlaceOnGrid {
  Value below, above; ///< the rows between which it is, index
  Value share;        ///< how far it is from the one below, f32
};

/// Place `at` of `count`, where the first and the last one are those of the `extent` learned ones.
PlaceOnGrid placeOnGrid(OpBuilder &b, Location loc, Value at, Value count, int64_t extent) {
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, loc, value); };
  auto real = [&](Value index) -> Value {
    Value integer = arith::IndexCastOp::create(b, loc, b.getI32Type(), index);
    return arith::SIToFPOp::create(b, loc, b.getF32Type(), integer);
  };
  Value gaps = arith::MaxUIOp::create(b, loc, arith::SubIOp::create(b, loc, count, number(1)), number(1));
  Value scaled = arith::MulIOp::create(b, loc, at, number(extent - 1));
  Value below = arith::DivUIOp::create(b, loc, scaled, gaps), rest = arith::RemUIOp::create(b, loc, scaled, gaps);
  Value above = arith::MinUIOp::create(b, loc, arith::AddIOp::create(b, loc, below, number(1)), number(extent - 1));
  return {below, above, arith::DivFOp::create(b, loc, real(rest), real(gaps))};
}

} // namespace

Value importing::resizeBilinearly(const Scope &top, StringRef symbol, const Images &images, int64_t rows,
                                  int64_t columns) {
  OpBuilder &builder = top.builder;
  Location loc = top.at(symbol);
  auto ids = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  auto shares = RankedTensorType::get({ShapedType::kDynamic}, builder.getF32Type());
  const utils::IteratorType lines[] = {utils::IteratorType::parallel};
  SmallVector<Value> corners, weights;
  for (int corner = 0; corner < 4; ++corner) {
    const bool isBelow = corner / 2 == 0, isLeft = corner % 2 == 0;
    Value inits[] = {tensor::EmptyOp::create(builder, loc, ids, images.length),
                     tensor::EmptyOp::create(builder, loc, shares, images.length)};
    const SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(1));
    auto body = [&](OpBuilder &b, Location at, ValueRange) {
      Value patch = linalg::IndexOp::create(b, at, 0);
      Value down = arith::DivUIOp::create(b, at, patch, images.columns),
            across = arith::RemUIOp::create(b, at, patch, images.columns);
      const PlaceOnGrid row = placeOnGrid(b, at, down, images.rows, rows),
                        column = placeOnGrid(b, at, across, images.columns, columns);
      Value width = arith::ConstantIndexOp::create(b, at, columns);
      Value id = arith::MulIOp::create(b, at, isBelow ? row.below : row.above, width);
      id = arith::AddIOp::create(b, at, id, isLeft ? column.below : column.above);
      auto part = [&](Value share, bool isFirst) -> Value {
        Value one = arith::ConstantOp::create(b, at, b.getF32FloatAttr(1));
        return isFirst ? Value(arith::SubFOp::create(b, at, one, share)) : share;
      };
      Value weight = arith::MulFOp::create(b, at, part(row.share, isBelow), part(column.share, isLeft));
      linalg::YieldOp::create(b, at, ValueRange{arith::IndexCastOp::create(b, at, b.getI32Type(), id), weight});
    };
    auto list = linalg::GenericOp::create(builder, loc, TypeRange{ids, shares}, ValueRange(), inits, maps, lines, body);
    corners.push_back(embed(top, list.getResult(0), symbol));
    weights.push_back(list.getResult(1));
  }
  auto type = cast<RankedTensorType>(corners[0].getType());
  SmallVector<AffineMap> maps(4, builder.getMultiDimIdentityMap(2));
  maps.append(4, AffineMap::get(2, 0, builder.getAffineDimExpr(0)));
  maps.push_back(builder.getMultiDimIdentityMap(2));
  SmallVector<Value> inputs = corners;
  inputs.append(weights);
  Value empty = tensor::EmptyOp::create(builder, loc, type, images.length);
  const SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto sum = [](OpBuilder &b, Location at, ValueRange x) {
    Value total;
    for (int corner = 0; corner < 4; ++corner) {
      Value part = arith::MulFOp::create(b, at, x[corner], x[4 + corner]);
      total = total ? Value(arith::AddFOp::create(b, at, total, part)) : part;
    }
    linalg::YieldOp::create(b, at, total);
  };
  return linalg::GenericOp::create(builder, loc, type, inputs, empty, maps, loops, sum).getResult(0);
}

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
