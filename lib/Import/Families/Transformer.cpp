//===- Transformer.cpp - The transformer family --------------------------------===//
//
// Vaswani et al. 2017, "Attention is all you need": encoder and decoder of post-norm
// blocks, sinusoidal positions. torch.nn.Transformer's parameter names and options,
// by a config.json of our own: docs/Transformer.md.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/EncoderDecoder.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/ParameterScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

struct Config {
  int64_t width, heads, encoderLayers, decoderLayers, inner, positions, startToken;
  Vocabularies vocabularies;
  double epsilon;
  attn::ActivationKind activation;
  bool normFirst, hasFinalNorm, isScaled, isShared, isTied, hasHeadBias;

  int64_t headDim() const { return width / heads; }
};

/// Keys that training or torch's own code read; no output depends on them.
constexpr std::initializer_list<std::string_view> harmlessKeys = {"batch_first", "dropout", "is_encoder_decoder"};

Config readConfig(huggingface::ConfigReader &reader) {
  Config config;
  config.width = reader.getSize("d_model", 1, 1 << 16, 512);
  config.heads = reader.getSize("nhead", 1, 1 << 12, 8);
  config.encoderLayers = reader.getSize("num_encoder_layers", 1, 1 << 17, 6);
  config.decoderLayers = reader.getSize("num_decoder_layers", 1, 1 << 17, 6);
  config.inner = reader.getSize("dim_feedforward", 1, 1 << 20, 2048);
  config.vocabularies = readVocabularies(reader);
  // Sinusoids end nowhere; this is the length that the model was trained with.
  config.positions = reader.getInt("n_positions", 1, 1 << 24, 512);
  config.epsilon = reader.getPositive("layer_norm_eps", 1, 1e-5);
  config.activation = activationNamed(reader.getEnum("activation", {"relu", "gelu"}, "relu"));
  config.normFirst = reader.getBool("norm_first", false);
  config.hasFinalNorm = reader.getBool("final_norm", true);
  config.isScaled = reader.getBool("scale_embedding", true);
  config.isShared = reader.getBool("share_embeddings", !config.vocabularies.areSeparate());
  config.isTied = reader.getBool("tie_word_embeddings", true);
  config.hasHeadBias = reader.getBool("generator_bias", !config.isTied);
  int64_t pad = reader.getInt("pad_token_id", 0, INT32_MAX, 0);
  config.startToken = reader.getInt("decoder_start_token_id", 0, INT32_MAX, pad);
  reader.requireMultiple("d_model", config.width, "nhead", config.heads);
  if (reader.errors())
    config.vocabularies.check(reader, config.startToken, config.isShared);
  return config;
}

Stack encoderOf(const Config &config) { return {config.encoderLayers, "encoder"}; }
Stack decoderOf(const Config &config) { return {config.decoderLayers, "decoder"}; }

/// The symbol of the table that the source's or the target's ids are looked up in.
std::string embeddingOf(const Config &config, bool isTarget) {
  return config.isShared ? "embedding" : isTarget ? "tgt_embedding" : "src_embedding";
}

/// The weights of one stack's layers; symbols are "encoder." or "decoder." and torch's names, "in_proj_weight" as
/// "in_proj.weight".
void addStack(ParameterSet &parameters, const Config &config, const Stack &stack, bool isDecoder) {
  int64_t width = config.width;
  std::string layer = stack.name + ".layers.{layer}.";
  ParameterScope scope{parameters, layer, stack.name + ".", stack};
  // Rows of the projections of query, key and value, which are one tensor.
  auto projection = [&](const std::string &part, const std::string &name, int64_t first, int64_t count) {
    std::string symbol = stack.name + "." + part + "." + name, tensor = layer + part + ".in_proj_";
    const artifact::Slice rows{0, first * width, (first + count) * width};
    parameters.addTransformed(symbol + ".weight", {tensor + "weight", {3 * width, width}, {rows}}, Init::weight(width),
                              stack);
    parameters.addTransformed(symbol + ".bias", {tensor + "bias", {3 * width}, {rows}}, Init::bias(), stack);
  };
  projection("self_attn", "in_proj", 0, 3);
  scope.dense("self_attn.out_proj", width, width);
  if (isDecoder) {
    projection("multihead_attn", "query", 0, 1);
    projection("multihead_attn", "key_value", 1, 2);
    scope.dense("multihead_attn.out_proj", width, width);
  }
  scope.dense("linear1", config.inner, width);
  scope.dense("linear2", width, config.inner);
  for (int number = 1; number <= (isDecoder ? 3 : 2); ++number)
    scope.layerNorm("norm" + std::to_string(number), width);
  if (config.hasFinalNorm)
    ParameterScope{parameters, ""}.layerNorm(stack.name + ".norm", width);
}

