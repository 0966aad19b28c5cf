//===- RelativeBias.cpp - Biases of scores by distance -------------------------===//
#include "lib/Import/Parts/RelativeBias.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

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
