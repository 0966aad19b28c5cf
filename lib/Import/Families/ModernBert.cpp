//===- ModernBert.cpp - The modernbert family --------------------------===//
//
// Warner et al. 2024, "Smarter, Better, Faster, Longer": pre-norm layers with gated
// feed-forward and rotary embedding, of which every third sees all tokens and the others
// a window of them.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Parts/Blocks.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Specs/EncoderSpec.h"

using namespace rapt;
using namespace rapt::importing;

static void setLayers(huggingface::ConfigReader &config, EncoderSpec &spec) {
  const bool hasNormBias = config.getBool("norm_bias", false);
  spec.norm = {.kind = NormSpec::Layer, .epsilon = config.getPositive("norm_eps", 1, 1e-5), .hasBias = hasNormBias};
  spec.layer = "layers.{layer}.";
  spec.attention.packing = Packing::Rows;
  spec.attention.packed = "attn.Wqkv";
  spec.attention.out = "attn.Wo";
  spec.attention.location = "attn";
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.feedForward.isGated = true;
  spec.feedForward.packed = "mlp.Wi";
  spec.feedForward.gate = "mlp.gate";
  spec.feedForward.up = "mlp.up";
  spec.feedForward.down = "mlp.Wo";
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = config.getBool("mlp_bias", false);
  spec.residual = {.beforeAttention = "attn_norm", .beforeFeedForward = "mlp_norm", .isFirstWithout = true};
}

/// Windows and tables of rotary embedding.
static void readPositions(huggingface::ModelDescription &model, const ImportOptions &options, EncoderSpec &spec) {
  huggingface::ConfigReader &config = model.config();
  const int64_t period = config.getInt("global_attn_every_n_layers", 1, 1 << 17, 3);
  // Keys on both sides.
  const int64_t window = config.getInt("local_attention", 1, 1 << 30, 128) / 2;
  std::vector<bool> windowed(spec.layers);
  for (int64_t layer = 0; layer < spec.layers; ++layer)
    windowed[layer] = layer % period != 0;
  windowed = readLayerTypes(config, spec.layers).value_or(windowed);
  setWindows(spec, spec.positions, windowed, window);
  const std::array<RotaryKeys, 2> keys = {
      {{.theta = "global_rope_theta", .defaultTheta = 160000}, {.theta = "local_rope_theta", .defaultTheta = 10000}}};
  readRotaryByLayer({model, config, options}, spec, spec.positions, windowed, keys);
}

static void setHeads(huggingface::ConfigReader &config, EncoderSpec &spec) {
  const TransformSpec transform = {
      .dense = "head.dense",
      .activation = activationNamed(config.getEnum("classifier_activation", activationNames(), "gelu")),
      .norm = "head.norm",
      .hasBias = config.getBool("classifier_bias", false)};
  spec.masked = {.path = "", .transform = transform, .bias = "decoder.bias", .weight = "decoder.weight"};
  if (!config.getBool("decoder_bias", true))
    config.fail("decoder_bias is false, which is not supported by the modernbert family");
  spec.tokens = {.transform = transform, .projection = "classifier"};
  spec.spans = {.transform = transform, .projection = "classifier"};
  spec.classifier = {.transform = transform, .isPooler = false};
  if (config.getEnum("classifier_pooling", {"cls", "mean"}, "cls") == "mean")
    spec.classifier.pooling = attn::PoolingKind::mean;
}

ImportedModule importing::importModernBert(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                           const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "ModernBert",
                                         .activation = "hidden_activation",
                                         .defaultLayers = 22,
                                         .defaultInner = 1152,
                                         .positions = 8192,
                                         .vocabulary = 50368});
  setLayers(config, spec);
  readPositions(model, options, spec);
  spec.prefix = "model.";
  spec.finalNorm = "final_norm";
  spec.embedding = {.words = "embeddings.tok_embeddings", .norm = "embeddings.norm"};
  setHeads(config, spec);
  spec.harmlessKeys = {"attention_dropout",
                       "embedding_dropout",
                       "mlp_dropout",
                       "classifier_dropout",
                       "deterministic_flash_attn",
                       "initializer_cutoff_factor",
                       "reference_compile",
                       "repad_logits_with_grad",
                       "sparse_pred_ignore_index",
                       "sparse_prediction",
                       "cls_token_id",
                       "sep_token_id",
                       "mask_token_id",
                       "gradient_checkpointing",
                       "position_embedding_type",
                       "layer_norm_eps",
                       "tokenizer_class"};
  spec.ignoredTensors = {"decoder.weight"};
  return importEncoder(context, model, options, std::move(spec));
}
