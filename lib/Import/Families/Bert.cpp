//===- Bert.cpp - The bert, electra, albert, distilbert and nomic_bert families -===//
//
// Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", as
// Hugging Face's BertModel and its heads compute it: post-norm blocks, learned
// absolute positions, token types, nn.Linear weights [out, in].
//
// Clark et al. 2020, "ELECTRA: Pre-training Text Encoders as Discriminators": bert without a
// pooler, whose embedding may be narrower than its layers.
//
// Lan et al. 2020, "ALBERT: A Lite BERT for Self-supervised Learning of Language
// Representations": bert whose layers share their weights, with a narrow embedding.
//
// Sanh et al. 2019, "DistilBERT, a distilled version of BERT": bert without token types and
// pooler, with names of its own.
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

ImportedModule importing::importBert(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "Bert",
                                         .pretraining = {"BertForPreTraining"},
                                         .textPair = TextPairSpec{"cls.seq_relationship", "seq_relationship_logits"}});
  spec.embedding.types = config.getInt("type_vocab_size", 1, 1 << 16, 2);
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  config.getEnum("position_embedding_type", {"absolute"}, "absolute");
  spec.masked.transform.activation = spec.feedForward.activation;
  spec.mayPool = true;
  spec.harmlessKeys = harmless::keys({harmless::encoder},
                                     {
                                         "classifier_dropout",
                                         "pooler_fc_size",
                                         "pooler_num_attention_heads",
                                         "pooler_num_fc_layers",
                                         "pooler_size_per_head",
                                         "pooler_type",
                                         "emb_size",       // of distilled checkpoints, never read
                                         "directionality", // of the first conversion script, as are those of the pooler
                                         "model_name",
                                     });
  spec.ignoredTensors = {"*embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"};
  return importEncoder(context, model, options, std::move(spec));
}

ImportedModule importing::importElectra(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                        const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "Electra",
                                         .defaultWidth = 256,
                                         .defaultHeads = 4,
                                         .defaultInner = 1024,
                                         .hasDiscriminator = true});
  spec.embedding.types = config.getInt("type_vocab_size", 1, 1 << 16, 2);
  spec.embedding.width = config.getSize("embedding_size", 1, 1 << 16, 128);
  spec.embedding.projection = "embeddings_project";
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  config.getEnum("position_embedding_type", {"absolute"}, "absolute");
  spec.prefix = "electra.";
  spec.masked = {.path = "",
                 .transform = {.dense = "generator_predictions.dense", .norm = "generator_predictions.LayerNorm"},
                 .bias = "generator_lm_head.bias",
                 .weight = "generator_lm_head.weight"};
  spec.classifier = {
      .transform = {.dense = "classifier.dense"}, .projection = "classifier.out_proj", .isPooler = false};
  spec.discriminator = {
      .transform = {.dense = "discriminator_predictions.dense", .activation = spec.feedForward.activation},
      .projection = "discriminator_predictions.dense_prediction"};
  spec.harmlessKeys = harmless::keys({harmless::encoder}, {"classifier_dropout", "summary_activation",
                                                           "summary_last_dropout", "summary_type", "summary_use_proj"});
  spec.ignoredTensors = {"*embeddings.position_ids", "generator_lm_head.weight", "discriminator_predictions.*"};
  return importEncoder(context, model, options, std::move(spec));
}

