//===- EncoderDecoderBuilder.cpp - The module of an encoder-decoder ------------===//
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/RelativePositions.h"
#include "lib/Import/Parts/Walk.h"
#include "lib/Import/Specs/EncoderDecoderSpec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

std::vector<float> importing::pairedFrequencies(int64_t width) {
  std::vector<float> frequencies;
  for (int64_t column = 0; column < width; ++column)
    frequencies.push_back(float(std::pow(10000.0, -double(column / 2 * 2) / double(width))));
  return frequencies;
}

namespace {

Stack stackOf(const SideSpec &side) { return {side.layers, side.name}; }

std::string symbolsOf(const SideSpec &side) { return side.name + "."; }

void addSide(ParameterSet &parameters, const SideSpec &side, int64_t positions,
             const FeaturesSpec *features = nullptr) {
  ParameterScope top{parameters, side.prefix, symbolsOf(side)};
  if (features)
    addFeatures(top, *features, side.width);
  const PositionSpec &p = side.positions;
  if (p.kind == PositionSpec::Learned)
    parameters.addTransformed(top.symbols + p.table,
                              {top.tensors + p.table + ".weight",
                               {positions + p.first, side.width},
                               {artifact::Slice{0, p.first, positions + p.first}}},
                              Init::embedding());
  addNorm(top, side.embeddingNorm, side.norm, side.width);
  ParameterScope layer{parameters, side.prefix + side.layer, symbolsOf(side), stackOf(side)};
  if (const std::optional<RelativeBiasSpec> &bias = side.bias)
    parameters.addTable(top.symbols + "relative_attention_bias",
                        (bias->isOfLayer ? layer.tensors : top.tensors) + bias->table + ".weight",
                        {bias->buckets, side.attention.heads}, Init::embedding(),
                        bias->isOfLayer ? layer.stack : std::nullopt);
  addLayers(side, layer);
  addNorm(top, side.finalNorm, side.norm, side.width);
}

ParameterSet listParameters(const EncoderDecoderSpec &spec) {
  ParameterSet parameters;
  const int64_t width = spec.decoder.width, words = spec.vocabularies.target;
  for (const TableSpec &table : spec.tables)
    parameters.add(table.symbol, table.tensor, {table.rows, width}, Init::embedding());
  const FeaturesSpec *features = spec.features ? &*spec.features : nullptr;
  addSide(parameters, spec.encoder, features ? features->positions : spec.positions, features);
  addSide(parameters, spec.decoder, spec.positions);
  parameters.addHead(spec.head, spec.headTensor, {words, width}, Init::weight(width), spec.isTied, spec.decoder.table);
  if (!spec.headBias.empty())
    parameters.addTransformed(spec.head + ".bias",
                              {spec.headBias,
                               spec.isBiasMatrix ? std::vector<int64_t>{1, words} : std::vector{words},
                               {artifact::Reshape{{words}}}},
                              Init::bias());
  return parameters;
}

/// Scopes of a side, of one of its layers where there is one.
Scope scopeOf(OpBuilder &builder, const ParameterSet &parameters, const SideSpec &side, const LayerRef *layer,
              const AdapterRows *adapters = nullptr) {
  return {builder, parameters, side.prefix + (layer ? side.layer : ""), layer, symbolsOf(side), adapters};
}

/// Embeddings with positions. `past` is null where rows begin at position 0.
Value buildEmbedding(OpBuilder &builder, const ParameterSet &parameters, const EncoderDecoderSpec &spec,
                     const SideSpec &side, Value ids, Value rowBegin, Value past) {
  attn::EmbeddingOp embedding = embed(Scope{builder, parameters}, ids, side.table);
  if (spec.embeddingScale != 1)
    embedding.setScaleAttr(builder.getF32FloatAttr(float(spec.embeddingScale)));
  Scope scope = scopeOf(builder, parameters, side, /*layer=*/nullptr);
  Value x = embedding;
  if (const PositionSpec &p = side.positions; p.kind != PositionSpec::None) {
    Location loc = scope.at(p.kind == PositionSpec::Learned ? p.table : "positions");
    Value positions = attn::PositionsOp::create(builder, loc, ids, rowBegin, past), added;
    if (p.kind == PositionSpec::Learned)
      added = embed(scope, positions, p.table);
    else
      added = attn::SinusoidsOp::create(builder, loc, embedding.getType(), positions, p.frequencies,
                                        p.kind == PositionSpec::HalvesOfSinusoids,
                                        p.first ? builder.getI64IntegerAttr(p.first) : IntegerAttr());
    x = arith::AddFOp::create(builder, loc, x, added);
  }
  return side.embeddingNorm.empty() ? x : normalize(scope, x, side.embeddingNorm, side.norm);
}

/// Features as positions, [tokens, width], with the learned vector of each.
Value buildSound(OpBuilder &builder, const ParameterSet &parameters, const EncoderDecoderSpec &spec, Value features) {
  const SideSpec &side = spec.encoder;
  Scope scope = scopeOf(builder, parameters, side, /*layer=*/nullptr);
  Value x = buildFeatures(scope, *spec.features, features);
  Location loc = scope.at(side.positions.table);
  auto noneType = RankedTensorType::get({0, side.width}, builder.getF32Type());
  Value none = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(noneType, ArrayRef<float>()));
  return attn::ImageTokensOp::create(builder, loc, x.getType(), x, /*learned=*/none,
                                     scope.weight(side.positions.table));
}

