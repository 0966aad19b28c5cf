//===- PatchGrid.cpp - Rotation and biases by the positions of patches -------===//
#include "lib/Import/Parts/PatchGrid.h"
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
