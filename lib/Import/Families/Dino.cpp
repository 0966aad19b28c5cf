//===- Dino.cpp - The dinov2 and dinov3_vit families ---------------------===//
//
// Oquab et al. 2023, "DINOv2: Learning Robust Visual Features without Supervision": vit
// whose layers scale the columns of what attention and feed-forward give.
//
// Siméoni et al. 2025, "DINOv3": dinov2 with register tokens and rotary embedding by a
// patch's row and column in place of learned positions.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Parts/PatchGrid.h"
#include "lib/Import/Specs/VisionSpec.h"

using namespace rapt;
using namespace rapt::importing;

/// mlp_ratio times the width; of a gated feed-forward two thirds of it, rounded up to a multiple of 8.
static void readDinov2FeedForward(huggingface::ConfigReader &config, VisionSpec &spec) {
  const int64_t inner = spec.width * config.getInt("mlp_ratio", 1, 1 << 10, 4);
  FeedForwardSpec &feedForward = spec.feedForward;
  feedForward.inner = inner;
  feedForward.up = "mlp.fc1";
  feedForward.down = "mlp.fc2";
  if (!config.getBool("use_swiglu_ffn", false))
    return;
  feedForward = {.inner = (inner * 2 / 3 + 7) / 8 * 8,
                 .gate = "mlp.gate",
                 .up = "mlp.up",
                 .down = "mlp.weights_out",
                 .packed = "mlp.weights_in",
                 .hasBias = true,
                 .hasDownBias = true};
}

ImportedModule importing::importDinov2(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                       const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  VisionSpec spec = readVision(model, {.architecture = "Dinov2", .inner = 0, .epsilon = 1e-6});
  readDinov2FeedForward(config, spec);
  spec.prefix = "dinov2.";
  spec.residual = {.beforeAttention = "norm1",
                   .beforeFeedForward = "norm2",
                   .scaleOfAttention = "layer_scale1.lambda1",
                   .scaleOfFeedForward = "layer_scale2.lambda1"};
  spec.pooling = VisionPooling::ClassAndMean;
  spec.pooler = VisionPooler::ClassToken;
  spec.harmlessKeys = harmless::keys({harmless::encoder, harmless::backbone},
                                     {
                                         "drop_path_rate",
                                         "layerscale_value",  // which the layers begin training with
                                         "intermediate_size", // never read: mlp_ratio says it
                                         "use_mask_token",
                                         // of a backbone, as are the next
                                         "apply_layernorm",
                                         "reshape_hidden_states",
                                     });
  spec.ignoredTensors = {"*embeddings.mask_token"};
  return importVision(context, model, options, std::move(spec));
}

static void readDinov3Attention(huggingface::ConfigReader &config, AttentionSpec &attention) {
  attention.parts = {"attention.q_proj", "attention.k_proj", "attention.v_proj"};
  attention.out = "attention.o_proj";
  attention.location = "attention";
  attention.hasQueryBias = config.getBool("query_bias", true);
  attention.hasKeyBias = config.getBool("key_bias", false);
  attention.hasValueBias = config.getBool("value_bias", true);
  attention.hasBias = attention.hasQueryBias || attention.hasKeyBias || attention.hasValueBias;
  attention.hasOutBias = config.getBool("proj_bias", true);
  const double theta = config.getPositive("rope_theta", 1e12, 100);
  if (attention.headDim % 4 == 0) {
    attention.rotary = {gridRotary(theta, attention.headDim)};
    requireFinite(config, attention.rotary[0].values, "rope_theta is " + json::write(json::Value(theta)) + ", which");
  } else if (config.errors()) {
    config.fail("heads have " + std::to_string(attention.headDim) +
                " channels (hidden_size, num_attention_heads): a multiple of 4 can rotate by row and column");
  }
}

static void readDinov3FeedForward(huggingface::ConfigReader &config, FeedForwardSpec &feedForward) {
  feedForward.isGated = config.getBool("use_gated_mlp", false);
  feedForward.gate = "mlp.gate_proj";
  feedForward.up = "mlp.up_proj";
  feedForward.down = "mlp.down_proj";
  feedForward.hasBias = feedForward.hasDownBias = config.getBool("mlp_bias", true);
}

ImportedModule importing::importDinov3Vit(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                          const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  VisionSpec spec = readVision(
      model,
      {.architecture = "DINOv3ViT", .width = 384, .heads = 6, .inner = 1536, .epsilon = 1e-5, .classifiers = {}});
  readDinov3Attention(config, spec.attention);
  readDinov3FeedForward(config, spec.feedForward);
  spec.registers = config.getInt("num_register_tokens", 0, 1 << 10, 0);
  spec.prefix = "dinov3_vit.";
  spec.layer = "layer.{layer}.";
  spec.positions.clear();
  spec.kernel = "embeddings.patch_embeddings";
  spec.residual = {.beforeAttention = "norm1",
                   .beforeFeedForward = "norm2",
                   .scaleOfAttention = "layer_scale1.lambda1",
                   .scaleOfFeedForward = "layer_scale2.lambda1"};
  spec.finalNorm = "norm";
  spec.pooler = VisionPooler::ClassToken;
  spec.harmlessKeys =
      harmless::keys({harmless::backbone}, {
                                               "attention_dropout",
                                               "drop_path_rate",
                                               "hidden_dropout_prob",
                                               "layerscale_value", // which the layers begin training with
                                               // changes of coordinates in training
                                               "pos_embed_jitter",
                                               "pos_embed_rescale",
                                               "pos_embed_shift",
                                               // of a backbone, as are the next
                                               "apply_layernorm",
                                               "reshape_hidden_states",
                                           });
  spec.ignoredTensors = {"*embeddings.mask_token", "*rope_embeddings.inv_freq"};
  if (spec.registers == 0)
    spec.ignoredTensors.push_back("*embeddings.register_tokens"); // which has no rows
  return importVision(context, model, options, std::move(spec));
}