/// The table of the side's biases; null: there are none.
Value biasTable(const Scope &scope, const SideSpec &side) {
  return side.bias ? scope.weight("relative_attention_bias") : Value();
}

void addBias(const Scope &scope, const SideSpec &side, bool isDecoder, attn::AttentionOp op, Value table) {
  if (side.bias)
    addRelativeBias(scope, {side.bias->buckets, side.bias->maxDistance, isDecoder}, op, table);
}

/// The encoder, and keys and values of its output for every layer of the decoder.
Status buildEncode(EncoderDecoderModule &model, const EncoderDecoderSpec &spec, const ParameterSet &parameters) {
  model.beginEncode();
  OpBuilder &builder = model.builder();
  const Rows &rows = model.sourceRows();
  const SideSpec &side = spec.encoder, &decoder = spec.decoder;
  Value state[] = {
      spec.features ? buildSound(builder, parameters, spec, model.input())
                    : buildEmbedding(builder, parameters, spec, side, model.input(), rows.rowBegin, /*past=*/nullptr)};
  SmallVector<Value> shared{rows.rowBegin};
  const std::optional<AdapterRows> ofTokens = model.adapters();
  addAdapters(ofTokens, shared);
  auto body = [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried,
                  ValueRange others) -> SmallVector<Value> {
    ValueRange behind = others.drop_front();
    const std::optional<AdapterRows> adapters = takeAdapters(bool(ofTokens), behind);
    Scope scope = scopeOf(inner, parameters, side, &layer, adapters ? &*adapters : nullptr);
    auto mix = [&](Location loc, std::array<Value, 3> queryKeyValue, Value scale, std::optional<int64_t>) -> Mixed {
      Value table = biasTable(scope, side);
      attn::AttentionOp op = rowAttention(scope, loc, queryKeyValue, scale, others[0]);
      addBias(scope, side, /*isDecoder=*/false, op, table);
      return {op.getResult(), op};
    };
    return {buildLayer(scope, side, carried[0], /*rotation=*/{}, mix)};
  };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last,
                        buildLayerStack(builder, model.entry(), parameters,
                                        {.stack = stackOf(side), .state = state, .shared = shared}, body));
  Value hidden = last[0];
  if (!side.finalNorm.empty())
    hidden = normalize(scopeOf(builder, parameters, side, /*layer=*/nullptr), hidden, side.finalNorm, side.norm);
  const std::string part = decoder.prefix + decoder.layer + decoder.cross->location;
  return model.endEncode(parameters, stackOf(decoder), hidden, part, [&](const Scope &scope, Value source) {
    return projectSource(scopeOf(scope.builder, parameters, decoder, scope.layer, scope.adapters), decoder, source);
  });
}

/// One layer of the decoder: x and the cache to those after it.
SmallVector<Value> buildDecoderLayer(const Scope &scope, const SideSpec &side, ValueRange state, const Rows &rows,
                                     const Sources &sources) {
  Value cache = state[1];
  auto mix = [&](Location loc, std::array<Value, 3> queryKeyValue, Value scale, std::optional<int64_t>) -> Mixed {
    Value table = biasTable(scope, side);
    CausalAttention attention = causalAttention(scope, loc, queryKeyValue, scale, cache, rows);
    cache = attention.cache;
    addBias(scope, side, /*isDecoder=*/true, attention.op, table);
    return {attention.result, attention.op};
  };
  auto crossMix = [&](Location loc, Value query, Value scale) {
    return crossAttention(scope, loc, query, scale, cache, rows.rowBegin, sources);
  };
  Value x = buildLayer(scope, side, state[0], /*rotation=*/{}, mix, crossMix);
  return {x, cache};
}

