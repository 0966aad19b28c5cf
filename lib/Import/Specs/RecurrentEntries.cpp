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

RecurrentEntries::RecurrentEntries(MLIRContext &context, const Walk &walk, ModelModule *module,
                                   const RecurrentShape &shape, const ImportOptions &options)
    : types(&context), walk(walk), list(tensorOf({ShapedType::kDynamic}, types.getI32Type())), module(module),
      table(tensorOf({ShapedType::kDynamic, ShapedType::kDynamic}, types.getI32Type())),
      stateType(keptType(types, shape.keptParts, shape.keptColumns)) {
  if (!module)
    return;
  const int64_t blocks = (shape.longestSource + options.cacheBlock - 1) / options.cacheBlock;
  module->dim("tokens", 0, options.maxTokens);
  module->dim("rows", 1, options.maxBatch);
  module->dim("wanted", 0, options.maxTokens);
  module->dim("slots", 1, int64_t(1) << 20);
  if (shape.memory) {
    module->dim("blocks", 1, std::max<int64_t>(int64_t(1) << 20, blocks * options.maxBatch));
    module->dim("source_blocks", 1, blocks);
    cacheType = attn::KVCacheType::get(&context, *shape.memory, options.cacheBlock);
  }
  module->declareParameters();
}

Value RecurrentEntries::argument(StringRef name) {
  if (!module)
    return {};
  for (BlockArgument argument : entry.getArguments())
    if (entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attn::AttnDialect::nameAttr) == name)
      return argument;
  llvm_unreachable("the entry has no such argument");
}

void RecurrentEntries::begin(StringRef name, ArrayRef<EntryBuffer> inputs, EntryBuffer output) {
  SmallVector<EntryBuffer> all{{"state", stateType, {"slots"}}}, outputs{{"state", stateType, {}}};
  if (cacheType) {
    all.push_back({"cache", cacheType, {"blocks"}});
    outputs.push_back({"cache", cacheType, {}});
  }
  all.append(inputs.begin(), inputs.end());
  outputs.push_back(std::move(output));
  if (module)
    entry = module->beginEntry(name, all, outputs);
}

void RecurrentEntries::beginEncode(ArrayRef<EntryBuffer> inputs, EntryBuffer output) {
  SmallVector<EntryBuffer> all(inputs);
  all.push_back({"state_target", list, {"rows"}});
  if (cacheType)
    all.append({{"past", list, {"rows"}}, {"source_table", table, {"rows", "source_blocks"}}});
  begin("encode", all, std::move(output));
}

void RecurrentEntries::beginStep(bool isSerial, int64_t vocabulary) {
  SmallVector<EntryBuffer> inputs{{"tokens", list, {isSerial ? "rows" : "tokens"}},
                                  {"row_begin", list, {"rows+1"}},
                                  {"state_slot", list, {"rows"}},
                                  {"state_target", list, {"rows"}},
                                  {"want", list, {"wanted"}}};
  if (cacheType)
    inputs.append({{"source_length", list, {"rows"}}, {"source_table", table, {"rows", "source_blocks"}}});
  Type logits = tensorOf({ShapedType::kDynamic, vocabulary}, types.getF32Type());
  begin("step", inputs, {"logits", logits, {"wanted"}});
}

void RecurrentEntries::end(Value state, Value cache, Value output) {
  if (module && cacheType)
    module->endEntry({state, cache, output});
  else if (module)
    module->endEntry({state, output});
}

void RecurrentEntries::endStep(const KeptStates &kept, Value x, const std::string &tied, int64_t words,
                               int64_t columns) {
  Value wanted = walk.emit([&](const Scope &top) {
    return attn::SelectRowsOp::create(top.builder, top.at("lm_head"), x.getType(), x, argument("want"));
  });
  Value logits = walkLogits(walk, wanted, tied, words, columns);
  end(kept.state, cacheType ? argument("cache") : Value(), logits);
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
                        {rowBegin, argument("past"), argument("source_table")});
  });
}

Value RecurrentEntries::attend(Value query, Value scale, int64_t layer, Value score) {
  return walk.emit([&](const Scope &top) {
    Location loc = top.at("attention");
    const Sources sources{argument("source_length"), argument("source_table")};
    Value heads = splitHeads(top, loc, query, 1);
    Value seen = crossAttention(CacheLayer(top, layer).scope, loc, heads, scale, argument("cache"),
                                argument("row_begin"), sources);
    auto op = seen.getDefiningOp<attn::AttentionOp>();
    if (score)
      op.getAdditiveMutable().assign(score);
    if (layer > 0) // the layers have the same keys and parts of the values
      op->setAttr(attn::AttnDialect::repeatedAttr, top.builder.getUnitAttr());
    return mergeHeads(top, loc, seen);
  });
}
