//===- EncoderDecoder.cpp - The module and the entries of an encoder-decoder ---===//
#include "lib/Import/EncoderDecoder.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;

Vocabularies importing::readVocabularies(huggingface::ConfigReader &config) {
  constexpr int64_t most = 1 << 24;
  int64_t size = config.getInt("vocab_size", 1, most);
  if (std::optional<int64_t> target = config.getOptionalInt("decoder_vocab_size", 1, most))
    return {*target, size};
  return {size};
}

void Vocabularies::check(huggingface::ConfigReader &config, int64_t startToken, bool sharesTable) const {
  if (startToken >= target)
    config.fail("decoder_start_token_id " + std::to_string(startToken) + " is not below " +
                (areSeparate() ? "decoder_vocab_size " : "vocab_size ") + std::to_string(target));
  if (areSeparate() && sharesTable)
    config.fail("share_embeddings is true, but decoder_vocab_size gives the target a vocabulary of its own");
}

static ModelFacts withTask(ModelFacts facts) {
  facts.task = "text2text-generation";
  return facts;
}

EncoderDecoderModule::EncoderDecoderModule(MLIRContext &context, const ModelFacts &given,
                                           const huggingface::ModelDescription &model, const ParameterSet &parameters,
                                           const ImportOptions &options)
    : module(context, withTask(given), model, parameters), facts(withTask(given)) {
  int64_t blocks = (facts.positions + options.cacheBlock - 1) / options.cacheBlock;
  module.dim("tokens", 0, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  module.dim("wanted", 0, options.maxTokens);
  module.dim("table", 1, blocks);
  // A row's source and its own tokens have blocks of one pool; the bound only keeps byte offsets in 64 bits.
  module.dim("blocks", 1, std::max<int64_t>(int64_t(1) << 20, 2 * blocks * options.maxBatch));
  module.dim("source_blocks", 1, blocks);
  module.declareParameters();
  cacheType = attn::KVCacheType::get(&context, facts.layers, facts.kvHeads, facts.headDim, options.cacheBlock,
                                     builder().getF32Type());
}

void EncoderDecoderModule::beginEncode() {
  int64_t any = ShapedType::kDynamic;
  Type list = tensorOf({any}, builder().getI32Type()), table = tensorOf({any, any}, builder().getI32Type());
  module.beginEntry("encode",
                    {{"cache", cacheType, {"blocks"}},
                     {"input_ids", list, {"tokens"}, facts.readVocabulary()},
                     {"row_begin", list, {"rows+1"}},
                     {"past", list, {"rows"}},
                     {"source_table", table, {"rows", "source_blocks"}}},
                    {{"cache", cacheType, {}},
                     {"encoder_last_hidden_state", tensorOf({any, facts.hidden}, builder().getF32Type()), {"tokens"}}});
}

Status EncoderDecoderModule::endEncode(const ParameterSet &parameters, const Stack &decoder, Value hidden,
                                       StringRef part,
                                       function_ref<std::pair<Value, Value>(const Scope &, Value)> keyValue) {
  Rows rows = sourceRows();
  Value state[] = {cache()}, shared[] = {hidden, rows.rowBegin, rows.past, rows.table};
  Expected<SmallVector<Value>> filled = buildLayerStack(
      builder(), entry(), parameters, {.stack = decoder, .function = "source_block", .state = state, .shared = shared},
      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) -> SmallVector<Value> {
        Scope scope{inner, parameters, {}, &layer};
        auto [key, value] = keyValue(scope, others[0]);
        return {appendSource(scope, scope.at(part), carried[0], key, value, {others[1], others[2], others[3]})};
      });
  if (!filled)
    return filled.error();
  module.endEntry({(*filled)[0], hidden});
  return {};
}

void EncoderDecoderModule::beginStep() {
  int64_t any = ShapedType::kDynamic;
  Type list = tensorOf({any}, builder().getI32Type()), table = tensorOf({any, any}, builder().getI32Type());
  module.beginEntry(
      "step",
      {{"cache", cacheType, {"blocks"}},
       {"tokens", list, {"tokens"}},
       {"row_begin", list, {"rows+1"}},
       {"past", list, {"rows"}},
       {"block_table", table, {"rows", "table"}},
       {"want", list, {"wanted"}},
       {"source_length", list, {"rows"}},
       {"source_table", table, {"rows", "source_blocks"}}},
      {{"cache", cacheType, {}}, {"logits", tensorOf({any, facts.vocabulary}, builder().getF32Type()), {"wanted"}}});
}

OwningOpRef<ModuleOp> EncoderDecoderModule::finish(Value cache, Value logits) {
  module.endEntry({cache, logits});
  return module.take();
}

Value importing::crossAttention(const Scope &scope, Location loc, Value query, Value scale, Value cache, Value rowBegin,
                                const Sources &sources) {
  using A = attn::AttentionOp;
  OpBuilder &builder = scope.builder;
  int64_t any = ShapedType::kDynamic;
  const attn::KVSegment &cached = cast<attn::KVCacheType>(cache.getType()).getSegments()[0];
  auto viewType = RankedTensorType::get({any, any, cached.heads, cached.keys.channels}, cached.keys.element);
  auto view = attn::KVViewOp::create(builder, loc, viewType, viewType, cache, scope.layer->number, sources.table);
  return A::create(builder, loc, query.getType(), query, view.getKeys(), view.getValues(), scale, /*q_begin=*/rowBegin,
                   /*q_offset=*/nullptr, /*kv_begin=*/nullptr, /*kv_length=*/sources.length, /*extras=*/ValueRange(),
                   cachedMaps(builder, /*grouped=*/false))
      .getResult();
}

Value importing::appendSource(const Scope &scope, Location loc, Value cache, Value key, Value value, const Rows &rows) {
  return attn::KVAppendOp::create(scope.builder, loc, cache, scope.layer->number, key, value, rows.rowBegin, rows.past,
                                  rows.table)
      .getResult();
}