/// Logits of the wanted tokens, from what the last layer gives of all.
Value buildHead(OpBuilder &builder, const EncoderDecoderSpec &spec, const ParameterSet &parameters, Value x,
                Value want) {
  const SideSpec &side = spec.decoder;
  Scope top{builder, parameters}, scope = scopeOf(builder, parameters, side, /*layer=*/nullptr);
  x = attn::SelectRowsOp::create(builder, side.finalNorm.empty() ? top.at(spec.head) : scope.at(side.finalNorm),
                                 x.getType(), x, want);
  if (!side.finalNorm.empty())
    x = normalize(scope, x, side.finalNorm, side.norm);
  Value bias = spec.headBias.empty() ? Value() : top.weight(spec.head + ".bias");
  Value logits = project(top, x, top.weight(parameters.head()), spec.head, bias);
  if (spec.headScale != 1)
    mapResult(top, logits, [&](const Scope &inner, Location loc, Value logit) -> Value {
      return arith::MulFOp::create(inner.builder, loc, logit, constant(inner, loc, spec.headScale));
    });
  return logits;
}

Expected<OwningOpRef<ModuleOp>> buildModel(EncoderDecoderModule &model, const EncoderDecoderSpec &spec,
                                           const ParameterSet &parameters) {
  RAPT_RETURN_IF_ERROR(buildEncode(model, spec, parameters));
  model.beginStep();
  OpBuilder &builder = model.builder();
  Rows rows = model.rows();
  Sources sources = model.sources();
  const SideSpec &side = spec.decoder;
  Value state[] = {buildEmbedding(builder, parameters, spec, side, model.tokens(), rows.rowBegin, rows.past),
                   model.cache()};
  SmallVector<Value> shared{rows.rowBegin, rows.past, rows.table, sources.length, sources.table};
  const std::optional<AdapterRows> ofTokens = model.adapters();
  addAdapters(ofTokens, shared);
  auto body = [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) {
    ValueRange behind = others.drop_front(5);
    const std::optional<AdapterRows> adapters = takeAdapters(bool(ofTokens), behind);
    const Scope scope = scopeOf(inner, parameters, side, &layer, adapters ? &*adapters : nullptr);
    return buildDecoderLayer(scope, side, carried, {others[0], others[1], others[2]}, {others[3], others[4]});
  };
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last,
                        buildLayerStack(builder, model.entry(), parameters,
                                        {.stack = stackOf(side), .state = state, .shared = shared}, body));
  return model.finish(last[1], buildHead(builder, spec, parameters, last[0], model.want()));
}

} // namespace

ImportedModule importing::importEncoderDecoder(MLIRContext &context, huggingface::ModelDescription &model,
                                               const ImportOptions &options, const EncoderDecoderSpec &spec) {
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens,
                        readEndTokens(context, model, spec.vocabularies.target, spec.endToken));
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  RAPT_ASSIGN_OR_RETURN(int64_t positions, options.maxSequenceLength && !spec.isBounded
                                               ? Expected<int64_t>(options.maxSequenceLength)
                                               : boundPositions(options, spec.positions, spec.positionsKey));

  if (spec.features && spec.features->positions > INT32_MAX / options.maxBatch)
    return Error{model.path() + ": a batch of " + std::to_string(options.maxBatch) + " sources of " +
                 std::to_string(spec.features->positions) + " positions has more tokens than 32 bits can count"};

  ParameterSet parameters = listParameters(spec);
  RAPT_RETURN_IF_ERROR(parameters.resolve(model, spec.ignoredTensors));
  RAPT_RETURN_IF_ERROR(parameters.addAdapters(model));

  const SideSpec &decoder = spec.decoder;
  ModelFacts facts{.family = model.modelType(),
                   .layers = decoder.layers,
                   .hidden = decoder.width,
                   .heads = decoder.attention.heads,
                   .kvHeads = decoder.attention.kvHeads,
                   .headDim = decoder.attention.headDim,
                   .vocabulary = spec.vocabularies.target,
                   .positions = positions,
                   .endTokens = endTokens,
                   .startToken = spec.startToken,
                   .sourceVocabulary = spec.vocabularies.source,
                   .adapters = adapterNames(model)};
  if (spec.features)
    facts.readFeatures(spec.features->channels, spec.features->frames(), spec.features->positions);
  EncoderDecoderModule module(context, facts, model, parameters, options);
  return buildModel(module, spec, parameters);
}
