//===- CrossAttention.cpp - Attention to another sequence -----------------===//
#include "lib/Import/Parts/CrossAttention.h"
#include "lib/Import/Module/ModelModule.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

Value importing::crossAttention(const Scope &scope, Location loc, Value query, Value scale, Value cache, Value rowBegin,
                                const Sources &sources) {
  using A = attn::AttentionOp;
  OpBuilder &builder = scope.builder;
  int64_t any = ShapedType::kDynamic;
  const attn::KVSegment &cached = cast<attn::KVCacheType>(cache.getType()).getSegments()[0];
  auto viewOf = [&](const attn::KVPart &part) {
    return RankedTensorType::get({any, any, cached.heads, part.channels}, part.element);
  };
  auto view = attn::KVViewOp::create(builder, loc, viewOf(cached.keys), viewOf(cached.values), cache,
                                     scope.layer->number, sources.table);
  auto asked = cast<RankedTensorType>(query.getType());
  auto result = tensorOf({asked.getDimSize(0), asked.getDimSize(1), cached.values.channels}, asked.getElementType());
  return A::create(builder, loc, result, query, view.getKeys(), view.getValues(), scale, /*q_begin=*/rowBegin,
                   /*q_offset=*/nullptr, /*kv_begin=*/nullptr, /*kv_length=*/sources.length, /*extras=*/ValueRange(),
                   cachedMaps(builder, /*grouped=*/false))
      .getResult();
}

Value importing::appendSource(const Scope &scope, Location loc, Value cache, Value key, Value value, const Rows &rows) {
  return attn::KVAppendOp::create(scope.builder, loc, cache, scope.layer->number, key, value, rows.rowBegin, rows.past,
                                  rows.table)
      .getResult();
}
