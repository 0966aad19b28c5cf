//===- RelativePositions.cpp - Scores that know the distance of tokens ----===//
//
// He et al. 2021, "DeBERTa": the score of a query i and a key j is q_i . k_j + q_i . K_r + k_j . Q_r,
// where K_r and Q_r are keys and queries of the embedding of the distance i - j. The last two are
// matmuls of all tokens with the few embeddings, from which the scores look up their elements.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Parts/RelativePositions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

/// The distances from which on a bucket beyond the exact ones is reached, in order: `count` buckets of which the first
/// half holds a distance each. The logarithm is taken in f32 and truncated, as in Hugging Face.
std::vector<int64_t> bucketThresholds(int64_t count, int64_t maxDistance) {
  int64_t exact = count / 2, reached = exact;
  std::vector<int64_t> thresholds;
  float range = static_cast<float>(std::log(double(maxDistance) / double(exact)));
  for (int64_t distance = exact; distance <= maxDistance; ++distance) {
    float ratio = std::log(float(distance) / float(exact)) / range * float(count - exact);
    int64_t bucket = std::min(exact + static_cast<int64_t>(ratio), count - 1);
    for (; reached < bucket; ++reached)
      thresholds.push_back(distance);
  }
  return thresholds;
}

/// The bucket of the distance from query to key, as an index.
Value buildBucket(OpBuilder &builder, Location loc, const RelativeBuckets &buckets, Value query, Value key) {
  Type i32 = builder.getI32Type();
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(int32_t(value)));
  };
  auto whole = [&](Value index) -> Value { return arith::IndexCastOp::create(builder, loc, i32, index); };
  const bool isDecoder = buckets.isDecoder;
  int64_t count = isDecoder ? buckets.buckets : buckets.buckets / 2;
  Value back = arith::SubIOp::create(builder, loc, whole(query), whole(key)), zero = constant(0);
  Value ahead = arith::SubIOp::create(builder, loc, zero, back);
  // The decoder sees no key ahead; the encoder keeps these in the second half of its buckets.
  Value distance = arith::MaxSIOp::create(builder, loc, back, isDecoder ? zero : ahead);
  Value bucket = arith::MinSIOp::create(builder, loc, distance, constant(count / 2));
  for (int64_t threshold : bucketThresholds(count, buckets.maxDistance)) {
    Value over =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, distance, constant(threshold)).getResult();
    bucket = arith::AddIOp::create(builder, loc, bucket, arith::ExtUIOp::create(builder, loc, i32, over));
  }
  if (!isDecoder) {
    Value isAhead = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, ahead, zero);
    Value start = arith::SelectOp::create(builder, loc, isAhead, constant(count), zero);
    bucket = arith::AddIOp::create(builder, loc, bucket, start);
  }
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), bucket);
}

} // namespace

void importing::addRelativeBias(const Scope &scope, const RelativeBuckets &buckets, attn::AttentionOp attention,
                                Value table) {
  addExtra(attention, table, AffineMap::get(attn::AttentionOp::NumDims, 0, scope.builder.getContext()));
  mapScores(scope, attention, [&](const Scope &inner, Location loc, ValueRange arguments) -> Value {
    OpBuilder &builder = inner.builder;
    Value bucket = buildBucket(builder, loc, buckets, arguments[3], arguments[4]);
    Value bias =
        attn::LookupOp::create(builder, loc, builder.getF32Type(), arguments[5], ValueRange{bucket, arguments[2]});
    return arith::AddFOp::create(builder, loc, arguments[0], bias);
  });
}

namespace {

/// The tables' columns are a multiple of this number, as every target multiplies heads by computed matrices of such
/// columns.
constexpr int64_t columnGroup = 32;

/// The bucket of a distance of at least 0. Half of the buckets hold a distance each, the others grow with its
/// logarithm, which is taken in f32 and rounded up, as in Hugging Face.
int64_t bucketOf(const DisentangledSpec &spec, int64_t distance) {
  const int64_t exact = spec.buckets / 2;
  if (spec.buckets == 0 || distance <= exact)
    return distance;
  const float range = std::log(float(double(spec.maxDistance - 1) / double(exact)));
  const float share = std::log(float(distance) / float(exact)) / range;
  return exact + static_cast<int64_t>(std::ceil(share * float(exact - 1)));
}

/// Rows of the embedding on each side of distance 0 that texts of `longest` tokens reach.
int64_t reachOf(const DisentangledSpec &spec, int64_t longest) {
  return std::min(spec.span(), bucketOf(spec, longest - 1) + 1);
}

/// A constant vector of i32.
Value listOf(OpBuilder &builder, Location loc, ArrayRef<int32_t> numbers) {
  auto type = RankedTensorType::get({int64_t(numbers.size())}, builder.getI32Type());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, numbers));
}