ImportedModule importing::importAlbert(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                       const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "Albert",
                                         .defaultWidth = 4096,
                                         .defaultHeads = 64,
                                         .defaultInner = 16384,
                                         .vocabulary = 30000,
                                         .pretraining = {"AlbertForPreTraining"},
                                         .textPair = TextPairSpec{"sop_classifier.classifier", "sop_logits"}});
  spec.embedding.types = config.getInt("type_vocab_size", 1, 1 << 16, 2);
  spec.embedding.width = config.getSize("embedding_size", 1, 1 << 16, 128);
  spec.embedding.projection = "encoder.embedding_hidden_mapping_in";
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  config.getEnum("position_embedding_type", {"absolute"}, "absolute");
  for (const char *key : {"num_hidden_groups", "inner_group_num"})
    if (config.getInt(key, 1, 1 << 17, 1) != 1)
      config.fail(std::string(key) + " must be 1: layers of several groups are not supported by the albert family");
  spec.sharesLayers = true;
  spec.prefix = "albert.";
  spec.layer = "encoder.albert_layer_groups.0.albert_layers.0.";
  spec.attention.parts = {"attention.query", "attention.key", "attention.value"};
  spec.attention.out = "attention.dense";
  spec.attention.location = "attention";
  spec.feedForward.up = "ffn";
  spec.feedForward.down = "ffn_output";
  spec.residual.ofAttentionSum = "attention.LayerNorm";
  spec.residual.ofFeedForwardSum = "full_layer_layer_norm";
  spec.masked = {.path = "predictions.",
                 .transform = {.dense = "dense", .activation = spec.feedForward.activation, .norm = "LayerNorm"}};
  spec.mayPool = true;
  spec.classifier.transform.dense = "pooler";
  spec.harmlessKeys =
      harmless::keys({harmless::encoder}, {
                                              "classifier_dropout_prob",
                                              "down_scale_factor", // of the first files, never read, as are the next
                                              "gap_size",
                                              "net_structure_type",
                                              "num_memory_blocks",
                                              "summary_type",
                                          });
  spec.ignoredTensors = {"*embeddings.position_ids", "predictions.decoder.weight", "predictions.decoder.bias",
                         "sop_classifier.*", "albert.pooler.*"};
  return importEncoder(context, model, options, std::move(spec));
}

ImportedModule importing::importDistilBert(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                           const ImportOptions &options) {
  EncoderSpec spec = readEncoder(model, {.architecture = "DistilBert",
                                         .width = {"dim", "hidden_size"},
                                         .layers = {"n_layers", "num_hidden_layers"},
                                         .heads = {"n_heads", "num_attention_heads"},
                                         .inner = "hidden_dim",
                                         .activation = "activation",
                                         .defaultLayers = 6});
  spec.prefix = "distilbert.";
  spec.layer = "transformer.layer.{layer}.";
  spec.attention.parts = {"attention.q_lin", "attention.k_lin", "attention.v_lin"};
  spec.attention.out = "attention.out_lin";
  spec.attention.location = "attention";
  spec.feedForward.up = "ffn.lin1";
  spec.feedForward.down = "ffn.lin2";
  spec.residual.ofAttentionSum = "sa_layer_norm";
  spec.residual.ofFeedForwardSum = "output_layer_norm";
  spec.masked = {
      .path = "",
      .transform = {.dense = "vocab_transform", .activation = spec.feedForward.activation, .norm = "vocab_layer_norm"},
      .bias = "vocab_projector.bias",
      .weight = "vocab_projector.weight"};
  spec.classifier = {.transform = {.dense = "pre_classifier", .activation = attn::ActivationKind::relu},
                     .isPooler = false};
  spec.harmlessKeys = {
      "attention_dropout",    "dropout", "qa_dropout", "seq_classif_dropout",
      "sinusoidal_pos_embds", // how the table was made, which the file has
      "tie_weights_",
  };
  spec.ignoredTensors = {"vocab_projector.weight", "*embeddings.position_ids"};
  return importEncoder(context, model, options, std::move(spec));
}

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

ImportedModule importing::importNomicBert(mlir::MLIRContext &context, huggingface::ModelDescription &model,
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
  spec.embedding.positions.table = "";
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
                            {.theta = {"rope_theta", "rotary_emb_base"}, .defaultTheta = 1000}));
  spec.masked.transform = {
      .dense = "transform.dense", .activation = attn::ActivationKind::gelu, .norm = "transform.layer_norm"};
  spec.harmlessKeys = harmless::keys({harmless::encoder, harmless::summary}, {
                                                                                 "classifier_dropout",
                                                                                 "attn_pdrop",
                                                                                 "embd_pdrop",
                                                                                 "resid_pdrop",
                                                                                 "head_dim",
                                                                                 // how the original code computes it
                                                                                 "fused_bias_fc",
                                                                                 "fused_dropout_add_ln",
                                                                                 "use_flash_attn",
                                                                                 "use_rms_norm",
                                                                                 "use_xentropy",
                                                                                 "dense_seq_output",
                                                                                 "last_layer_subset",
                                                                                 "pad_vocab_size_multiple",
                                                                                 "max_trained_positions",
                                                                                 "reorder_and_upcast_attn",
                                                                                 "scale_attn_by_inverse_layer_idx",
                                                                                 "scale_attn_weights",
                                                                                 "rotary_emb_scale_base",
                                                                                 "mlp_fc1_bias",
                                                                                 "mlp_fc2_bias",
                                                                             });
  spec.ignoredTensors = {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"};
  return importEncoder(context, model, options, std::move(spec));
}
