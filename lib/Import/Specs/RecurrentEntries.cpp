//===- RecurrentEntries.cpp - Entries of encoder-decoders that keep a state ------===//
#include "lib/Import/Specs/RecurrentEntries.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

void FirstStates::addTo(ParameterSet &parameters, const RecurrentStack &decoder) const {
  for (int64_t state = 0; state < decoder.states(); ++state) {
    const std::string &part = parts[size_t(state)], tensor = part + "_l" + layerPlaceholder.str();
    parameters.addStacked(stackOf(decoder), part + ".weight", tensor + ".weight", {decoder.hidden, inputs},
                          Init::weight(inputs));
    parameters.addStacked(stackOf(decoder), part + ".bias", tensor + ".bias", {decoder.hidden}, Init::bias());
  }
}

Status FirstStates::build(const Scope &top, Operation *entry, const RecurrentStack &decoder, Value x,
                          KeptStates &kept) const {
  Value state[] = {kept.state}, shared[] = {x, kept.target};
  auto body = [&](OpBuilder &inner, const LayerRef &layer, ValueRange before, ValueRange others) {
    Scope scope{inner, top.parameters, {}, &layer};
    KeptStates own{before[0], Value(), others[1]};
    for (int64_t number = 0; number < decoder.states(); ++number) {
      const std::string &part = parts[size_t(number)];
      Value projected = dense(scope, others[0], part);
      Value first = attn::ActivationOp::create(inner, scope.at(part), attn::ActivationKind::tanh, projected);
      own.write(scope, scope.at(part), decoder.partOf(scope, layer.number, number), first);
    }
    return SmallVector<Value>{own.state};
  };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> filled,
                        buildLayerStack(top.builder, entry, top.parameters,
                                        {.stack = stackOf(decoder), .state = state, .shared = shared}, body));
  kept.state = filled.front();
  return {};
}

void importing::addScore(ParameterSet &parameters, int64_t size, bool isMatrix) {
  artifact::Source score{isMatrix ? "attention.score.weight" : "attention.score", {size}};
  score.transforms = {artifact::Reshape{score.shape}};
  if (isMatrix)
    score.shape.insert(score.shape.begin(), 1);
  parameters.addTransformed("attention.score", score, Init::weight(size));
}

CacheLayer::CacheLayer(const Scope &top, int64_t number)
    : ref{arith::ConstantIndexOp::create(top.builder, top.at("attention"), number), number},
      scope{top.builder, top.parameters, {}, &ref} {}

RecurrentEntries::RecurrentEntries(ModelModule &module, const RecurrentShape &shape, const ParameterSet &parameters,
                                   const ImportOptions &options)
    : module(module), builder(module.builder()), top{builder, parameters} {
  const int64_t any = ShapedType::kDynamic,
                blocks = (shape.longestSource + options.cacheBlock - 1) / options.cacheBlock;
  module.dim("tokens", 0, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  module.dim("wanted", 0, options.maxTokens);
  module.dim("slots", 1, int64_t(1) << 20);
  if (shape.memory) {
    module.dim("blocks", 1, std::max<int64_t>(int64_t(1) << 20, blocks * options.maxBatch));
    module.dim("source_blocks", 1, blocks);
    cacheType = attn::KVCacheType::get(builder.getContext(), *shape.memory, options.cacheBlock);
  }
  module.declareParameters();
  list = tensorOf({any}, builder.getI32Type());
  table = tensorOf({any, any}, builder.getI32Type());
  stateType = keptType(builder, shape.keptParts, shape.keptColumns);
}

Value RecurrentEntries::argument(StringRef name) {
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
  entry = module.beginEntry(name, all, outputs);
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
  Type logits = tensorOf({ShapedType::kDynamic, vocabulary}, builder.getF32Type());
  begin("step", inputs, {"logits", logits, {"wanted"}});
}

void RecurrentEntries::end(Value state, Value cache, Value output) {
  if (cacheType)
    module.endEntry({state, cache, output});
  else
    module.endEntry({state, output});
}

void RecurrentEntries::endStep(const KeptStates &kept, Value x, StringRef head) {
  Value wanted = attn::SelectRowsOp::create(builder, top.at("lm_head"), x.getType(), x, argument("want"));
  Value table = top.weight(head);
  Value logits = project(top, wanted, table, "lm_head", top.weight("lm_head.bias"));
  end(kept.state, cacheType ? argument("cache") : Value(), logits);
}

Value RecurrentEntries::attend(Value query, Value scale, int64_t layer, Value score) {
  Location loc = top.at("attention");
  Sources sources{argument("source_length"), argument("source_table")};
  Value heads = splitHeads(top, loc, query, 1);
  Value seen = crossAttention(CacheLayer(top, layer).scope, loc, heads, scale, argument("cache"), argument("row_begin"),
                              sources);
  auto op = seen.getDefiningOp<attn::AttentionOp>();
  if (score)
    op.getAdditiveMutable().assign(score);
  if (layer > 0) // the layers have the same keys and parts of the values
    op->setAttr(attn::AttnDialect::repeatedAttr, builder.getUnitAttr());
  return mergeHeads(top, loc, seen);
}
