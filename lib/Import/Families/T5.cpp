//===- T5.cpp - The t5 and mt5 families ----------------------------------------===//
//
// Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified
// Text-to-Text Transformer", as Hugging Face's T5ForConditionalGeneration computes
// it, v1.0, v1.1 (flan) and mt5: pre-norm blocks with RMS norms, no biases, no
// scaling of scores, and a relative bias that the first block owns and all use.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/EncoderDecoder.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Heads.h"
#include "lib/Import/ParameterScope.h"
#include "lib/Import/RelativeBias.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <charconv>
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

struct Config {
  int64_t width, headDim, inner, encoderLayers, decoderLayers, heads, buckets, maxDistance, vocabulary, positions;
  int64_t startToken;
  double epsilon;
  attn::ActivationKind activation;
  bool gated, tied, scaled;
};

/// Keys that training or Hugging Face's own code read; no output depends on them.
constexpr std::initializer_list<std::string_view> harmlessKeys = {
    "classifier_dropout", "dropout_rate", "gradient_checkpointing", "initializer_factor", "is_encoder_decoder",
    "output_past",        "use_cache",
};

enum class Head { ConditionalGeneration };
constexpr HeadName<Head> heads[] = {{"T5ForConditionalGeneration", Head::ConditionalGeneration},
                                    {"MT5ForConditionalGeneration", Head::ConditionalGeneration},
                                    {"T5WithLMHeadModel", Head::ConditionalGeneration}};

/// Values of keys that a config.json leaves out: the defaults of T5Config and MT5Config.
struct Defaults {
  int64_t inner, layers, heads, vocabulary;
  const char *feedForward;
  bool tied;
};
constexpr Defaults t5Defaults{2048, 6, 8, 32128, "relu", true}, mt5Defaults{1024, 8, 6, 250112, "gated-gelu", false};

/// feed_forward_proj is an activation, or "gated-" and one; "gated-gelu" means the tanh approximation.
void readFeedForward(huggingface::ConfigReader &reader, Config &config, const char *otherwise) {
  std::vector<std::string> names;
  for (std::string_view name : activationNames())
    for (const char *gate : {"", "gated-"})
      names.push_back(gate + std::string(name));
  std::vector<std::string_view> allowed(names.begin(), names.end());
  std::string name = reader.getEnum("feed_forward_proj", allowed, otherwise);
  config.gated = StringRef(name).starts_with("gated-");
  std::string activation = config.gated ? name.substr(6) : name;
  config.activation = activationNamed(name == "gated-gelu" ? "gelu_new" : activation);
  if (activationNamed(reader.getEnum("dense_act_fn", activationNames(),
                                     name == "gated-gelu" ? "gelu_new" : activation)) != config.activation ||
      reader.getBool("is_gated_act", config.gated) != config.gated)
    reader.fail("feed_forward_proj \"" + name + "\" and dense_act_fn or is_gated_act disagree");
}

/// Whether the version of transformers that wrote the configuration is `major` or a later one.
bool writtenSince(huggingface::ConfigReader &reader, int major) {
  int version = 0;
  std::string text = reader.getString("transformers_version", "");
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version >= major;
}

