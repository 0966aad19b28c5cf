//===- MPNet.cpp - The mpnet family ------------------------------------===//
//
// Song et al. 2020, "MPNet: Masked and Permuted Pre-training for Language Understanding":
// bert with biases of scores by distance, as t5 has them, and roberta's positions.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Roberta.h"
#include "lib/Import/Specs/EncoderSpec.h"

using namespace rapt;
using namespace rapt::importing;

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importMPNet(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "MPNet", .vocabulary = 30527});
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  spec.embedding.padding = 1; // of every model, whatever pad_token_id says
  spec.embedding.firstPosition = *spec.embedding.padding + 1;
  if (spec.positions <= spec.embedding.firstPosition)
    config.fail("max_position_embeddings " + std::to_string(spec.positions) +
                " leaves no position behind the 2 up to that of padding");
  spec.positions = std::max<int64_t>(1, spec.positions - spec.embedding.firstPosition);
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
  spec.harmlessKeys = {"attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout"};
  spec.ignoredTensors = {"*embeddings.position_ids", "lm_head.decoder.weight", "lm_head.decoder.bias",
                         "mpnet.pooler.dense.*"};
  return importEncoder(context, model, options, std::move(spec));
}
