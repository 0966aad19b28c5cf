//===- GPTNeoX.cpp - The gpt_neox family -----------------------------------===//
//
// Black et al. 2022, "GPT-NeoX-20B", and Pythia: attention and feed-forward of two layer
// norms side by side, rotation of a part of each head, and queries, keys and values of
// a head in neighboring rows.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static const DecoderFamily family = {
    .harmlessKeys =
        {
            "attention_dropout",
            "hidden_dropout",
            "resid_pdrop",
            "embd_pdrop",
            "attn_pdrop",
            "is_decoder",          // as every model of the family is
            "num_key_value_heads", // never read
            "classifier_dropout",
        },
    .ignoredTensors = {"*.attention.bias", "*.attention.masked_bias", "*rotary_emb.inv_freq"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPTNeoX",
                                          .keys = {.epsilon = "layer_norm_eps", .kvHeads = "", .headDim = ""},
                                          .width = 6144,
                                          .layers = 44,
                                          .heads = 64,
                                          .vocabulary = 50432,
                                          .inner = 24576,
                                          .activation = "gelu",
                                          .epsilon = 1e-5});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::Groups;
  attention.parts = {"attention.query", "attention.key", "attention.value"};
  attention.packed = "attention.query_key_value";
  attention.out = "attention.dense";
  attention.location = "attention";
  attention.hasBias = attention.hasOutBias = config.getBool("attention_bias", true);
  setPlainFeedForward(spec, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  if (config.getBool("use_parallel_residual", true))
    spec.residual.scheme = ResidualSpec::Parallel;
  spec.prefixes = {"gpt_neox.", ""};
  spec.embedding.table = "embed_in";
  spec.head.norm = "final_layer_norm";
  spec.head.weight = "embed_out";
  readRotary(source, spec,
             {.theta = {"rotary_emb_base", "rope_theta"},
              .share = {"rotary_pct", "partial_rotary_factor"},
              .usualShare = 0.25,
              .isPartial = true});
  spec.endToken = 2;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importGPTNeoX(mlir::MLIRContext &context,
                                                                     huggingface::ModelDescription &model,
                                                                     const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
