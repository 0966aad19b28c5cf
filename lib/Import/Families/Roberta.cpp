//===- Roberta.cpp - The roberta, xlm-roberta, camembert and mpnet families -===//
//
// Liu et al. 2019, "RoBERTa: A Robustly Optimized BERT Pretraining Approach": bert, whose
// positions are counted from the row behind that of padding, without tokens of padding, and whose
// heads are others.
// XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et al. 2020) are the same model.
//
// Song et al. 2020, "MPNet: Masked and Permuted Pre-training for Language Understanding":
// bert with biases of scores by distance, as t5 has them, and roberta's positions.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/EncoderSpec.h"

using namespace rapt;
using namespace rapt::importing;
/// The names of roberta's heads.
static void setRobertaHeads(EncoderSpec &spec) {
  spec.masked = {.path = "lm_head.", .transform = {.dense = "dense", .norm = "layer_norm"}};
  spec.classifier.projection = "classifier.out_proj";
  if (spec.head == EncoderHead::SequenceClassification) {
    spec.classifier.transform.dense = "classifier.dense";
    spec.classifier.isPooler = false;
  }
}

/// Positions of the table begin behind the row of padding, which `name` stands for in messages.
static void setPadding(huggingface::ConfigReader &config, EncoderSpec &spec, int64_t padding, const std::string &name) {
  PositionSpec &positions = spec.embedding.positions;
  positions.padding = padding;
  positions.first = padding + 1;
  if (spec.positions <= positions.first)
    config.fail("max_position_embeddings " + std::to_string(spec.positions) + " leaves no position behind the " +
                std::to_string(positions.first) + " up to " + name);
  spec.positions = std::max<int64_t>(1, spec.positions - positions.first);
}

static ImportedModule importRobertaOf(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                      const ImportOptions &options, const std::string &architecture) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = architecture, .vocabulary = 50265});
  spec.embedding.types = config.getInt("type_vocab_size", 1, 1 << 16, 2);
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  config.getEnum("position_embedding_type", {"absolute"}, "absolute");
  setPadding(config, spec, config.getInt("pad_token_id", 0, 1 << 20, 1), "pad_token_id");
  spec.prefix = "roberta.";
  spec.mayPool = true;
  setRobertaHeads(spec);
  spec.harmlessKeys = harmless::keys({harmless::encoder}, {"classifier_dropout"});
  spec.ignoredTensors = {"*embeddings.position_ids", "lm_head.decoder.weight", "lm_head.decoder.bias",
                         "roberta.pooler.dense.*"};
  return importEncoder(context, model, options, std::move(spec));
}

ImportedModule importing::importRoberta(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                        const ImportOptions &options) {
  return importRobertaOf(context, model, options, "Roberta");
}

ImportedModule importing::importXLMRoberta(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                           const ImportOptions &options) {
  return importRobertaOf(context, model, options, "XLMRoberta");
}

ImportedModule importing::importCamembert(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                          const ImportOptions &options) {
  return importRobertaOf(context, model, options, "Camembert");
}

ImportedModule importing::importMPNet(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                      const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "MPNet", .vocabulary = 30527});
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  setPadding(config, spec, 1, "that of padding"); // of every model, whatever pad_token_id says
  spec.prefix = "mpnet.";
  spec.attention.parts = {"attention.attn.q", "attention.attn.k", "attention.attn.v"};
  spec.attention.out = "attention.attn.o";
  spec.attention.location = "attention.attn";
  spec.residual.ofAttentionSum = "attention.LayerNorm";
  spec.relativeBias = {.table = "encoder.relative_attention_bias",
                       .buckets = config.getInt("relative_attention_num_buckets", 4, 256, 32)};
  if (spec.relativeBias->buckets >= 2 * spec.relativeBias->maxDistance)
    config.fail("relative_attention_num_buckets must be below 256");
  spec.mayPool = true;
  setRobertaHeads(spec);
  spec.harmlessKeys = harmless::keys({harmless::encoder}, {"classifier_dropout"});
  spec.ignoredTensors = {"*embeddings.position_ids", "lm_head.decoder.weight", "lm_head.decoder.bias",
                         "mpnet.pooler.dense.*"};
  return importEncoder(context, model, options, std::move(spec));
}
