//===- EncoderDecoderBuilder.cpp - The module of an encoder-decoder ------------===//
#include "lib/Import/Module/ModelConfig.h"
#include "lib/Import/Parts/LayerBuilder.h"
#include "lib/Import/Parts/RelativePositions.h"
#include "lib/Import/Specs/EncoderDecoderSpec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

Walk walkOf(const Walk &walk, const SideSpec &side) { return walk.inside(side.prefix, side.name + "."); }

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

/// x [tokens, width] with zeros in the rows of tokens that are `padding`.
Value clearPadding(OpBuilder &builder, Location loc, Value x, Value ids, int64_t padding) {
  auto type = cast<RankedTensorType>(x.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type, tensor::DimOp::create(builder, loc, x, 0).getResult());
  AffineMap whole = builder.getMultiDimIdentityMap(2),
            row = AffineMap::get(2, 0, {builder.getAffineDimExpr(0)}, builder.getContext());
  AffineMap maps[] = {whole, row, whole};
  Value inputs[] = {x, ids};
  const SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, empty, maps, loops,
             [&](OpBuilder &b, Location at, ValueRange elements) {
               Value id = arith::ConstantOp::create(b, at, b.getI32IntegerAttr(int32_t(padding)));
               Value isPadding = arith::CmpIOp::create(b, at, arith::CmpIPredicate::eq, elements[1], id);
               Value zero = arith::ConstantOp::create(b, at, b.getZeroAttr(elements[0].getType()));
               linalg::YieldOp::create(b, at, arith::SelectOp::create(b, at, isPadding, zero, elements[0]).getResult());
             })
      .getResult(0);
}

/// Sinusoids [tokens, width] of ids. A target's positions count all tokens, as they do where it is written token by
/// token.
Value buildSinusoids(OpBuilder &builder, Location loc, RankedTensorType type, const PositionSpec &spec, Value ids,
                     Value rowBegin, Value past) {
  const bool countsOthers = spec.padding && !past;
  Value positions =
      attn::PositionsOp::create(builder, loc, ids.getType(), ids, rowBegin, past,
                                countsOthers ? builder.getI32IntegerAttr(int32_t(*spec.padding)) : IntegerAttr());
  const int64_t first = spec.first - (countsOthers ? 1 : 0); // those that are counted begin at 1
  Value x = attn::SinusoidsOp::create(builder, loc, type, positions, spec.frequencies,
                                      spec.kind == PositionSpec::HalvesOfSinusoids,
                                      first ? builder.getI64IntegerAttr(first) : IntegerAttr());
  return spec.padding ? clearPadding(builder, loc, x, ids, *spec.padding) : x;
}

/// Embeddings with positions. The past is null where rows begin at position 0.
Value walkWords(const Walk &walk, const EncoderDecoderSpec &spec, const SideSpec &side, const Inputs &inputs) {
  const Walk own = walkOf(walk, side);
  Value embedding = walk.emit([&](const Scope &top) {
    attn::EmbeddingOp embedding = embed(top, inputs.tokens, side.table);
    if (spec.embeddingScale != 1)
      embedding.setScaleAttr(top.builder.getF32FloatAttr(float(spec.embeddingScale)));
    return embedding;
  });
  const PositionSpec &p = side.positions;
  if (p.kind == PositionSpec::None)
    return embedding;
  const std::string part = p.kind == PositionSpec::Learned ? p.table : "positions";
  Value added;
  if (p.kind == PositionSpec::Learned) {
    Value positions = own.emit([&](const Scope &scope) {
      return attn::PositionsOp::create(scope.builder, scope.at(part), inputs.tokens, inputs.rows.rowBegin,
                                       inputs.rows.past);
    });
    added = own.embed(positions, p.table, spec.positions + p.first, side.width, p.first);
  } else {
    added = own.emit([&](const Scope &scope) {
      return buildSinusoids(scope.builder, scope.at(part), cast<RankedTensorType>(embedding.getType()), p,
                            inputs.tokens, inputs.rows.rowBegin, inputs.rows.past);
    });
  }
  return own.add(embedding, added, part);
}

/// Features as positions, [tokens, width], with the learned vector of each.
Value walkSound(const Walk &walk, const EncoderDecoderSpec &spec, Value features) {
  const SideSpec &side = spec.encoder;
  const Walk own = walkOf(walk, side);
  Value x = walkFeatures(own, *spec.features, side.width, features);
  own.declare([&](const ParameterScope &weights) {
    addEmbedding(weights, side.positions.table, spec.features->positions + side.positions.first, side.width,
                 side.positions.first);
  });
  return own.emit([&](const Scope &scope) {
    OpBuilder &builder = scope.builder;
    Location loc = scope.at(side.positions.table);
    auto noneType = RankedTensorType::get({0, side.width}, builder.getF32Type());
    Value none = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(noneType, ArrayRef<float>()));
    return attn::ImageTokensOp::create(builder, loc, x.getType(), x, /*learned=*/none,
                                       scope.weight(side.positions.table));
  });
}

