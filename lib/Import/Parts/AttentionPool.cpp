//===- AttentionPool.cpp - One vector of many tokens by attention ----------------===//
#include "lib/Import/Parts/AttentionPool.h"
#include "lib/Import/Parts/Walk.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

/// Queries, keys and values, whose rows a tensor has one behind another.
static constexpr const char *parts[] = {".attention.query", ".attention.key", ".attention.value"};

void importing::addAttentionPool(const ParameterScope &top, const AttentionPoolSpec &pool, const StackSpec &stack) {
  const int64_t width = stack.width;
  const std::string &part = pool.part, symbol = top.symbols + part, tensor = top.tensors + part;
  // In f32, as activations are, of which it is one.
  top.parameters.addRows(symbol + ".probe", {{tensor + ".probe", {1, 1, width}, {artifact::Reshape{{1, width}}}}},
                         Init::embedding(), /*stack=*/std::nullopt, /*isTable=*/true);
  for (int64_t i = 0; i < 3; ++i) {
    const artifact::Slice own{0, i * width, (i + 1) * width};
    top.parameters.addTransformed(symbol + parts[i] + ".weight",
                                  {tensor + ".attention.in_proj_weight", {3 * width, width}, {own}},
                                  Init::weight(width));
    top.parameters.addTransformed(symbol + parts[i] + ".bias", {tensor + ".attention.in_proj_bias", {3 * width}, {own}},
                                  Init::bias());
  }
  top.dense(part + ".attention.out_proj", width, width);
  addNorm(top, part + ".layernorm", stack.norm, width);
  top.dense(part + ".mlp.fc1", pool.feedForward.inner, width);
  top.dense(part + ".mlp.fc2", width, pool.feedForward.inner);
}

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

Value importing::buildAttentionPool(const Scope &top, const AttentionPoolSpec &pool, const StackSpec &stack, Value x,
                                    Value rowBegin, Value rows) {
  OpBuilder &builder = top.builder;
  const std::string &part = pool.part;
  Location loc = top.at(part + ".attention");
  auto heads = [&](Value from, unsigned i) {
    return splitHeads(top, top.at(part + parts[i]), dense(top, from, part + parts[i]), pool.heads);
  };
  const auto [probes, queryBegin] = queryOfRows(top, loc, part + ".probe", rows);
  Value query = heads(probes, 0), key = heads(x, 1), value = heads(x, 2);
  Value scale = constant(top, loc, 1 / std::sqrt(double(stack.width / pool.heads)));
  attn::AttentionOp attention = rowAttention(top, loc, {query, key, value}, scale, rowBegin, queryBegin);
  Value mixed = dense(top, mergeHeads(top, loc, attention.getResult()), part + ".attention.out_proj");
  Value normed = normalize(top, mixed, part + ".layernorm", stack.norm);
  Value more = feedForward(top, normed, part + ".mlp.fc1", pool.feedForward.activation, part + ".mlp.fc2");
  return arith::AddFOp::create(builder, top.at(part), mixed, more);
}
