//===- DistilBert.cpp - The distilbert family ---------------------------------===//
//
// Sanh et al. 2019, "DistilBERT, a distilled version of BERT": bert without token types and
// pooler, with names of its own.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/EncoderSpec.h"

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
