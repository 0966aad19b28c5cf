//===- Bert.cpp - The bert family ---------------------------------------------===//
//
// Devlin et al. 2019, "BERT: Pre-training of Deep Bidirectional Transformers", as
// Hugging Face's BertModel and its heads compute it: post-norm blocks, learned
// absolute positions, token types, nn.Linear weights [out, in].
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/EncoderSpec.h"

using namespace rapt;
using namespace rapt::importing;

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importBert(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = "Bert",
                                         .pretraining = {"BertForPreTraining"},
                                         .textPair = TextPairSpec{"cls.seq_relationship", "seq_relationship_logits"}});
  spec.embedding.types = config.getInt("type_vocab_size", 1, 1 << 16, 2);
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  config.getEnum("position_embedding_type", {"absolute"}, "absolute");
  spec.masked.transform.activation = spec.feedForward.activation;
  spec.mayPool = true;
  spec.harmlessKeys = {
      "attention_probs_dropout_prob",
      "hidden_dropout_prob",
      "classifier_dropout",
      "pooler_fc_size",
      "pooler_num_attention_heads",
      "pooler_num_fc_layers",
      "pooler_size_per_head",
      "pooler_type",
      "emb_size",       // of distilled checkpoints, never read
      "directionality", // of the first conversion script, as are those of the pooler
      "model_name",
  };
  spec.ignoredTensors = {"*embeddings.position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"};
  return importEncoder(context, model, options, std::move(spec));
}