/// The column of a table for each distance from 1 - longest to longest - 1.
SmallVector<int32_t> listColumns(const DisentangledSpec &spec, int64_t longest) {
  const int64_t reach = reachOf(spec, longest);
  SmallVector<int32_t> columns;
  for (int64_t distance = 1 - longest; distance < longest; ++distance) {
    const int64_t bucket = bucketOf(spec, std::abs(distance)), signedBucket = distance < 0 ? -bucket : bucket;
    columns.push_back(int32_t(std::clamp(signedBucket, -reach, reach - 1) + reach));
  }
  return columns;
}

/// Heads of positions [rows, heads, channels] as a matrix [rows, channels] for each head, one behind another.
Value stackHeads(const Scope &scope, Location loc, Value heads) {
  OpBuilder &builder = scope.builder;
  auto type = cast<RankedTensorType>(heads.getType());
  const int64_t shape[] = {type.getDimSize(1), type.getDimSize(0), type.getDimSize(2)};
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  Value byHead =
      linalg::TransposeOp::create(builder, loc, heads, empty, ArrayRef<int64_t>{1, 0, 2}).getResult().front();
  return tensor::CollapseShapeOp::create(builder, loc, byHead, ArrayRef<ReassociationIndices>{{0, 1}, {2}});
}

} // namespace

Value importing::multiplyPositions(const Scope &scope, Value x, Value positions, const std::string &part) {
  OpBuilder &builder = scope.builder;
  Location loc = scope.at(part);
  auto type = cast<RankedTensorType>(x.getType());
  Value heads = splitHeads(scope, loc, dense(scope, positions, part), type.getDimSize(1));
  const int64_t rows = cast<RankedTensorType>(positions.getType()).getDimSize(0);
  auto result = RankedTensorType::get({type.getDimSize(0), type.getDimSize(1), rows}, type.getElementType());
  return attn::LinearOp::create(builder, loc, result, x, stackHeads(scope, loc, heads), /*extras=*/ValueRange(),
                                /*groups=*/Value(), /*transposed=*/true, /*layout=*/attn::WeightLayoutInterface());
}

Value importing::buildDistances(const Scope &scope, Location loc, int64_t count, int64_t first, int64_t width) {
  OpBuilder &builder = scope.builder;
  SmallVector<int32_t> rows;
  for (int64_t i = 0; i < int64_t(llvm::alignTo(uint64_t(count), uint64_t(columnGroup))); ++i)
    rows.push_back(int32_t(std::min(i, count - 1) + first));
  const int64_t pairs = width / 2;
  SmallVector<float> frequencies;
  for (int64_t i = 0; i < width; ++i)
    frequencies.push_back(
        float(std::exp(-double(i % pairs) * std::log(10000.0) / double(std::max<int64_t>(pairs - 1, 1)))));
  auto type = RankedTensorType::get({int64_t(rows.size()), width}, builder.getF32Type());
  return attn::SinusoidsOp::create(builder, loc, type, listOf(builder, loc, rows),
                                   builder.getDenseF32ArrayAttr(frequencies), /*halves=*/true, /*first=*/IntegerAttr());
}

void importing::addRelativeKeys(const Scope &scope, attn::AttentionOp attention, Value table, Value rowBegin,
                                double softCap) {
  AffineMap whole = AffineMap::get(attn::AttentionOp::NumDims, 0, scope.builder.getContext());
  for (Value operand : {rowBegin, table})
    addExtra(attention, operand, whole);
  mapScores(scope, attention, [&](const Scope &inner, Location loc, ValueRange arguments) -> Value {
    OpBuilder &b = inner.builder;
    auto asIndex = [&](Value number) -> Value { return arith::IndexCastOp::create(b, loc, b.getIndexType(), number); };
    auto number = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, loc, value, 32); };
    Value sequence = arguments[1], head = arguments[2], query = arguments[3], key = arguments[4];
    Value first = attn::LookupOp::create(b, loc, b.getI32Type(), arguments[5], sequence);
    Value distance = arith::SubIOp::create(b, loc, query, key);
    distance = arith::IndexCastOp::create(b, loc, b.getI32Type(), distance);
    distance = arith::MaxSIOp::create(b, loc, distance, number(0));
    const int64_t last = cast<RankedTensorType>(table.getType()).getDimSize(2) - 1;
    Value column = asIndex(arith::MinSIOp::create(b, loc, distance, number(last)));
    Value token = arith::AddIOp::create(b, loc, asIndex(first), query);
    Value term = attn::LookupOp::create(b, loc, b.getF32Type(), arguments[6], ValueRange{token, head, column});
    return softCapped(inner, loc, arith::AddFOp::create(b, loc, arguments[0], term), softCap);
  });
}