Config readConfig(huggingface::ModelDescription &model) {
  huggingface::ConfigReader &reader = model.config();
  const Defaults &defaults = model.modelType() == "mt5" ? mt5Defaults : t5Defaults;
  Config config;
  config.width = reader.getSize({"d_model", "hidden_size"}, 1, 1 << 16, 512);
  config.headDim = reader.getSize({"d_kv", "head_dim"}, 1, 1 << 12, 64);
  config.inner = reader.getSize("d_ff", 1, 1 << 20, defaults.inner);
  config.encoderLayers = reader.getSize({"num_layers", "num_hidden_layers"}, 1, 1 << 17, defaults.layers);
  config.decoderLayers = reader.getInt("num_decoder_layers", 1, 1 << 17, config.encoderLayers);
  config.heads = reader.getSize({"num_heads", "num_attention_heads"}, 1, 1 << 12, defaults.heads);
  // Each side of the encoder's diagonal has half of the buckets, and half of these are exact.
  config.buckets = reader.getInt("relative_attention_num_buckets", 4, 256, 32);
  config.maxDistance = reader.getInt("relative_attention_max_distance", 1, 1 << 20, 128);
  config.vocabulary = reader.getSize("vocab_size", 1, 1 << 24, defaults.vocabulary);
  // Relative positions end nowhere; n_positions is the length that the model was trained with.
  config.positions = reader.getInt("n_positions", 1, 1 << 24, 512);
  config.epsilon = reader.getPositive("layer_norm_epsilon", 1, 1e-6);
  config.tied = reader.getBool("tie_word_embeddings", defaults.tied);
  // transformers scales the outputs of tied models of mt5 up to version 4, and writes `scale_decoder_outputs` for t5
  // from version 5 on.
  bool isScaled = config.tied && !(model.modelType() == "mt5" && writtenSince(reader, 5));
  config.scaled = reader.getBool("scale_decoder_outputs", isScaled);
  int64_t pad = reader.getInt("pad_token_id", 0, INT32_MAX, 0);
  config.startToken = reader.getInt("decoder_start_token_id", 0, INT32_MAX, pad);
  readFeedForward(reader, config, defaults.feedForward);
  readHead<Head>(model, heads, Head::ConditionalGeneration);
  if (reader.errors() && config.maxDistance <= config.buckets / 2)
    reader.fail("relative_attention_max_distance " + std::to_string(config.maxDistance) +
                " must be more than half of relative_attention_num_buckets " + std::to_string(config.buckets));
  if (reader.errors())
    Vocabularies{config.vocabulary}.check(reader, config.startToken, /*sharesTable=*/true);
  if (reader.errors() && config.width * config.heads * config.headDim > (int64_t(1) << 40))
    reader.fail("num_heads " + std::to_string(config.heads) + " of d_kv " + std::to_string(config.headDim) +
                " are too many for d_model " + std::to_string(config.width));
  return config;
}

/// One of the two stacks, as the checkpoint names it.
struct Side {
  Stack stack;
  bool isDecoder;
  /// "decoder." and the number of the part, whose names are symbols too.
  std::string part(int number, const std::string &name) const {
    return stack.name + ".layer." + std::to_string(number) + "." + name;
  }
  int feedForward() const { return isDecoder ? 2 : 1; }
  std::string bias() const { return stack.name + ".relative_attention_bias"; }
};

Side encoderOf(const Config &config) { return {{config.encoderLayers, "encoder"}, false}; }
Side decoderOf(const Config &config) { return {{config.decoderLayers, "decoder"}, true}; }

void addSide(ParameterSet &parameters, const Config &config, const Side &side) {
  int64_t width = config.width, inner = config.heads * config.headDim;
  auto scopeOf = [&](int number) {
    std::string part = "layer." + std::to_string(number) + ".", stack = side.stack.name + ".";
    return ParameterScope{parameters, stack + "block.{layer}." + part, stack + part, side.stack};
  };
  auto attention = [&](int number, const std::string &name) {
    ParameterScope scope = scopeOf(number);
    scope.add(name + ".q.weight", {inner, width}, Init::unscaledQuery(width, config.headDim));
    for (const char *part : {".k", ".v"})
      scope.dense(name + part, inner, width, /*hasBias=*/false);
    scope.dense(name + ".o", width, inner, /*hasBias=*/false);
    scope.rmsNorm("layer_norm", width);
  };
  attention(0, "SelfAttention");
  parameters.addTable(side.bias(), side.stack.name + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
                      {config.buckets, config.heads}, Init::embedding());
  if (side.isDecoder)
    attention(1, "EncDecAttention");
  ParameterScope last = scopeOf(side.feedForward());
  for (const char *part : {"wi_0", "wi_1"})
    if (config.gated)
      last.dense(std::string("DenseReluDense.") + part, config.inner, width, /*hasBias=*/false);
  if (!config.gated)
    last.dense("DenseReluDense.wi", config.inner, width, /*hasBias=*/false);
  last.dense("DenseReluDense.wo", width, config.inner, /*hasBias=*/false);
  last.rmsNorm("layer_norm", width);
  ParameterScope{parameters, ""}.rmsNorm(side.stack.name + ".final_layer_norm", width);
}

