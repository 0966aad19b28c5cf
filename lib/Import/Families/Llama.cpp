//===- Llama.cpp - The llama, mistral and qwen2 families ----------------------===//
//
// Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models", as
// Hugging Face's LlamaForCausalLM computes it: pre-norm blocks with RMS norm, rotary
// embedding by halves of a head, grouped queries, a gated feed-forward. Mistral adds
// a window, Qwen2 biases of query, key and value, and windows of the later layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Blocks.h"
#include "lib/Import/Decoder.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Heads.h"
#include "lib/Import/LayerStack.h"
#include "lib/Import/ParameterScope.h"
#include "lib/Import/RotaryFrequencies.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

/// The differences between the families, and the defaults of their configuration classes.
struct Family {
  enum class Windows { None, Everywhere, ByLayer };
  enum class Biases { ByConfig, QueryKeyValue, None };
  std::string name, architecture; ///< "Llama" of LlamaForCausalLM
  int64_t inner, positions, vocabulary;
  std::optional<int64_t> kvHeads; ///< without num_key_value_heads; as many as queries' where there is none
  std::optional<int64_t> endToken;
  Windows windows;
  Biases biases;
};

struct Config {
  int64_t width, layers, heads, kvHeads, headDim, inner, positions, vocabulary;
  double epsilon;
  attn::ActivationKind activation;
  bool tied, hasQueryBias, hasOutputBias, hasInnerBias;
  RotaryFrequencies rotary;
  std::vector<std::optional<int64_t>> windows; ///< of each layer

  int64_t queryColumns() const { return heads * headDim; }
  int64_t keyColumns() const { return kvHeads * headDim; }
};

/// Keys that training or Hugging Face's own code read; no logit depends on them.
constexpr std::initializer_list<std::string_view> harmlessKeys = {
    "attention_dropout",
    "dual_chunk_attention_config", // of another engine
    "is_decoder",                  // as every model of these families is
    "is_llama_config",             // of checkpoints that nanotron trained
    "max_sequence_length",         // of the first conversions, never read
    "pretraining_tp",              // how the original's matmuls were split; the sums are the same
};

/// Whether layer_types gives each layer a window; nothing without the key.
std::optional<std::vector<bool>> readLayerTypes(huggingface::ConfigReader &reader, int64_t layers) {
  const json::Value *types = reader.getRaw("layer_types");
  if (!types)
    return std::nullopt;
  std::vector<bool> windowed(layers);
  const json::Array *list = types->asArray();
  if (!list || static_cast<int64_t>(list->size()) != layers) {
    reader.fail("layer_types must be a list of " + std::to_string(layers) + " names, one for each layer");
    return windowed;
  }
  for (auto [layer, type] : llvm::enumerate(*list)) {
    const std::string *name = type.asString();
    if (!name || (*name != "full_attention" && *name != "sliding_attention"))
      reader.fail("layer_types of layer " + std::to_string(layer) + " is " + json::printable(json::write(type), 60) +
                  ", must be full_attention or sliding_attention");
    windowed[layer] = name && *name == "sliding_attention";
  }
  return windowed;
}

/// The layers of qwen2 that have a window where it is used: by layer_types, or from max_window_layers on.
std::vector<bool> readWindowedLayers(huggingface::ConfigReader &reader, int64_t layers) {
  const int64_t first = reader.getInt("max_window_layers", 0, 1 << 20, 28);
  if (std::optional<std::vector<bool>> types = readLayerTypes(reader, layers))
    return *types;
  std::vector<bool> windowed(layers);
  for (int64_t layer = first; layer < layers; ++layer)
    windowed[layer] = true;
  return windowed;
}

