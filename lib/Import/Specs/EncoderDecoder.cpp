//===- EncoderDecoder.cpp - The module and the entries of an encoder-decoder ---===//
#include "lib/Import/Specs/EncoderDecoder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

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

EncoderDecoderModule::EncoderDecoderModule(MLIRContext &context, const ModelFacts &facts,
                                           const huggingface::ModelDescription &model, const ParameterSet &parameters,
                                           const ImportOptions &options)
    : module(context, facts, model, parameters), facts(facts), extra(adapterInputs(context, facts, options)) {
  auto blocksOf = [&](int64_t positions) { return (positions + options.cacheBlock - 1) / options.cacheBlock; };
  const int64_t blocks = blocksOf(facts.positions), sourceBlocks = blocksOf(facts.longestSource());
  module.dim("tokens", 0, options.maxTokens);
  module.dim("rows", 1, options.maxBatch);
  module.dim("wanted", 0, options.maxTokens);
  module.dim("table", 1, blocks);
  // A row's source and its own tokens have blocks of one pool; the bound only keeps byte offsets in 64 bits.
  module.dim("blocks", 1, std::max<int64_t>(int64_t(1) << 20, (blocks + sourceBlocks) * options.maxBatch));
  module.dim("source_blocks", 1, sourceBlocks);
  for (const DimBounds &dim : extra.dims)
    module.dim(dim.name, dim.least, dim.most);
  module.declareParameters();
  cacheType = attn::KVCacheType::get(&context, facts.layers, facts.kvHeads, facts.headDim, options.cacheBlock,
                                     builder().getF32Type());
}

void EncoderDecoderModule::beginEntry(StringRef name, SmallVector<EntryBuffer> inputs, ArrayRef<EntryBuffer> outputs) {
  inputs.append(extra.inputs.begin(), extra.inputs.end());
  module.beginEntry(name, inputs, outputs);
}

std::optional<AdapterRows> EncoderDecoderModule::adapters() {
  ValueRange last = module.entry().getArguments().take_back(extra.inputs.size());
  return takeAdapters(!facts.adapters.empty(), last);
}

void EncoderDecoderModule::beginEncode() { readsFeatures() ? beginEncodeOfFeatures() : beginEncodeOfWords(); }

void EncoderDecoderModule::beginEncodeOfWords() {
  int64_t any = ShapedType::kDynamic;
  Type list = tensorOf({any}, builder().getI32Type()), table = tensorOf({any, any}, builder().getI32Type());
  beginEntry("encode",
             {{"cache", cacheType, {"blocks"}},
              {"input_ids", list, {"tokens"}, facts.readVocabulary()},
              {"row_begin", list, {"rows+1"}},
              {"past", list, {"rows"}},
              {"source_table", table, {"rows", "source_blocks"}}},
             {{"cache", cacheType, {}},
              {"encoder_last_hidden_state", tensorOf({any, facts.hidden}, builder().getF32Type()), {"tokens"}}});
  ofSource = {argument(2), argument(3), argument(4)};
}

void EncoderDecoderModule::beginEncodeOfFeatures() {
  const int64_t any = ShapedType::kDynamic;
  Type list = tensorOf({any}, builder().getI32Type()), table = tensorOf({any, any}, builder().getI32Type());
  auto features = tensorOf({any, facts.featureChannels, facts.featureFrames}, builder().getF32Type());
  auto hidden = tensorOf({any, facts.longestSource(), facts.hidden}, builder().getF32Type());
  beginEntry("encode",
             {{"cache", cacheType, {"blocks"}},
              {"input_features", features, {"rows"}},
              {"past", list, {"rows"}},
              {"source_table", table, {"rows", "source_blocks"}}},
             {{"cache", cacheType, {}}, {"encoder_last_hidden_state", hidden, {"rows"}}});
  Location loc = module.entry().getLoc();
  Value rows = tensor::DimOp::create(builder(), loc, input(), 0);
  Value length = arith::ConstantIndexOp::create(builder(), loc, facts.longestSource());
  ofSource = {attn::EqualRowsOp::create(builder(), loc, cast<RankedTensorType>(list), rows, length), argument(2),
              argument(3)};
}

void EncoderDecoderModule::endEncode(Value cache, Value hidden) {
  if (readsFeatures()) {
    Location loc = module.entry().getLoc();
    SmallVector<OpFoldResult> sizes = {tensor::getMixedSize(builder(), loc, input(), 0),
                                       builder().getIndexAttr(facts.longestSource()),
                                       builder().getIndexAttr(facts.hidden)};
    auto type = cast<RankedTensorType>(module.entry().getResultTypes()[1]);
    hidden =
        tensor::ExpandShapeOp::create(builder(), loc, type, hidden, ArrayRef<ReassociationIndices>{{0, 1}, {2}}, sizes);
  }
  module.endEntry({cache, hidden});
}

void EncoderDecoderModule::beginStep() {
  int64_t any = ShapedType::kDynamic;
  Type list = tensorOf({any}, builder().getI32Type()), table = tensorOf({any, any}, builder().getI32Type());
  beginEntry(
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
