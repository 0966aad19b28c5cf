//===- LatentAttention.cpp - Projections of latent attention -------------------===//
//
// A head's key is W l of a token's latent l, so q . (W l) = (W^T q) . l: the query is multiplied
// once, whatever the number of keys, and attention reads latents, which all heads share. Its
// result is a mean of latents, from which each head's matrix makes the mean of its values.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Parts/LatentAttention.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

/// Each head of x [tokens, heads, in] times its matrix of PART.weight, [heads * out, in].
static Value multiplyHeads(const Scope &scope, Value x, const std::string &part) {
  auto type = cast<RankedTensorType>(x.getType());
  Value weight = scope.weight(part + ".weight");
  const int64_t heads = type.getDimSize(1), rows = cast<RankedTensorType>(weight.getType()).getDimSize(0);
  auto result = RankedTensorType::get({type.getDimSize(0), heads, rows / heads}, type.getElementType());
  return attn::LinearOp::create(scope.builder, scope.at(part), result, x, weight, /*extras=*/ValueRange(),
                                /*groups=*/Value(), /*transposed=*/true, /*layout=*/attn::WeightLayoutInterface());
}

LatentHeads importing::projectLatents(const Scope &scope, const AttentionSpec &attention, Value x, Rotate rotate) {
  const LatentSpec &l = *attention.latent;
  Value source = l.queryRank ? normalize(scope, dense(scope, x, l.queryDown), l.queryNorm, latentNorm) : x;
  auto headsOf = [&](Value from, const std::string &part, int64_t heads) {
    return splitHeads(scope, scope.at(part), dense(scope, from, part), heads);
  };
  LatentHeads heads;
  heads.query = multiplyHeads(scope, headsOf(source, l.plainQuery(), attention.heads), l.keyUp());
  heads.rotatedQuery = rotate(headsOf(source, l.rotatedQuery(), attention.heads), scope.at(l.rotatedQuery()));
  heads.latent = splitHeads(scope, scope.at(l.norm), normalize(scope, dense(scope, x, l.latent()), l.norm, latentNorm),
                            /*heads=*/1);
  heads.rotatedKey = rotate(headsOf(x, l.rotatedKey(), /*heads=*/1), scope.at(l.rotatedKey()));
  return heads;
}

Value importing::expandLatents(const Scope &scope, const LatentSpec &latent, Value mixed) {
  return multiplyHeads(scope, mixed, latent.valueUp());
}
