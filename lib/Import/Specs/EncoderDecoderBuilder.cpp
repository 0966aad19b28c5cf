//===- EncoderDecoderBuilder.cpp - The module of an encoder-decoder ------------===//
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/RelativePositions.h"
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

Stack stackOf(const SideSpec &side) { return {side.layers, side.stack}; }

Walk walkOf(const Walk &walk, const SideSpec &side) { return walk.inside(side.prefix, side.stack + "."); }

/// Arguments of an entry; null where weights are declared.
struct Inputs {
  Value tokens = {}; ///< or features
  Rows rows = {};
  Value cache = {};
  std::optional<AdapterRows> adapters = {};
  // Of a step.
  Sources sources = {};
  Value want = {};
};

/// The embedding of words.
Value walkText(const Walk &walk, const SideSpec &side, const Inputs &inputs) {
  const Walk own = walkOf(walk, side);
  const TextTokens tokens{inputs.tokens, inputs.rows.rowBegin, inputs.rows.past};
  Value words = walkWords(walk, side, tokens.ids), positions = walkPositions(own, side, tokens);
  return walkEmbedding(own, side, words, positions, tokens);
}

/// Features as positions, [tokens, width], with the learned vector of each.
Value walkSound(const Walk &walk, const EncoderDecoderSpec &spec, Value features) {
  const SideSpec &side = spec.encoder;
  const PositionSpec &positions = side.embedding.positions;
  const Walk own = walkOf(walk, side);
  Value x = walkFeatures(own, *spec.features, side.width, features);
  own.declare([&](const ParameterScope &weights) {
    addEmbedding(weights, positions.table, spec.features->positions + positions.first, side.width, positions.first);
  });
  return own.emit([&](const Scope &scope) {
    OpBuilder &builder = scope.builder;
    Location loc = scope.at(positions.table);
    auto noneType = RankedTensorType::get({0, side.width}, builder.getF32Type());
    Value none = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(noneType, ArrayRef<float>()));
    return attn::ImageTokensOp::create(builder, loc, x.getType(), x, /*learned=*/none, scope.weight(positions.table));
  });
}

/// The layers of a side behind its embedding x. `body` computes one.
Expected<SmallVector<Value>> walkSide(const Walk &walk, const SideSpec &side, WalkedLayers layers, Value x,
                                      WalkLayer body) {
  const Walk own = walkOf(walk, side);
  layers.state.insert(layers.state.begin(), x);
  layers.loop.stack = stackOf(side);
  layers.path = side.layer;
  if (const std::optional<RelativeBiasSpec> &bias = side.bias)
    own.declare([&](const ParameterScope &top) {
      top.parameters.addTable(top.symbols + "relative_attention_bias",
                              top.tensors + (bias->isOfLayer ? side.layer : "") + bias->table + ".weight",
                              {bias->buckets, side.attention.heads}, Init::embedding(),
                              bias->isOfLayer ? std::optional(stackOf(side)) : std::nullopt);
    });
  return walkLayers(own, layers, body);
}

/// The table of the side's biases; null: there are none.
Value biasTable(const Scope &scope, const SideSpec &side) {
  return side.bias ? scope.weight("relative_attention_bias") : Value();
}

void addBias(const Scope &scope, const SideSpec &side, bool isDecoder, attn::AttentionOp op, Value table) {
  if (side.bias)
    addRelativeBias(scope, {side.bias->buckets, side.bias->maxDistance, isDecoder}, op, table);
}

/// What the encoder makes of the source, [tokens, width].
Expected<Value> walkEncoder(const Walk &walk, const EncoderDecoderSpec &spec, const Inputs &inputs) {
  const SideSpec &side = spec.encoder;
  Value x = spec.features ? walkSound(walk, spec, inputs.tokens) : walkText(walk, side, inputs);
  auto body = [&](const Walk &layer, ValueRange state, ValueRange shared) -> SmallVector<Value> {
    auto attend = [&](const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue, Value scale,
                      std::optional<int64_t>) -> Attended {
      Value table = biasTable(scope, side);
      attn::AttentionOp op = rowAttention(scope, loc, queryKeyValue, scale, shared[0]);
      addBias(scope, side, /*isDecoder=*/false, op, table);
      return {op.getResult(), op};
    };
    return {walkLayer(layer, side, state[0], {.attend = attend})};
  };
  WalkedLayers layers{.shared = {inputs.rows.rowBegin}, .adapters = inputs.adapters};
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkSide(walk, side, std::move(layers), x, body));
  return walkOf(walk, side).norm(last[0], side.finalNorm, side.norm, side.width);
}

/// The cache with keys and values of a source for each of the decoder's layers, which declare their weights.
Expected<Value> appendSources(const Scope &top, const EncoderDecoderSpec &spec, const Inputs &inputs, Value hidden) {
  const SideSpec &side = spec.decoder;
  auto body = [&](const Walk &layer, ValueRange state, ValueRange shared) -> SmallVector<Value> {
    auto [key, value] = walkSource(layer, side, shared[0]);
    return {layer.emit([&](const Scope &scope) {
      return appendSource(scope, scope.at(side.cross->location), state[0], key, value,
                          {shared[1], shared[2], shared[3]});
    })};
  };
  const Rows &rows = inputs.rows;
  const WalkedLayers layers{.loop = {.stack = stackOf(side), .function = "source_block"},
                            .path = side.layer,
                            .state = {inputs.cache},
                            .shared = {hidden, rows.rowBegin, rows.past, rows.table},
                            .adapters = inputs.adapters};
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> filled, walkLayers(walkOf(Walk(top), side), layers, body));
  return filled[0];
}