ParameterSet listParameters(const Config &config, const std::string &embedding) {
  ParameterSet parameters;
  parameters.add("shared", embedding, {config.vocabulary, config.width}, Init::embedding());
  addSide(parameters, config, encoderOf(config));
  addSide(parameters, config, decoderOf(config));
  parameters.addHead("lm_head", "lm_head.weight", {config.vocabulary, config.width}, Init::weight(config.width),
                     config.tied, "shared");
  return parameters;
}

/// DenseReluDense of the side's last part, with its norm and residual.
Value buildFeedForward(const Scope &scope, const Config &config, const Side &side, Value x) {
  std::string part = side.part(side.feedForward(), "DenseReluDense.");
  Value normed = rmsNorm(scope, x, side.part(side.feedForward(), "layer_norm"), config.epsilon);
  Value narrow = config.gated
                     ? gatedFeedForward(scope, normed, part + "wi_0", part + "wi_1", config.activation, part + "wo")
                     : feedForward(scope, normed, part + "wi", config.activation, part + "wo");
  return arith::AddFOp::create(scope.builder, scope.at(part + "wo"), x, narrow);
}

/// x + o(merged heads).
Value addAttended(const Scope &scope, Value x, Value mixed, const std::string &part) {
  Value merged = mergeHeads(scope, scope.at(part), mixed);
  return arith::AddFOp::create(scope.builder, scope.at(part + ".o"), x, dense(scope, merged, part + ".o"));
}

/// Heads of x times PART.q, .k or .v.
Value headsOf(const Scope &scope, const Config &config, Value x, const std::string &part) {
  return splitHeads(scope, scope.at(part), dense(scope, x, part), config.heads);
}

/// One block of the encoder. `table` is the stack's relative bias.
Value buildEncoderBlock(const Scope &scope, const Config &config, Value x, Value rowBegin, Value table) {
  Side side = encoderOf(config);
  std::string part = side.part(0, "SelfAttention");
  Location loc = scope.at(part);
  Value normed = rmsNorm(scope, x, side.part(0, "layer_norm"), config.epsilon);
  auto heads = [&](const char *name) { return headsOf(scope, config, normed, part + name); };
  std::array<Value, 3> queryKeyValue = {heads(".q"), heads(".k"), heads(".v")};
  attn::AttentionOp mixed = rowAttention(scope, loc, queryKeyValue, constant(scope, loc, 1), rowBegin);
  addRelativeBias(scope, {config.buckets, config.maxDistance}, mixed, table);
  return buildFeedForward(scope, config, side, addAttended(scope, x, mixed.getResult(), part));
}

/// One block of the decoder: x and the cache to those after it.
SmallVector<Value> buildDecoderBlock(const Scope &scope, const Config &config, ValueRange state, const Rows &rows,
                                     const Sources &sources, Value table) {
  Side side = decoderOf(config);
  std::string part = side.part(0, "SelfAttention"), cross = side.part(1, "EncDecAttention");
  Location loc = scope.at(part), crossLoc = scope.at(cross);
  Value x = state[0];
  Value normed = rmsNorm(scope, x, side.part(0, "layer_norm"), config.epsilon);
  auto heads = [&](const char *name) { return headsOf(scope, config, normed, part + name); };
  std::array<Value, 3> queryKeyValue = {heads(".q"), heads(".k"), heads(".v")};
  auto [mixed, cache, attention] = causalAttention(scope, loc, queryKeyValue, constant(scope, loc, 1), state[1], rows);
  addRelativeBias(scope, {config.buckets, config.maxDistance, /*isDecoder=*/true}, attention, table);
  x = addAttended(scope, x, mixed, part);

  Value query = headsOf(scope, config, rmsNorm(scope, x, side.part(1, "layer_norm"), config.epsilon), cross + ".q");
  Value seen = crossAttention(scope, crossLoc, query, constant(scope, crossLoc, 1), cache, rows.rowBegin, sources);
  x = addAttended(scope, x, seen, cross);
  return {buildFeedForward(scope, config, side, x), cache};
}