void readWindows(huggingface::ConfigReader &reader, const Family &family, Config &config) {
  config.windows.resize(config.layers);
  if (family.windows == Family::Windows::None) {
    // Keys of relatives, which converted checkpoints keep.
    reader.getRaw("max_window_layers");
    if (std::optional<std::vector<bool>> types = readLayerTypes(reader, config.layers);
        types && llvm::is_contained(*types, true))
      reader.fail("layer_types has sliding_attention, but the " + family.name + " family has no windows");
    return;
  }
  constexpr const char *key = "sliding_window";
  std::optional<int64_t> window = reader.getOptionalInt(key, 1, int64_t(1) << 30);
  if (!window && !reader.names(key))
    window = 4096; // the classes' default; null is none
  std::vector<bool> windowed(config.layers, window.has_value());
  if (family.windows == Family::Windows::ByLayer) {
    bool used = reader.getBool("use_sliding_window", false);
    windowed = readWindowedLayers(reader, config.layers);
    if (reader.getRaw("layer_types") && llvm::is_contained(windowed, true) && !(used && window))
      reader.fail("layer_types has sliding_attention, but use_sliding_window is false or sliding_window is null");
    if (!used)
      window.reset();
  } else if (std::optional<std::vector<bool>> types = readLayerTypes(reader, config.layers);
             types && *types != windowed) {
    reader.fail(std::string("layer_types must be ") + (window ? "sliding_attention" : "full_attention") +
                " for every layer, as sliding_window is " + (window ? std::to_string(*window) : "null"));
  }
  // One that holds all positions is none.
  if (!window || *window >= config.positions)
    return;
  for (int64_t layer = 0; layer < config.layers; ++layer)
    if (windowed[layer])
      config.windows[layer] = window;
}

void readHeads(huggingface::ConfigReader &reader, const Family &family, Config &config) {
  constexpr const char *kvHeads = "num_key_value_heads";
  config.heads = reader.getSize("num_attention_heads", 1, 1 << 12, 32);
  std::optional<int64_t> groups = reader.getOptionalInt(kvHeads, 1, 1 << 12);
  if (!groups && !reader.names(kvHeads))
    groups = family.kvHeads;
  config.kvHeads = groups.value_or(config.heads);
  std::optional<int64_t> headDim = reader.getOptionalInt("head_dim", 1, 1 << 12);
  config.headDim = headDim.value_or(config.width / config.heads);
  if (!reader.errors())
    return;
  if (!headDim && config.width % config.heads != 0)
    reader.fail("hidden_size " + std::to_string(config.width) + " is not a multiple of num_attention_heads " +
                std::to_string(config.heads) + ", and there is no head_dim");
  if (config.heads % config.kvHeads != 0)
    reader.fail("num_attention_heads " + std::to_string(config.heads) + " is not a multiple of num_key_value_heads " +
                std::to_string(config.kvHeads));
}

Config readConfig(huggingface::ModelDescription &model, const Family &family, const ImportOptions &options) {
  huggingface::ConfigReader &reader = model.config();
  const std::string causal = family.architecture + "ForCausalLM", base = family.architecture + "Model";
  // A checkpoint of the transformer alone is a language model's with its head tied.
  const HeadName<bool> heads[] = {{causal, true}, {base, false}};
  readHead<bool>(model, heads, true);
  Config config;
  config.width = reader.getSize("hidden_size", 1, 1 << 16, 4096);
  config.layers = reader.getSize("num_hidden_layers", 1, 1 << 17, 32);
  config.inner = reader.getSize("intermediate_size", 1, 1 << 20, family.inner);
  config.positions = reader.getSize("max_position_embeddings", 1, 1 << 24, family.positions);
  config.vocabulary = reader.getSize("vocab_size", 1, 1 << 24, family.vocabulary);
  config.epsilon = reader.getPositive("rms_norm_eps", 1, 1e-6);
  config.activation = activationNamed(reader.getEnum("hidden_act", activationNames(), "silu"));
  config.tied = reader.getBool("tie_word_embeddings", false);
  bool byConfig = family.biases == Family::Biases::ByConfig;
  config.hasOutputBias = byConfig && reader.getBool("attention_bias", false);
  config.hasQueryBias = config.hasOutputBias || family.biases == Family::Biases::QueryKeyValue;
  config.hasInnerBias = byConfig && reader.getBool("mlp_bias", false);
  readHeads(reader, family, config);
  // Hugging Face's class ignores the key; a checkpoint that really has interleaved channels needs other code.
  if (reader.getBool("rope_interleaved", false))
    reader.fail("rope_interleaved is true: rotary embedding of neighboring channels is not supported by the " +
                family.name + " family");
  const int64_t longest = options.maxSequenceLength ? options.maxSequenceLength : config.positions;
  config.rotary = readRotaryFrequencies(reader, config.headDim, {config.positions, longest});
  readWindows(reader, family, config);
  return config;
}