void importing::addDisentangled(const ParameterScope &layer, const StackSpec &stack, const DisentangledSpec &spec) {
  if (spec.hasKeys && !spec.keyPart.empty())
    layer.dense(spec.keyPart, stack.width, stack.width);
  if (spec.hasQueries && !spec.queryPart.empty())
    layer.dense(spec.queryPart, stack.width, stack.width);
}

Value importing::walkRelativePositions(const Walk &walk, const StackSpec &stack, const DisentangledSpec &spec,
                                       int64_t longest) {
  const std::string table = spec.table + ".weight";
  walk.declare([&](const ParameterScope &top) { top.add(table, {2 * spec.span(), stack.width}, Init::embedding()); });
  Value x = walk.emit([&](const Scope &top) {
    const int64_t reach = reachOf(spec, longest), count = llvm::alignTo(2 * reach, columnGroup);
    SmallVector<int32_t> rows;
    for (int64_t i = 0; i < count; ++i)
      rows.push_back(int32_t(spec.span() - reach + std::min(i, 2 * reach - 1)));
    OpBuilder &builder = top.builder;
    Location loc = top.at(spec.table);
    auto type = RankedTensorType::get({count, stack.width}, builder.getF32Type());
    return attn::EmbeddingOp::create(builder, loc, type, listOf(builder, loc, rows), top.weight(table));
  });
  return walk.norm(x, spec.norm, stack.norm, stack.width);
}

DisentangledTables importing::buildDisentangledTables(const Scope &scope, const StackSpec &stack,
                                                      const DisentangledSpec &spec, Value positions, Value query,
                                                      Value key) {
  const auto &parts = stack.attention.parts;
  DisentangledTables tables;
  if (spec.hasKeys)
    tables.ofQueries = multiplyPositions(scope, query, positions, spec.keyPart.empty() ? parts[1] : spec.keyPart);
  if (spec.hasQueries)
    tables.ofKeys = multiplyPositions(scope, key, positions, spec.queryPart.empty() ? parts[0] : spec.queryPart);
  return tables;
}

void importing::addDisentangledScores(const Scope &scope, const DisentangledSpec &spec, int64_t longest,
                                      attn::AttentionOp attention, const DisentangledTables &tables, Value rowBegin) {
  AffineMap whole = AffineMap::get(attn::AttentionOp::NumDims, 0, scope.builder.getContext());
  OpBuilder::InsertionGuard guard(scope.builder);
  scope.builder.setInsertionPoint(attention);
  addExtra(attention, rowBegin, whole);
  addExtra(attention, listOf(scope.builder, attention.getLoc(), listColumns(spec, longest)), whole);
  for (Value table : {tables.ofQueries, tables.ofKeys})
    if (table)
      addExtra(attention, table, whole);
  mapScores(scope, attention, [&](const Scope &inner, Location loc, ValueRange arguments) -> Value {
    OpBuilder &b = inner.builder;
    Value sequence = arguments[1], head = arguments[2], query = arguments[3], key = arguments[4];
    auto lookUp = [&](Value table, ValueRange indices) -> Value {
      Type element = cast<RankedTensorType>(table.getType()).getElementType();
      Value found = attn::LookupOp::create(b, loc, element, table, indices);
      return element.isF32() ? found : arith::IndexCastOp::create(b, loc, b.getIndexType(), found).getResult();
    };
    Value first = lookUp(arguments[5], sequence), last = arith::ConstantIndexOp::create(b, loc, longest - 1);
    Value distance = arith::SubIOp::create(b, loc, query, key);
    Value column = lookUp(arguments[6], arith::AddIOp::create(b, loc, distance, last).getResult());
    ValueRange left = arguments.drop_front(7);
    Value sum;
    auto add = [&](Value position) {
      Value token = arith::AddIOp::create(b, loc, first, position);
      Value term = lookUp(left.front(), {token, head, column});
      sum = sum ? arith::AddFOp::create(b, loc, sum, term).getResult() : term;
      left = left.drop_front();
    };
    if (tables.ofQueries)
      add(query);
    if (tables.ofKeys)
      add(key);
    Value scaled = arith::MulFOp::create(b, loc, sum, attention.getScale());
    return arith::AddFOp::create(b, loc, arguments[0], scaled);
  });
}
