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
using artifact::Reshape;
using artifact::Slice;
using huggingface::Init;

/// The tensor of each head's matrix, [out, in], of `attention`'s latents: keys', by which queries are multiplied, or
/// values'.
static artifact::Source sourceOf(const std::string &tensors, const AttentionSpec &attention, bool isOfKeys) {
  const LatentSpec &l = *attention.latent;
  const int64_t heads = attention.heads, plain = attention.headDim - l.rotated, rows = plain + l.valueDim;
  const int64_t out = isOfKeys ? l.rank : l.valueDim, in = isOfKeys ? plain : l.rank;
  const std::string &apart = isOfKeys ? l.keysApart : l.valuesApart;
  if (!apart.empty())
    return {tensors + apart + ".weight", {heads, out, in}, {Reshape{{heads * out, in}}}};
  std::vector<artifact::Transform> steps = {Reshape{{heads, rows, l.rank}},
                                            isOfKeys ? Slice{1, 0, plain} : Slice{1, plain, rows}};
  if (isOfKeys)
    steps.push_back(artifact::Transpose{{0, 2, 1}});
  steps.push_back(Reshape{{heads * out, in}});
  return {tensors + l.up + ".weight", {heads * rows, l.rank}, steps};
}

static void addUp(const ParameterScope &weights, const AttentionSpec &attention, const std::string &symbol,
                  bool isOfKeys) {
  weights.parameters.addTransformed(weights.symbols + symbol + ".weight",
                                    sourceOf(weights.tensors, attention, isOfKeys),
                                    Init::weight(attention.latent->rank), weights.stack);
}

/// Each head of x [tokens, heads, in] times its matrix of PART.weight, [heads * out, in].
static Value multiplyHeads(const Scope &scope, Value x, const std::string &part) {
  auto type = cast<RankedTensorType>(x.getType());
  Value weight = scope.weight(part + ".weight");
  const int64_t heads = type.getDimSize(1), rows = cast<RankedTensorType>(weight.getType()).getDimSize(0);
  auto result = RankedTensorType::get({type.getDimSize(0), heads, rows / heads}, type.getElementType());
  return attn::LinearOp::create(scope.builder, scope.at(part), result, x, weight, /*extras=*/ValueRange(),
                                /*groups=*/Value(), /*transposed=*/true, /*layout=*/attn::WeightLayoutInterface());
}

LatentHeads importing::walkLatents(const Walk &walk, const StackSpec &stack, Value x, Rotate rotate) {
  const AttentionSpec &a = stack.attention;
  const LatentSpec &l = *a.latent;
  const int64_t plain = a.headDim - l.rotated, rows = l.rank + l.rotated, in = l.queryRank ? l.queryRank : stack.width;
  Value source = x;
  if (l.queryRank) {
    source = walk.matmul(x, {.part = l.queryDown, .out = l.queryRank, .in = stack.width, .hasBias = l.hasDownBias});
    source = walk.norm(source, l.queryNorm, l.normOf, l.queryRank);
  }
  // Channels [begin, end) of each head's query.
  auto queries = [&](const std::string &part, int64_t begin, int64_t end) {
    Value columns = walk.matmul(source, {.part = part,
                                         .out = a.heads * (end - begin),
                                         .in = in,
                                         .hasBias = false,
                                         .stem = l.queryUp + ".",
                                         .rows = RowsOf{{a.heads, a.headDim}, Slice{1, begin, end}}});
    return walk.splitHeads(columns, part, a.heads);
  };
  auto latents = [&](const std::string &part, int64_t begin, int64_t end) {
    return walk.matmul(x, {.part = part,
                           .out = end - begin,
                           .in = stack.width,
                           .hasBias = l.hasDownBias,
                           .stem = l.down + ".",
                           .rows = RowsOf{{rows}, Slice{0, begin, end}}});
  };
  LatentHeads heads;
  walk.declareLast({l.norm, l.keyUp()}, [&] {
    Value query = queries(l.plainQuery(), 0, plain);
    walk.declare([&](const ParameterScope &weights) { addUp(weights, a, l.keyUp(), /*isOfKeys=*/true); });
    heads.query = walk.emit([&](const Scope &scope) { return multiplyHeads(scope, query, l.keyUp()); });
    heads.rotatedQuery = rotate(queries(l.rotatedQuery(), plain, a.headDim), l.rotatedQuery());
    Value latent = walk.norm(latents(l.latent(), 0, l.rank), l.norm, l.normOf, l.rank);
    heads.latent = walk.splitHeads(latent, l.norm, /*heads=*/1);
    Value key = walk.splitHeads(latents(l.rotatedKey(), l.rank, rows), l.rotatedKey(), /*heads=*/1);
    heads.rotatedKey = rotate(key, l.rotatedKey());
  });
  return heads;
}

Value importing::expandLatents(const Walk &walk, const StackSpec &stack, Value mixed) {
  const AttentionSpec &a = stack.attention;
  const LatentSpec &l = *a.latent;
  walk.declare([&](const ParameterScope &weights) { addUp(weights, a, l.valueUp(), /*isOfKeys=*/false); });
  return walk.emit([&](const Scope &scope) { return multiplyHeads(scope, mixed, l.valueUp()); });
}
