//===- NomicBert.cpp - The nomic_bert family ---------------------------===//
//
// Nussbaum et al. 2024, "Nomic Embed": bert with rotary embedding instead of a table of
// positions, gated feed-forward, and matmuls without biases.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Parts/RotaryFrequencies.h"
#include "lib/Import/Specs/EncoderSpec.h"

using namespace rapt;
using namespace rapt::importing;

/// Keys of the original code, whose other values no published model has.
static void refuseOtherLayers(huggingface::ConfigReader &config) {
  for (const char *key : {"prenorm", "parallel_block", "qkv_proj_bias", "rotary_emb_interleaved", "causal"})
    if (config.getBool(key, false))
      config.fail(std::string(key) + " is true, which is not supported by the nomic_bert family");
  if (config.getFloat("rotary_emb_fraction", 0, 1, 1) != 1)
    config.fail("rotary_emb_fraction must be 1: another share is not supported by the nomic_bert family");
  if (config.getRaw("rotary_scaling_factor"))
    config.fail("rotary_scaling_factor must be null: scaling is not supported by the nomic_bert family");
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importNomicBert(mlir::MLIRContext &context,
                                                                       huggingface::ModelDescription &model,
                                                                       const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "NomicBert",
                                         .width = {"hidden_size", "n_embd"},
                                         .layers = {"num_hidden_layers", "n_layer"},
                                         .heads = {"num_attention_heads", "n_head"},
                                         .inner = {"intermediate_size", "n_inner"},
                                         .activation = "",
                                         .positionsKey = {"max_position_embeddings", "n_positions"},
                                         .positions = 2048,
                                         .vocabulary = 30528,
                                         .pretraining = {"NomicBertForPreTraining"}});
  spec.embedding.types = config.getInt("type_vocab_size", 1, 1 << 16, 2);
  spec.norm.epsilon = config.getPositive({"layer_norm_eps", "layer_norm_epsilon"}, 1, 1e-12);
  refuseOtherLayers(config);
  const std::string activation(config.getEnum({"hidden_act", "activation_function"}, {"silu", "swiglu"}, "silu"));
  spec.layer = "encoder.layers.{layer}.";
  spec.embedding.positions = "";
  spec.embedding.norm = "emb_ln";
  spec.attention.packing = Packing::Rows;
  spec.attention.packed = "attn.Wqkv";
  spec.attention.out = "attn.out_proj";
  spec.attention.location = "attn";
  spec.attention.hasBias = spec.attention.hasOutBias = false;
  spec.feedForward = {.inner = spec.feedForward.inner, .gate = "mlp.fc12", .up = "mlp.fc11", .down = "mlp.fc2"};
  spec.residual.ofAttentionSum = "norm1";
  spec.residual.ofFeedForwardSum = "norm2";
  spec.attention.rotary.push_back(
      readRotaryFrequencies(config, spec.attention.headDim, {spec.positions, spec.positions},
                            {.theta = {"rope_theta", "rotary_emb_base"}, .usualTheta = 1000}));
  spec.masked.transform = {
      .dense = "transform.dense", .activation = attn::ActivationKind::gelu, .norm = "transform.layer_norm"};
  spec.harmlessKeys = {"attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout", "attn_pdrop",
                       "embd_pdrop", "resid_pdrop", "head_dim",
                       // how the original code computes it
                       "fused_bias_fc", "fused_dropout_add_ln", "use_flash_attn", "use_rms_norm", "use_xentropy",
                       "dense_seq_output", "last_layer_subset", "pad_vocab_size_multiple", "max_trained_positions",
                       "reorder_and_upcast_attn", "scale_attn_by_inverse_layer_idx", "scale_attn_weights",
                       "summary_activation", "summary_first_dropout", "summary_proj_to_labels", "summary_type",
                       "summary_use_proj", "rotary_emb_scale_base", "mlp_fc1_bias", "mlp_fc2_bias"};
  spec.ignoredTensors = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"};
  return importEncoder(context, model, options, std::move(spec));
}
