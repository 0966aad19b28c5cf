//===- GPT2.cpp - The gpt2 family ---------------------------------------------===//
//
// Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", as
// Hugging Face's GPT2LMHeadModel computes it: pre-norm blocks, learned absolute
// positions, and Conv1D weights, which are [in, out] as the dialect's are.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Blocks.h"
#include "lib/Import/Decoder.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/LayerStack.h"
#include "lib/Import/ParameterScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::importing;
using huggingface::Init;

namespace {

struct Config {
  int64_t width, layers, heads, inner, positions, vocabulary;
  double epsilon;
  attn::ActivationKind activation;
  bool scaled, scaledByLayer, tied;

  int64_t headDim() const { return width / heads; }
};

/// Keys that training, other heads or Hugging Face's own code read; no logit depends on them.
constexpr std::initializer_list<std::string_view> harmlessKeys = {
    "attn_pdrop",
    "embd_pdrop",
    "resid_pdrop",
    "initializer_range",
    "is_decoder", // as every gpt2 is
    "n_ctx",      // an old name of n_positions, never read
    "n_special",  // of the first conversion script
    "predict_special_tokens",
    "output_past",
    "use_cache",
    "gradient_checkpointing",
    "reorder_and_upcast_attn", // asks for scores in f32, as they always are here
    "summary_type",
    "summary_use_proj",
    "summary_activation",
    "summary_proj_to_labels",
    "summary_first_dropout",
};

Config readConfig(huggingface::ConfigReader &reader) {
  Config config;
  config.width = reader.getSize({"n_embd", "hidden_size"}, 1, 1 << 16, 768);
  config.layers = reader.getSize({"n_layer", "num_hidden_layers"}, 1, 1 << 17, 12);
  config.heads = reader.getSize({"n_head", "num_attention_heads"}, 1, 1 << 12, 12);
  config.inner = reader.getInt("n_inner", 1, 1 << 20, 4 * config.width);
  config.positions = reader.getSize({"n_positions", "max_position_embeddings"}, 1, 1 << 24, 1024);
  config.vocabulary = reader.getSize("vocab_size", 1, 1 << 24, 50257);
  config.epsilon = reader.getPositive("layer_norm_epsilon", 1, 1e-5);
  config.activation = activationNamed(reader.getEnum("activation_function", activationNames(), "gelu_new"));
  config.scaled = reader.getBool("scale_attn_weights", true);
  config.scaledByLayer = reader.getBool("scale_attn_by_inverse_layer_idx", false);
  config.tied = reader.getBool("tie_word_embeddings", true);
  reader.requireMultiple("n_embd", config.width, "n_head", config.heads);
  if (reader.getBool("add_cross_attention", false))
    reader.fail("add_cross_attention is true: cross-attention to an encoder is not supported by the gpt2 family");
  return config;
}

ParameterSet listParameters(const Config &config, const std::string &prefix) {
  ParameterSet parameters;
  int64_t width = config.width;
  parameters.add("wte", prefix + "wte.weight", {config.vocabulary, width}, Init::embedding());
  parameters.add("wpe", prefix + "wpe.weight", {config.positions, width}, Init::embedding());
  ParameterScope layer{parameters, prefix + "h.{layer}.", {}, Stack{config.layers}};
  layer.layerNorm("ln_1", width);
  layer.linear("attn.c_attn", width, 3 * width);
  layer.linear("attn.c_proj", width, width);
  layer.layerNorm("ln_2", width);
  layer.linear("mlp.c_fc", width, config.inner);
  layer.linear("mlp.c_proj", config.inner, width);
  ParameterScope{parameters, prefix}.layerNorm("ln_f", width);
  // The head never has the prefix: it belongs to the class around the transformer.
  parameters.addHead("lm_head", "lm_head.weight", {config.vocabulary, width}, Init::weight(width), config.tied, "wte");
  return parameters;
}

/// 1 / sqrt(head dim), and / (layer + 1) where the config asks for it.
Value buildScale(const Scope &scope, const Config &config, Location loc) {
  OpBuilder &builder = scope.builder;
  Value scale = constant(scope, loc, config.scaled ? 1 / std::sqrt(double(config.headDim())) : 1.0);
  if (!config.scaledByLayer)
    return scale;
  Value number = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), scope.layer->number);
  Value real = arith::SIToFPOp::create(builder, loc, builder.getF32Type(), number);
  Value divisor = arith::AddFOp::create(builder, loc, real, constant(scope, loc, 1));
  return arith::DivFOp::create(builder, loc, scale, divisor);
}

