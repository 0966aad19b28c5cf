//===- AttentionPool.cpp - One vector of many tokens by attention ----------------===//
#include "lib/Import/Parts/AttentionPool.h"
#include "lib/Import/Parts/FeedForward.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

/// Queries, keys and values, whose rows a tensor has one behind another.
static constexpr const char *parts[] = {".attention.query", ".attention.key", ".attention.value"};

std::pair<Value, Value> importing::queryOfRows(const Scope &top, Location loc, StringRef symbol, Value rows) {
  OpBuilder &builder = top.builder;
  auto number = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  auto offsets = RankedTensorType::get({ShapedType::kDynamic}, builder.getI32Type());
  Value last = arith::SubIOp::create(builder, loc, rows, number(1));
  Value zeros = attn::EqualRowsOp::create(builder, loc, offsets, last, number(0)); // the first row of a table of one
  Value table = top.weight(symbol);
  const int64_t width = cast<RankedTensorType>(table.getType()).getDimSize(1);
  auto wide = RankedTensorType::get({ShapedType::kDynamic, width}, builder.getF32Type());
  Value queries = attn::SelectRowsOp::create(builder, loc, wide, table, /*layer=*/Value(), zeros);
  return {queries, attn::EqualRowsOp::create(builder, loc, offsets, rows, number(1))};
}

Value importing::walkAttentionPool(const Walk &walk, const AttentionPoolSpec &pool, const StackSpec &stack, Value x,
                                   Value rowBegin, Value rows) {
  const int64_t width = stack.width;
  const std::string &part = pool.part, own = part + ".attention";
  walk.declare([&](const ParameterScope &weights) {
    // In f32, as activations are, of which it is one.
    artifact::Source probe{weights.tensors + part + ".probe", {1, 1, width}, {artifact::Reshape{{1, width}}}};
    weights.parameters.addRows(weights.symbols + part + ".probe", {std::move(probe)}, Init::embedding(),
                               /*stack=*/std::nullopt, /*isTable=*/true);
  });
  Value queryBegin, probes = walk.emit([&](const Scope &top) {
    auto [queries, begin] = queryOfRows(top, top.at(own), part + ".probe", rows);
    queryBegin = begin;
    return queries;
  });
  auto heads = [&](Value from, int64_t i) {
    Value columns = walk.matmul(from, {.part = part + parts[i],
                                       .out = width,
                                       .in = width,
                                       .hasBias = true,
                                       .stem = own + ".in_proj_",
                                       .rows = RowsOf{{3 * width}, artifact::Slice{0, i * width, (i + 1) * width}}});
    return walk.splitHeads(columns, part + parts[i], pool.heads);
  };
  Value query = heads(probes, 0), key = heads(x, 1), value = heads(x, 2);
  Value mixed = walk.emit([&](const Scope &top) {
    Location loc = top.at(own);
    Value scale = constant(top, loc, 1 / std::sqrt(double(width / pool.heads)));
    attn::AttentionOp attention = rowAttention(top, loc, {query, key, value}, scale, rowBegin, queryBegin);
    return mergeHeads(top, loc, attention.getResult());
  });
  mixed = walk.matmul(mixed, {.part = own + ".out_proj", .out = width, .in = width, .hasBias = true});
  FeedForwardSpec feedForward = pool.feedForward;
  feedForward.up = part + ".mlp.fc1";
  feedForward.down = part + ".mlp.fc2";
  Value normed = walk.norm(mixed, part + ".layernorm", stack.norm, width);
  Value more = walkFeedForward(walk, stack, feedForward, normed);
  return walk.emit(
      [&](const Scope &top) -> Value { return arith::AddFOp::create(top.builder, top.at(part), mixed, more); });
}
