//===- Albert.cpp - The albert family ----------------------------------===//
//
// Lan et al. 2020, "ALBERT: A Lite BERT for Self-supervised Learning of Language
// Representations": bert whose layers share their weights, with a narrow embedding.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/EncoderSpec.h"

using namespace rapt;
using namespace rapt::importing;

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importAlbert(mlir::MLIRContext &context,
                                                                    huggingface::ModelDescription &model,
                                                                    const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "Albert",
                                         .usualWidth = 4096,
                                         .usualHeads = 64,
                                         .usualInner = 16384,
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
  spec.harmlessKeys = {"attention_probs_dropout_prob",
                       "hidden_dropout_prob",
                       "classifier_dropout_prob",
                       "down_scale_factor", // of the first files, never read, as are the next
                       "gap_size",
                       "net_structure_type",
                       "num_memory_blocks",
                       "summary_type"};
  spec.ignoredTensors = {"*embeddings.position_ids", "predictions.decoder.weight", "predictions.decoder.bias",
                         "sop_classifier.*", "albert.pooler.*"};
  return importEncoder(context, model, options, std::move(spec));
}