ParameterSet listParameters(const Config &config, const std::string &prefix) {
  ParameterSet parameters;
  int64_t width = config.width;
  parameters.add("embed_tokens", prefix + "embed_tokens.weight", {config.vocabulary, width}, Init::embedding());
  ParameterScope layer{parameters, prefix + "layers.{layer}.", {}, Stack{config.layers}};
  layer.rmsNorm("input_layernorm", width);
  layer.dense("self_attn.q_proj", config.queryColumns(), width, config.hasQueryBias);
  layer.dense("self_attn.k_proj", config.keyColumns(), width, config.hasQueryBias);
  layer.dense("self_attn.v_proj", config.keyColumns(), width, config.hasQueryBias);
  layer.dense("self_attn.o_proj", width, config.queryColumns(), config.hasOutputBias);
  layer.rmsNorm("post_attention_layernorm", width);
  layer.dense("mlp.gate_proj", config.inner, width, config.hasInnerBias);
  layer.dense("mlp.up_proj", config.inner, width, config.hasInnerBias);
  layer.dense("mlp.down_proj", width, config.inner, config.hasInnerBias);
  ParameterScope{parameters, prefix}.rmsNorm("norm", width);
  // The head never has the prefix: it belongs to the class around the transformer.
  parameters.addHead("lm_head", "lm_head.weight", {config.vocabulary, width}, Init::weight(width), config.tied,
                     "embed_tokens");
  return parameters;
}

/// One block: x [tokens, width] and the cache to those after it. `shared` are the rows, cosines and sines.
SmallVector<Value> buildBlock(const Scope &scope, const Config &config, ValueRange state, ValueRange shared) {
  OpBuilder &builder = scope.builder;
  Value x = state[0], cache = state[1];
  Rows rows{shared[0], shared[1], shared[2]};

  Value normed = rmsNorm(scope, x, "input_layernorm", config.epsilon);
  auto heads = [&](StringRef part, int64_t count) {
    return splitHeads(scope, scope.at(part), dense(scope, normed, part), count);
  };
  auto rotated = [&](StringRef part, int64_t count) -> Value {
    return attn::RopeOp::create(builder, scope.at(part), heads(part, count), shared[3], shared[4],
                                /*interleaved=*/false, /*heads=*/nullptr);
  };
  Value query = rotated("self_attn.q_proj", config.heads), key = rotated("self_attn.k_proj", config.kvHeads);
  Value value = heads("self_attn.v_proj", config.kvHeads);
  Location loc = scope.at("self_attn");
  Value scale = constant(scope, loc, 1 / std::sqrt(double(config.headDim)));
  auto [mixed, updated] =
      causalAttention(scope, loc, {query, key, value}, scale, cache, rows, config.windows[scope.layer->example]);
  Value narrow = dense(scope, mergeHeads(scope, loc, mixed), "self_attn.o_proj");
  x = arith::AddFOp::create(builder, scope.at("self_attn.o_proj"), x, narrow);

  narrow = gatedFeedForward(scope, rmsNorm(scope, x, "post_attention_layernorm", config.epsilon), "mlp.gate_proj",
                            "mlp.up_proj", config.activation, "mlp.down_proj");
  x = arith::AddFOp::create(builder, scope.at("mlp.down_proj"), x, narrow);
  return {x, updated};
}