/// One layer of the decoder: x and the cache to those after it.
SmallVector<Value> walkDecoderLayer(const Walk &layer, const SideSpec &side, ValueRange state, ValueRange shared) {
  const Rows rows{shared[0], shared[1], shared[2]};
  const Sources sources{shared[3], shared[4]};
  Value cache = state[1];
  auto attend = [&](const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue, Value scale,
                    std::optional<int64_t>) -> Attended {
    Value table = biasTable(scope, side);
    CausalAttention attention = causalAttention(scope, loc, queryKeyValue, scale, cache, rows);
    cache = attention.cache;
    addBias(scope, side, /*isDecoder=*/true, attention.op, table);
    return {attention.result, attention.op};
  };
  auto attendSource = [&](const Scope &scope, Location loc, Value query, Value scale) {
    return crossAttention(scope, loc, query, scale, cache, rows.rowBegin, sources);
  };
  Value x = walkLayer(layer, side, state[0], {.attend = attend, .attendSource = attendSource});
  return {x, cache};
}

/// The cache and the logits of the wanted tokens.
Expected<std::pair<Value, Value>> walkStep(const Walk &walk, const EncoderDecoderSpec &spec, const Inputs &inputs) {
  const SideSpec &side = spec.decoder;
  const Rows &rows = inputs.rows;
  Value x = walkText(walk, side, inputs);
  WalkedLayers layers{.state = {inputs.cache},
                      .shared = {rows.rowBegin, rows.past, rows.table, inputs.sources.length, inputs.sources.table},
                      .adapters = inputs.adapters};
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkSide(walk, side, std::move(layers), x,
                                                          [&](const Walk &layer, ValueRange state, ValueRange shared) {
                                                            return walkDecoderLayer(layer, side, state, shared);
                                                          }));
  return std::pair(last[1], walkHead(walkOf(walk, side), walk, side, spec.head, last[0], inputs.want));
}

void declareAll(const Walk &walk, const EncoderDecoderSpec &spec) {
  if (!spec.features)
    (void)walkWords(walk, spec.encoder, {});
  (void)walkWords(walk, spec.decoder, {}); // tables are ahead of both sides
  (void)walkEncoder(walk, spec, {});
  (void)walkStep(walk, spec, {});
}

Status buildEncode(EncoderDecoderModule &module, const EncoderDecoderSpec &spec) {
  module.beginEncode();
  Inputs inputs{module.input(), module.sourceRows(), module.argument(EntryRole::Cache), module.adapters()};
  Inputs ofEncoder = inputs;
  ofEncoder.rows.past = nullptr; // a source's positions begin with 0
  const Scope top = module.scope();
  RAPT_ASSIGN_OR_RETURN(Value hidden, walkEncoder(Walk(top), spec, ofEncoder));
  RAPT_ASSIGN_OR_RETURN(Value cache, appendSources(top, spec, inputs, hidden));
  module.endEncode(cache, hidden);
  return {};
}

Status buildStep(EncoderDecoderModule &module, const EncoderDecoderSpec &spec) {
  module.beginStep();
  const Inputs inputs{module.argument(EntryRole::Tokens),
                      module.rows(),
                      module.argument(EntryRole::Cache),
                      module.adapters(),
                      module.sources(),
                      module.argument(EntryRole::Want)};
  RAPT_ASSIGN_OR_RETURN(auto result, walkStep(Walk(module.scope()), spec, inputs));
  module.endStep(result.first, result.second);
  return {};
}

} // namespace

ImportedModule importing::importEncoderDecoder(MLIRContext &context, huggingface::ModelDescription &model,
                                               const ImportOptions &options, EncoderDecoderSpec spec) {
  const SideSpec &decoder = spec.decoder;
  spec.encoder.vocabulary = spec.vocabularies.read();
  spec.decoder.vocabulary = spec.vocabularies.target;
  RAPT_ASSIGN_OR_RETURN(std::vector<int64_t> endTokens,
                        readEndTokens(context, model, decoder.vocabulary, spec.endToken));
  RAPT_RETURN_IF_ERROR(model.config().finish(spec.harmlessKeys));
  RAPT_ASSIGN_OR_RETURN(int64_t positions, options.maxSequenceLength && !spec.isBounded
                                               ? Expected<int64_t>(options.maxSequenceLength)
                                               : boundPositions(options, decoder.positions, decoder.positionsKey));

  if (spec.features && spec.features->positions > INT32_MAX / options.maxBatch)
    return Error{model.path() + ": a batch of " + std::to_string(options.maxBatch) + " sources of " +
                 std::to_string(spec.features->positions) + " positions has more tokens than 32 bits can count"};

  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", spec.ignoredTensors,
                                                             [&](const Walk &walk) { declareAll(walk, spec); }));
  ModelFacts facts = factsOf(model, decoder);
  facts.task = spec.features ? "automatic-speech-recognition" : "text2text-generation";
  facts.vocabulary = decoder.vocabulary;
  facts.positions = positions;
  facts.endTokens = endTokens;
  facts.startToken = spec.startToken;
  facts.sourceVocabulary = spec.vocabularies.source;
  if (spec.features)
    facts.readFeatures(spec.features->channels, spec.features->frames(), spec.features->positions);
  EncoderDecoderModule module(context, facts, model, parameters, options);
  RAPT_RETURN_IF_ERROR(buildEncode(module, spec));
  RAPT_RETURN_IF_ERROR(buildStep(module, spec));
  return module.take();
}
