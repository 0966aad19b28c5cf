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

/// What the table of roles leaves to an encoder-decoder.
static SequenceFacts sequenceFactsOf(MLIRContext &context, const ModelFacts &facts, const ImportOptions &options) {
  const bool readsFeatures = facts.featureFrames != 0;
  SequenceFacts all{.parts = part::Always | part::Paged | part::Source | (readsFeatures ? part::Features : part::Words),
                    .positions = facts.positions,
                    .longestSource = facts.longestSource()};
  all.buffers[EntryRole::Cache].layout = attn::KVCacheType::get(&context, facts.layers, facts.kvHeads, facts.headDim,
                                                                options.cacheBlock, Float32Type::get(&context));
  all.buffers[EntryRole::InputIds].limit = facts.readVocabulary();
  all.buffers[EntryRole::InputFeatures].numbers = {facts.featureChannels, facts.featureFrames};
  all.buffers[EntryRole::Hidden].numbers = {facts.hidden};
  if (readsFeatures)
    all.buffers[EntryRole::Hidden].numbers = {facts.longestSource(), facts.hidden};
  all.buffers[EntryRole::Logits].numbers = {facts.vocabulary};
  addAdapters(all, facts);
  return all;
}

EncoderDecoderModule::EncoderDecoderModule(MLIRContext &context, const ModelFacts &facts,
                                           const huggingface::ModelDescription &model, const ParameterSet &parameters,
                                           const ImportOptions &options)
    : module(context, facts, model, parameters), facts(facts),
      entries(context, &module, sequenceFactsOf(context, facts, options)) {
  entries.declareDims(options);
  module.declareParameters();
}

void EncoderDecoderModule::beginEncode() {
  entries.beginEncode();
  ofSource = {argument(EntryRole::RowBegin), argument(EntryRole::Past), argument(EntryRole::SourceTable)};
  if (!readsFeatures())
    return;
  Location loc = module.entry().getLoc();
  Value rows = tensor::DimOp::create(builder(), loc, input(), 0);
  Value length = arith::ConstantIndexOp::create(builder(), loc, facts.longestSource());
  auto offsets = tensorOf({ShapedType::kDynamic}, builder().getI32Type());
  ofSource.rowBegin = attn::EqualRowsOp::create(builder(), loc, offsets, rows, length);
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
  entries.end({{EntryRole::Cache, cache}, {EntryRole::Hidden, hidden}});
}

void EncoderDecoderModule::endStep(Value cache, Value logits) {
  entries.end({{EntryRole::Cache, cache}, {EntryRole::Logits, logits}});
}