/// The body of the entry, from tokens to logits.
Expected<OwningOpRef<ModuleOp>> buildModel(DecoderModule &decoder, const Config &config,
                                           const ParameterSet &parameters) {
  OpBuilder &builder = decoder.builder();
  Scope top{builder, parameters};
  Rows rows = decoder.rows();
  Value x = embed(top, decoder.tokens(), "embed_tokens");
  Location rotary = top.at("rotary_emb");
  Value positions = attn::PositionsOp::create(builder, rotary, decoder.tokens(), rows.rowBegin, rows.past);
  auto pairs = RankedTensorType::get({ShapedType::kDynamic, config.headDim / 2}, builder.getF32Type());
  auto rotation = attn::RotaryTableOp::create(builder, rotary, pairs, pairs, positions, config.rotary.values,
                                              llvm::APFloat(config.rotary.magnitude));

  Value state[] = {x, decoder.cache()};
  Value shared[] = {rows.rowBegin, rows.past, rows.table, rotation.getCosines(), rotation.getSines()};
  LayerStack stack{.stack = {config.layers}, .state = state, .shared = shared};
  for (const std::optional<int64_t> &window : config.windows)
    stack.kinds.push_back(window.has_value());
  Expected<SmallVector<Value>> last =
      buildLayerStack(builder, decoder.entry(), parameters, stack,
                      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) {
                        return buildBlock(Scope{inner, parameters, "layers.{layer}.", &layer}, config, carried, others);
                      });
  if (!last)
    return last.error();

  Value wanted = attn::SelectRowsOp::create(builder, top.at("norm"), x.getType(), (*last)[0], decoder.want());
  Value normed = rmsNorm(top, wanted, "norm", config.epsilon);
  Value head = top.weight(parameters.head());
  return decoder.finish((*last)[1], project(top, normed, head, "lm_head"));
}

Expected<OwningOpRef<ModuleOp>> importFamily(MLIRContext &context, huggingface::ModelDescription &model,
                                             const ImportOptions &options, const Family &family) {
  Config config = readConfig(model, family, options);
  Expected<std::vector<int64_t>> endTokens = readEndTokens(context, model, config.vocabulary, family.endToken);
  if (!endTokens)
    return endTokens.error();
  if (Status status = model.config().finish(harmlessKeys); !status)
    return status.error();
  Expected<int64_t> positions = boundPositions(options, config.positions, "max_position_embeddings");
  if (!positions)
    return positions.error();

  std::string prefix = model.choosePrefix({"model.", ""}, "embed_tokens.weight");
  ParameterSet parameters = listParameters(config, prefix);
  // Frequencies that old checkpoints store, and a head that is also the embedding.
  std::initializer_list<std::string_view> ignored = {"*rotary_emb.inv_freq", "lm_head.weight"};
  if (Status status = parameters.resolve(model, ignored); !status)
    return status.error();

  ModelFacts facts{.family = family.name,
                   .layers = config.layers,
                   .hidden = config.width,
                   .heads = config.heads,
                   .kvHeads = config.kvHeads,
                   .headDim = config.headDim,
                   .vocabulary = config.vocabulary,
                   .positions = *positions,
                   .endTokens = *endTokens};
  DecoderModule decoder(context, facts, model, parameters, options);
  return buildModel(decoder, config, parameters);
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importLlama(MLIRContext &context, huggingface::ModelDescription &model,
                                                       const ImportOptions &options) {
  return importFamily(context, model, options,
                      {.name = "llama",
                       .architecture = "Llama",
                       .inner = 11008,
                       .positions = 2048,
                       .vocabulary = 32000,
                       .endToken = 2,
                       .windows = Family::Windows::None,
                       .biases = Family::Biases::ByConfig});
}

Expected<OwningOpRef<ModuleOp>> importing::importMistral(MLIRContext &context, huggingface::ModelDescription &model,
                                                         const ImportOptions &options) {
  return importFamily(context, model, options,
                      {.name = "mistral",
                       .architecture = "Mistral",
                       .inner = 14336,
                       .positions = 131072,
                       .vocabulary = 32000,
                       .kvHeads = 8,
                       .endToken = 2,
                       .windows = Family::Windows::Everywhere,
                       .biases = Family::Biases::None});
}

Expected<OwningOpRef<ModuleOp>> importing::importQwen2(MLIRContext &context, huggingface::ModelDescription &model,
                                                       const ImportOptions &options) {
  return importFamily(context, model, options,
                      {.name = "qwen2",
                       .architecture = "Qwen2",
                       .inner = 22016,
                       .positions = 32768,
                       .vocabulary = 151936,
                       .windows = Family::Windows::ByLayer,
                       .biases = Family::Biases::QueryKeyValue});
}
