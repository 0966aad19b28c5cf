//===- Roberta.cpp - The roberta, xlm-roberta and camembert families ----------===//
//
// Liu et al. 2019, "RoBERTa: A Robustly Optimized BERT Pretraining Approach": bert, whose
// positions are counted from the row behind that of padding, without tokens of padding, and whose
// heads are others.
// XLM-RoBERTa (Conneau et al. 2020) and CamemBERT (Martin et al. 2020) are the same model.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Roberta.h"
#include "lib/Import/Families/Family.h"

using namespace rapt;
using namespace rapt::importing;

using Imported = Expected<mlir::OwningOpRef<mlir::ModuleOp>>;

void importing::setRobertaHeads(EncoderSpec &spec) {
  spec.masked = {.path = "lm_head.", .transform = {.dense = "dense", .norm = "layer_norm"}};
  spec.classifier.projection = "classifier.out_proj";
  if (spec.head == EncoderHead::SequenceClassification) {
    spec.classifier.transform.dense = "classifier.dense";
    spec.classifier.isPooler = false;
  }
}

static Imported importFamily(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                             const ImportOptions &options, const std::string &architecture) {
  huggingface::ConfigReader &config = model.config();
  EncoderSpec spec = readEncoder(model, {.architecture = architecture, .vocabulary = 50265});
  spec.embedding.types = config.getInt("type_vocab_size", 1, 1 << 16, 2);
  spec.norm.epsilon = config.getPositive("layer_norm_eps", 1, 1e-12);
  config.getEnum("position_embedding_type", {"absolute"}, "absolute");
  spec.embedding.padding = config.getInt("pad_token_id", 0, 1 << 20, 1);
  spec.embedding.firstPosition = *spec.embedding.padding + 1;
  if (spec.positions <= spec.embedding.firstPosition)
    config.fail("max_position_embeddings " + std::to_string(spec.positions) + " leaves no position behind the " +
                std::to_string(spec.embedding.firstPosition) + " up to pad_token_id");
  spec.positions = std::max<int64_t>(1, spec.positions - spec.embedding.firstPosition);
  spec.prefix = "roberta.";
  spec.mayPool = true;
  setRobertaHeads(spec);
  spec.harmlessKeys = {"attention_probs_dropout_prob", "hidden_dropout_prob", "classifier_dropout"};
  spec.ignoredTensors = {"*embeddings.position_ids", "lm_head.decoder.weight", "lm_head.decoder.bias",
                         "roberta.pooler.dense.*"};
  return importEncoder(context, model, options, std::move(spec));
}

Imported importing::importRoberta(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                  const ImportOptions &options) {
  return importFamily(context, model, options, "Roberta");
}

Imported importing::importXLMRoberta(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                     const ImportOptions &options) {
  return importFamily(context, model, options, "XLMRoberta");
}

Imported importing::importCamembert(mlir::MLIRContext &context, huggingface::ModelDescription &model,
                                    const ImportOptions &options) {
  return importFamily(context, model, options, "Camembert");
}