/// The layers of a side behind its embedding x. `body` computes one.
Expected<SmallVector<Value>> walkSide(const Walk &walk, const SideSpec &side, WalkedLayers layers, Value x,
                                      WalkLayer body) {
  const Walk own = walkOf(walk, side);
  layers.state.insert(layers.state.begin(), own.norm(x, side.embeddingNorm, side.norm, side.width));
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
  Value x = spec.features ? walkSound(walk, spec, inputs.tokens) : walkWords(walk, spec, side, inputs);
  auto body = [&](const Walk &layer, ValueRange state, ValueRange shared) -> SmallVector<Value> {
    auto attend = [&](const Scope &scope, Location loc, std::array<Value, 3> queryKeyValue, Value scale,
                      std::optional<int64_t>) -> Attended {
      Value table = biasTable(scope, side);
      attn::AttentionOp op = rowAttention(scope, loc, queryKeyValue, scale, shared[0]);
      addBias(scope, side, /*isDecoder=*/false, op, table);
      return {op.getResult(), op};
    };
    return {walkLayer(layer, side, state[0], /*rotation=*/{}, attend)};
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
  Value x = walkLayer(layer, side, state[0], /*rotation=*/{}, attend, attendSource);
  return {x, cache};
}

/// Logits of the wanted tokens, from what the last layer gives of all.
Value walkHead(const Walk &walk, const EncoderDecoderSpec &spec, Value x, Value want) {
  const SideSpec &side = spec.decoder;
  const Walk own = walkOf(walk, side);
  const int64_t words = spec.vocabularies.target;
  x = (side.finalNorm.empty() ? walk : own).emit([&](const Scope &scope) {
    Location loc = scope.at(side.finalNorm.empty() ? spec.head : side.finalNorm);
    return attn::SelectRowsOp::create(scope.builder, loc, x.getType(), x, want);
  });
  x = own.norm(x, side.finalNorm, side.norm, side.width);
  walk.declare([&](const ParameterScope &weights) {
    weights.parameters.addHead(spec.head, spec.headTensor, {words, side.width}, Init::weight(side.width), spec.isTied,
                               side.table);
    if (!spec.headBias.empty())
      weights.parameters.addTransformed(spec.head + ".bias",
                                        {spec.headBias,
                                         spec.isBiasMatrix ? std::vector<int64_t>{1, words} : std::vector{words},
                                         {artifact::Reshape{{words}}}},
                                        Init::bias());
  });
  return walk.emit([&](const Scope &top) {
    Value bias = spec.headBias.empty() ? Value() : top.weight(spec.head + ".bias");
    Value logits = project(top, x, top.weight(top.parameters.head()), spec.head, bias);
    if (spec.headScale != 1)
      mapResult(top, logits, [&](const Scope &inner, Location loc, Value logit) -> Value {
        return arith::MulFOp::create(inner.builder, loc, logit, constant(inner, loc, spec.headScale));
      });
    return logits;
  });
}

/// The cache and the logits of the wanted tokens.
Expected<std::pair<Value, Value>> walkStep(const Walk &walk, const EncoderDecoderSpec &spec, const Inputs &inputs) {
  const SideSpec &side = spec.decoder;
  const Rows &rows = inputs.rows;
  Value x = walkWords(walk, spec, side, inputs);
  WalkedLayers layers{.state = {inputs.cache},
                      .shared = {rows.rowBegin, rows.past, rows.table, inputs.sources.length, inputs.sources.table},
                      .adapters = inputs.adapters};
  RAPT_ASSIGN_OR_RETURN(SmallVector<Value> last, walkSide(walk, side, std::move(layers), x,
                                                          [&](const Walk &layer, ValueRange state, ValueRange shared) {
                                                            return walkDecoderLayer(layer, side, state, shared);
                                                          }));
  return std::pair(last[1], walkHead(walk, spec, last[0], inputs.want));
}

void declareAll(const Walk &walk, const EncoderDecoderSpec &spec) {
  walk.declare([&](const ParameterScope &weights) {
    for (const TableSpec &table : spec.tables)
      weights.parameters.add(table.symbol, table.tensor, {table.rows, spec.decoder.width}, Init::embedding());
  });
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

  RAPT_ASSIGN_OR_RETURN(ParameterSet parameters, findWeights(model, /*prefix=*/"", spec.ignoredTensors,
                                                             [&](const Walk &walk) { declareAll(walk, spec); }));
  ModelFacts facts = factsOf(model, spec.decoder);
  facts.task = spec.features ? "automatic-speech-recognition" : "text2text-generation";
  facts.vocabulary = spec.vocabularies.target;
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