/// The encoder, and keys and values of its output for every layer of the decoder.
Status buildEncode(EncoderDecoderModule &model, const Config &config, const ParameterSet &parameters) {
  model.beginEncode();
  OpBuilder &builder = model.builder();
  Scope top{builder, parameters};
  Rows rows = model.sourceRows();
  Side encoder = encoderOf(config), decoder = decoderOf(config);
  Value state[] = {embed(top, model.inputIds(), "shared")}, shared[] = {rows.rowBegin};
  Expected<SmallVector<Value>> last = buildLayerStack(
      builder, model.entry(), parameters, {.stack = encoder.stack, .state = state, .shared = shared},
      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) -> SmallVector<Value> {
        Scope scope{inner, parameters, {}, &layer};
        Value table = parameters.read(inner, scope.at(encoder.bias()), encoder.bias(), /*layer=*/nullptr);
        return {buildEncoderBlock(scope, config, carried[0], others[0], table)};
      });
  if (!last)
    return last.error();
  Value hidden = rmsNorm(top, (*last)[0], "encoder.final_layer_norm", config.epsilon);

  std::string part = decoder.part(1, "EncDecAttention");
  return model.endEncode(parameters, decoder.stack, hidden, part, [&](const Scope &scope, Value x) {
    Value key = headsOf(scope, config, x, part + ".k");
    return std::pair(key, headsOf(scope, config, x, part + ".v"));
  });
}

/// d_model^-0.5 times the logits where the head is the embedding.
Value buildHead(const Scope &top, const Config &config, Value x) {
  Value logits = project(top, x, top.weight(top.parameters.head()), "lm_head");
  if (!config.scaled)
    return logits;
  mapResult(top, logits, [&](const Scope &scope, Location loc, Value logit) -> Value {
    return arith::MulFOp::create(scope.builder, loc, logit, constant(scope, loc, 1 / std::sqrt(double(config.width))));
  });
  return logits;
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
  Side decoder = decoderOf(config);
  Value state[] = {embed(top, model.tokens(), "shared"), model.cache()};
  Value shared[] = {rows.rowBegin, rows.past, rows.table, sources.length, sources.table};
  Expected<SmallVector<Value>> last =
      buildLayerStack(builder, model.entry(), parameters, {.stack = decoder.stack, .state = state, .shared = shared},
                      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) {
                        Scope scope{inner, parameters, {}, &layer};
                        Value table =
                            parameters.read(inner, scope.at(decoder.bias()), decoder.bias(), /*layer=*/nullptr);
                        return buildDecoderBlock(scope, config, carried, {others[0], others[1], others[2]},
                                                 {others[3], others[4]}, table);
                      });
  if (!last)
    return last.error();
  Value wanted = attn::SelectRowsOp::create(builder, top.at("decoder.final_layer_norm"), state[0].getType(), (*last)[0],
                                            model.want());
  Value normed = rmsNorm(top, wanted, "decoder.final_layer_norm", config.epsilon);
  return model.finish((*last)[1], buildHead(top, config, normed));
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importT5(MLIRContext &context, huggingface::ModelDescription &model,
                                                    const ImportOptions &options) {
  Config config = readConfig(model);
  Expected<std::vector<int64_t>> endTokens = readEndTokens(context, model, config.vocabulary, /*fallback=*/1);
  if (!endTokens)
    return endTokens.error();
  if (Status status = model.config().finish(harmlessKeys); !status)
    return status.error();

  bool hasShared = model.tensors().find("shared.weight") || !model.tensors().find("encoder.embed_tokens.weight");
  std::string embedding = hasShared ? "shared.weight" : "encoder.embed_tokens.weight";
  ParameterSet parameters = listParameters(config, embedding);
  // Copies of the embedding, and a table that the cross attention of old checkpoints has and does not use.
  std::initializer_list<std::string_view> ignored = {
      "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight",
      "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"};
  if (Status status = parameters.resolve(model, ignored); !status)
    return status.error();

  ModelFacts facts{.family = model.modelType(),
                   .layers = config.decoderLayers,
                   .hidden = config.width,
                   .heads = config.heads,
                   .kvHeads = config.heads,
                   .headDim = config.headDim,
                   .vocabulary = config.vocabulary,
                   .positions = options.maxSequenceLength ? options.maxSequenceLength : config.positions,
                   .endTokens = *endTokens,
                   .startToken = config.startToken};
  EncoderDecoderModule module(context, facts, model, parameters, options);
  return buildModel(module, config, parameters);
}
