//===- RecurrentEntries.cpp - Entries of encoder-decoders that keep a state ------===//
#include "lib/Import/Specs/RecurrentEntries.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

Status FirstStates::walk(const Walk &walk, const RecurrentStack &decoder, Value x, KeptStates &kept) const {
  const WalkedLayers layers{
      .loop = {.stack = {decoder.layers, stack}}, .state = {kept.state}, .shared = {x, kept.target}};
  auto body = [&](const Walk &layer, ValueRange before, ValueRange shared) -> SmallVector<Value> {
    KeptStates own{before[0], Value(), shared[1]};
    for (int64_t number = 0; number < decoder.states(); ++number) {
      const std::string &part = parts[size_t(number)];
      Value first = layer.matmul(shared[0], {.part = part,
                                             .out = decoder.hidden,
                                             .in = inputs,
                                             .hasBias = true,
                                             .stem = part + "_l" + layerPlaceholder.str() + "."});
      first = layer.activate(first, part, attn::ActivationKind::tanh);
      layer.emit([&](const Scope &scope) {
        own.write(scope, scope.at(part), decoder.partOf(scope, scope.layer->number, number), first);
      });
    }
    return {own.state};
  };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> filled, walkLayers(walk, layers, body));
  kept.state = filled.front();
  return {};
}

CacheLayer::CacheLayer(const Scope &top, int64_t number)
    : ref{arith::ConstantIndexOp::create(top.builder, top.at("attention"), number), number},
      scope{top.builder, top.parameters, {}, &ref} {}

RecurrentEntries::RecurrentEntries(MLIRContext &context, const Walk &walk, ModelModule *module, SequenceFacts facts,
                                   const ImportOptions &options)
    : SequenceEntries(context, module, std::move(facts)), walk(walk) {
  declareDims(options);
  if (module)
    module->declareParameters();
}

void RecurrentEntries::endStep(const KeptStates &kept, Value x, const std::string &tied, int64_t words,
                               int64_t columns) {
  Value wanted = walk.emit([&](const Scope &top) {
    return attn::SelectRowsOp::create(top.builder, top.at("lm_head"), x.getType(), x, argument(EntryRole::Want));
  });
  end({{EntryRole::State, kept.state}, {EntryRole::Logits, walkLogits(walk, wanted, tied, words, columns)}});
}

Value RecurrentEntries::read(const KeptStates &kept, StringRef part, int64_t state) {
  return walk.emit([&](const Scope &top) { return kept.read(top, top.at(part), state); });
}

Value RecurrentEntries::concat(ArrayRef<Value> parts) {
  return walk.emit([&](const Scope &top) { return attn::ConcatOp::create(top.builder, top.at("decoder"), parts); });
}

Value RecurrentEntries::score(int64_t size, bool isMatrix) {
  const std::string part = "attention.score";
  walk.declare([&](const ParameterScope &weights) {
    artifact::Source score{isMatrix ? part + ".weight" : part, {size}};
    score.transforms = {artifact::Reshape{score.shape}};
    if (isMatrix)
      score.shape.insert(score.shape.begin(), 1);
    weights.parameters.addTransformed(part, score, Init::weight(size));
  });
  return walk.emit([&](const Scope &top) { return top.weight(part); });
}

Value RecurrentEntries::append(Value cache, int64_t layer, Value keys, Value values, Value rowBegin) {
  return walk.emit([&](const Scope &top) {
    const CacheLayer own(top, layer);
    Value heads = splitHeads(top, top.at("attention"), values, 1);
    return appendSource(own.scope, top.at("attention"), cache, keys, heads,
                        {rowBegin, argument(EntryRole::Past), argument(EntryRole::SourceTable)});
  });
}

Value RecurrentEntries::attend(Value query, Value scale, int64_t layer, Value score) {
  return walk.emit([&](const Scope &top) {
    Location loc = top.at("attention");
    const Sources sources{argument(EntryRole::SourceLength), argument(EntryRole::SourceTable)};
    Value heads = splitHeads(top, loc, query, 1);
    Value seen = crossAttention(CacheLayer(top, layer).scope, loc, heads, scale, argument(EntryRole::Cache),
                                argument(EntryRole::RowBegin), sources);
    auto op = seen.getDefiningOp<attn::AttentionOp>();
    if (score)
      op.getAdditiveMutable().assign(score);
    if (layer > 0) // the layers have the same keys and parts of the values
      op->setAttr(attn::AttnDialect::repeatedAttr, top.builder.getUnitAttr());
    return mergeHeads(top, loc, seen);
  });
}