/// One block: x [tokens, width] and the cache to those after it.
SmallVector<Value> buildBlock(const Scope &scope, const Config &config, ValueRange state, ValueRange shared) {
  OpBuilder &builder = scope.builder;
  Value x = state[0], cache = state[1];
  Rows rows{shared[0], shared[1], shared[2]};
  Location loc = scope.at("attn");

  Value packed = linear(scope, layerNorm(scope, x, "ln_1", config.epsilon), "attn.c_attn");
  auto heads = RankedTensorType::get({ShapedType::kDynamic, config.heads, config.headDim()}, builder.getF32Type());
  auto split = attn::SplitHeadsOp::create(builder, loc, TypeRange{heads, heads, heads}, packed);
  auto [mixed, updated] = causalAttention(scope, loc, {split.getResult(0), split.getResult(1), split.getResult(2)},
                                          buildScale(scope, config, loc), cache, rows);
  Value merged = attn::MergeHeadsOp::create(builder, loc, x.getType(), mixed);
  x = arith::AddFOp::create(builder, scope.at("attn.c_proj"), x, linear(scope, merged, "attn.c_proj"));

  Value normed = layerNorm(scope, x, "ln_2", config.epsilon);
  Value narrow = feedForward(scope, normed, "mlp.c_fc", config.activation, "mlp.c_proj", linear);
  x = arith::AddFOp::create(builder, scope.at("mlp.c_proj"), x, narrow);
  return {x, updated};
}

/// The body of the entry, from tokens to logits.
Expected<OwningOpRef<ModuleOp>> buildModel(DecoderModule &decoder, const Config &config,
                                           const ParameterSet &parameters) {
  OpBuilder &builder = decoder.builder();
  Scope top{builder, parameters};
  Rows rows = decoder.rows();
  Value positions = attn::PositionsOp::create(builder, top.at("wpe"), decoder.tokens(), rows.rowBegin, rows.past);
  Value x = embed(top, decoder.tokens(), "wte");
  x = arith::AddFOp::create(builder, top.at("wpe"), x, embed(top, positions, "wpe"));

  Value state[] = {x, decoder.cache()}, shared[] = {rows.rowBegin, rows.past, rows.table};
  LayerStack stack{.stack = {config.layers}, .state = state, .shared = shared};
  Expected<SmallVector<Value>> last =
      buildLayerStack(builder, decoder.entry(), parameters, stack,
                      [&](OpBuilder &inner, const LayerRef &layer, ValueRange carried, ValueRange others) {
                        return buildBlock(Scope{inner, parameters, "h.{layer}.", &layer}, config, carried, others);
                      });
  if (!last)
    return last.error();

  Value wanted = attn::SelectRowsOp::create(builder, top.at("ln_f"), x.getType(), (*last)[0], decoder.want());
  Value normed = layerNorm(top, wanted, "ln_f", config.epsilon);
  Value head = top.weight(parameters.head());
  return decoder.finish((*last)[1], project(top, normed, head, "lm_head"));
}

} // namespace

Expected<OwningOpRef<ModuleOp>> importing::importGPT2(MLIRContext &context, huggingface::ModelDescription &model,
                                                      const ImportOptions &options) {
  Config config = readConfig(model.config());
  // GPT2Config's own default ends a text where no file says so.
  Expected<std::vector<int64_t>> endTokens = readEndTokens(context, model, config.vocabulary, /*fallback=*/50256);
  if (!endTokens)
    return endTokens.error();
  if (Status status = model.config().finish(harmlessKeys); !status)
    return status.error();
  Expected<int64_t> positions = boundPositions(options, config.positions, "wpe.weight (n_positions)");
  if (!positions)
    return positions.error();

  std::string prefix = model.choosePrefix({"", "transformer."}, "wte.weight");
  ParameterSet parameters = listParameters(config, prefix);
  // Masks that old checkpoints store, and a head that is also the embedding.
  std::initializer_list<std::string_view> ignored = {"*.attn.bias", "*.attn.masked_bias", "lm_head.weight"};
  if (Status status = parameters.resolve(model, ignored); !status)
    return status.error();

  ModelFacts facts{.family = "gpt2",
                   .layers = config.layers,
                   .hidden = config.width,
                   .heads = config.heads,
                   .kvHeads = config.heads,
                   .headDim = config.headDim(),
                   .vocabulary = config.vocabulary,
                   .positions = *positions,
                   .endTokens = *endTokens};
  DecoderModule decoder(context, facts, model, parameters, options);
  return buildModel(decoder, config, parameters);
}
