//===- DistilBert.cpp - The distilbert family ---------------------------------===//
//
// Sanh et al. 2019, "DistilBERT, a distilled version of BERT": bert without token types and
// pooler, with names of its own.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/EncoderSpec.h"
#include "lib/Import/Families/Family.h"

using namespace rapt;
using namespace rapt::importing;

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importDistilBert(mlir::MLIRContext &context,
                                                                        huggingface::ModelDescription &model,
                                                                        const ImportOptions &options) {
  EncoderSpec spec = readEncoder(model, {.architecture = "DistilBert",
                                         .width = {"dim", "hidden_size"},
                                         .layers = {"n_layers", "num_hidden_layers"},
                                         .heads = {"n_heads", "num_attention_heads"},
                                         .inner = "hidden_dim",
                                         .activation = "activation",
                                         .usualLayers = 6});
  spec.prefix = "distilbert.";
  spec.layer = {.path = "transformer.layer.{layer}.",
                .attention = {"attention.q_lin", "attention.k_lin", "attention.v_lin"},
                .location = "attention",
                .out = "attention.out_lin",
                .attentionNorm = "sa_layer_norm",
                .up = "ffn.lin1",
                .down = "ffn.lin2",
                .norm = "output_layer_norm"};
  spec.masked = {.path = "",
                 .dense = "vocab_transform",
                 .norm = "vocab_layer_norm",
                 .bias = "vocab_projector.bias",
                 .weight = "vocab_projector.weight",
                 .activation = spec.activation};
  spec.classifier = {.dense = "pre_classifier", .isPooler = false, .activation = attn::ActivationKind::relu};
  spec.harmlessKeys = {
      "attention_dropout",    "dropout", "qa_dropout", "seq_classif_dropout",
      "sinusoidal_pos_embds", // how the table was made, which the file has
      "tie_weights_",
  };
  spec.ignoredTensors = {"vocab_projector.weight", "*embeddings.position_ids"};
  return importEncoder(context, model, options, std::move(spec));
}