ParameterSet listParameters(const Config &config) {
  ParameterSet parameters;
  int64_t words = config.vocabularies.target;
  auto table = [&](const std::string &name, int64_t rows) {
    parameters.add(name, name + ".weight", {rows, config.width}, Init::embedding());
  };
  table(embeddingOf(config, /*isTarget=*/false), config.vocabularies.read());
  if (!config.isShared)
    table(embeddingOf(config, /*isTarget=*/true), words);
  addStack(parameters, config, encoderOf(config), /*isDecoder=*/false);
  addStack(parameters, config, decoderOf(config), /*isDecoder=*/true);
  if (!config.isTied)
    parameters.add("generator", "generator.weight", {words, config.width}, Init::weight(config.width));
  if (config.hasHeadBias)
    parameters.add("generator.bias", "generator.bias", {words}, Init::bias());
  return parameters;
}

/// 10000^(-2 floor(c / 2) / d_model) for each column c.
SmallVector<float> frequenciesOf(const Config &config) {
  SmallVector<float> frequencies;
  for (int64_t column = 0; column < config.width; ++column)
    frequencies.push_back(float(std::pow(10000.0, -double(column / 2 * 2) / double(config.width))));
  return frequencies;
}

/// Embeddings, times sqrt(d_model), and sinusoids. `past` is null where rows begin at position 0.
Value embed(const Scope &top, const Config &config, bool isTarget, Value ids, Value rowBegin, Value past) {
  OpBuilder &builder = top.builder;
  std::string name = embeddingOf(config, isTarget);
  attn::EmbeddingOp embedding = importing::embed(top, ids, name);
  if (config.isScaled)
    embedding.setScaleAttr(builder.getF32FloatAttr(float(std::sqrt(double(config.width)))));
  Location loc = top.at("positions");
  Value positions = attn::PositionsOp::create(builder, loc, ids, rowBegin, past);
  Value sinusoids = attn::SinusoidsOp::create(builder, loc, embedding.getType(), positions, frequenciesOf(config));
  return arith::AddFOp::create(builder, loc, embedding, sinusoids);
}

/// The sublayer of norm NAME around x: norm(x + f(x)), or x + f(norm(x)) where norms come first.
Value sublayer(const Scope &scope, const Config &config, Value x, const std::string &norm, StringRef last,
               function_ref<Value(Value)> f) {
  Value y = f(config.normFirst ? layerNorm(scope, x, norm, config.epsilon) : x);
  Value sum = arith::AddFOp::create(scope.builder, scope.at(last), x, y);
  return config.normFirst ? sum : layerNorm(scope, sum, norm, config.epsilon);
}

Value feedForwardSublayer(const Scope &scope, const Config &config, const std::string &side, Value x, int norm) {
  return sublayer(scope, config, x, side + "norm" + std::to_string(norm), side + "linear2", [&](Value y) -> Value {
    return feedForward(scope, y, side + "linear1", config.activation, side + "linear2");
  });
}

/// `count` projections of x by PART, as heads.
SmallVector<Value> projectHeads(const Scope &scope, const Config &config, Value x, const std::string &part, int count) {
  auto heads = tensorOf({ShapedType::kDynamic, config.heads, config.headDim()}, scope.builder.getF32Type());
  Value packed = dense(scope, x, part);
  return attn::SplitHeadsOp::create(scope.builder, scope.at(part), SmallVector<Type>(count, heads), packed)
      .getResults();
}

Value scaleOf(const Scope &scope, const Config &config, Location loc) {
  return constant(scope, loc, 1 / std::sqrt(double(config.headDim())));
}

Value buildEncoderBlock(const Scope &scope, const Config &config, Value x, Value rowBegin) {
  std::string side = "encoder.", part = side + "self_attn";
  x = sublayer(scope, config, x, side + "norm1", part + ".out_proj", [&](Value y) {
    Location loc = scope.at(part);
    SmallVector<Value> qkv = projectHeads(scope, config, y, part + ".in_proj", 3);
    Value mixed = rowAttention(scope, loc, {qkv[0], qkv[1], qkv[2]}, scaleOf(scope, config, loc), rowBegin).getResult();
    return dense(scope, mergeHeads(scope, loc, mixed), part + ".out_proj");
  });
  return feedForwardSublayer(scope, config, side, x, 2);
}

