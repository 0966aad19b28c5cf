//===- Electra.cpp - The electra family ---------------------------------------===//
//
// Clark et al. 2020, "ELECTRA: Pre-training Text Encoders as Discriminators": bert without a
// pooler, whose embedding may be narrower than its layers.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/EncoderSpec.h"

using namespace rapt;
using namespace rapt::importing;

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importElectra(mlir::MLIRContext &context,
                                                                     huggingface::ModelDescription &model,
                                                                     const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(
      model,
      {.architecture = "Electra", .usualWidth = 256, .usualHeads = 4, .usualInner = 1024, .hasDiscriminator = true});
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
  spec.harmlessKeys = {
      "attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout", "summary_activation",
      "summary_last_dropout",         "summary_type",        "summary_use_proj"};
  spec.ignoredTensors = {"*embeddings.position_ids", "generator_lm_head.weight", "discriminator_predictions.*"};
  return importEncoder(context, model, options, std::move(spec));
}