/// One block of the decoder: x and the cache to those after it.
SmallVector<Value> buildDecoderBlock(const Scope &scope, const Config &config, ValueRange state, const Rows &rows,
                                     const Sources &sources) {
  std::string side = "decoder.", own = side + "self_attn", cross = side + "multihead_attn";
  Value x = state[0], cache = state[1];
  x = sublayer(scope, config, x, side + "norm1", own + ".out_proj", [&](Value y) {
    Location loc = scope.at(own);
    SmallVector<Value> qkv = projectHeads(scope, config, y, own + ".in_proj", 3);
    auto [mixed, updated, attention] =
        causalAttention(scope, loc, {qkv[0], qkv[1], qkv[2]}, scaleOf(scope, config, loc), cache, rows);
    cache = updated;
    return dense(scope, mergeHeads(scope, loc, mixed), own + ".out_proj");
  });
  x = sublayer(scope, config, x, side + "norm2", cross + ".out_proj", [&](Value y) {
    Location loc = scope.at(cross);
    Value query = projectHeads(scope, config, y, cross + ".query", 1)[0];
    Value mixed = crossAttention(scope, loc, query, scaleOf(scope, config, loc), cache, rows.rowBegin, sources);
    return dense(scope, mergeHeads(scope, loc, mixed), cross + ".out_proj");
  });
  return {feedForwardSublayer(scope, config, side, x, 3), cache};
}

/// The encoder, and keys and values of its output for every layer of the decoder.
Status buildEncode(EncoderDecoderModule &model, const Config &config, const ParameterSet &parameters) {
  model.beginEncode();
  OpBuilder &builder = model.builder();
  Scope top{builder, parameters};
  Rows rows = model.sourceRows();
  Value state[] = {embed(top, config, /*isTarget=*/false, model.inputIds(), rows.rowBegin, /*past=*/nullptr)};
  Value shared[] = {rows.rowBegin};
  Expected<SmallVector<Value>> last = buildLayerStack(
      builder, model.entry(), parameters, {.stack = encoderOf(config), .state = state, .shared = shared},
      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) -> SmallVector<Value> {
        return {buildEncoderBlock(Scope{inner, parameters, {}, &layer}, config, carried[0], others[0])};
      });
  if (!last)
    return last.error();
  Value hidden = config.hasFinalNorm ? layerNorm(top, (*last)[0], "encoder.norm", config.epsilon) : (*last)[0];

  return model.endEncode(
      parameters, decoderOf(config), hidden, "decoder.multihead_attn", [&](const Scope &scope, Value x) {
        SmallVector<Value> heads = projectHeads(scope, config, x, "decoder.multihead_attn.key_value", 2);
        return std::pair(heads[0], heads[1]);
      });
}

Expected<OwningOpRef<ModuleOp>> buildModel(EncoderDecoderModule &model, const Config &config,
                                           const ParameterSet &parameters) {
  if (Status status = buildEncode(model, config, parameters); !status)
    return status.error();
  model.beginStep();
  OpBuilder &builder = model.builder();
  Scope top{builder, parameters};
  Rows rows = model.rows();
  Sources sources = model.sources();
  Value state[] = {embed(top, config, /*isTarget=*/true, model.tokens(), rows.rowBegin, rows.past), model.cache()};
  Value shared[] = {rows.rowBegin, rows.past, rows.table, sources.length, sources.table};
  Expected<SmallVector<Value>> last = buildLayerStack(
      builder, model.entry(), parameters, {.stack = decoderOf(config), .state = state, .shared = shared},
      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) {
        return buildDecoderBlock(Scope{inner, parameters, {}, &layer}, config, carried,
                                 {others[0], others[1], others[2]}, {others[3], others[4]});
      });
  if (!last)
    return last.error();
  Value x = attn::SelectRowsOp::create(builder, top.at("generator"), state[0].getType(), (*last)[0], model.want());
  if (config.hasFinalNorm)
    x = layerNorm(top, x, "decoder.norm", config.epsilon);
  Value weight = top.weight(config.isTied ? embeddingOf(config, /*isTarget=*/true) : "generator");
  Value bias = config.hasHeadBias ? top.weight("generator.bias") : Value();
  return model.finish((*last)[1], project(top, x, weight, "generator", bias));
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importTransformer(MLIRContext &context, huggingface::ModelDescription &model,
                                                             const ImportOptions &options) {
  Config config = readConfig(model.config());
  Expected<std::vector<int64_t>> endTokens = readEndTokens(context, model, config.vocabularies.target, /*fallback=*/{});
  if (!endTokens)
    return endTokens.error();
  if (Status status = model.config().finish(harmlessKeys); !status)
    return status.error();

  ParameterSet parameters = listParameters(config);
  if (Status status = parameters.resolve(model, {}); !status)
    return status.error();

  ModelFacts facts{.family = "transformer",
                   .layers = config.decoderLayers,
                   .hidden = config.width,
                   .heads = config.heads,
                   .kvHeads = config.heads,
                   .headDim = config.headDim(),
                   .vocabulary = config.vocabularies.target,
                   .positions = options.maxSequenceLength ? options.maxSequenceLength : config.positions,
                   .endTokens = *endTokens,
                   .startToken = config.startToken,
                   .sourceVocabulary = config.vocabularies.source};
  EncoderDecoderModule module(context, facts, model, parameters, options);
  return buildModel(module, config, parameters);
}
