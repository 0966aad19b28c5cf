//===- Phi.cpp - The phi family --------------------------------------------===//
//
// Li et al. 2023, "Textbooks Are All You Need II: phi-1.5 technical report": attention
// and feed-forward of one layer norm side by side, and rotation of a part of each head.
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
            "is_decoder", // as every model of the family is
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Phi",
                                          .keys = {.epsilon = "layer_norm_eps", .headDim = ""},
                                          .width = 2048,
                                          .layers = 24,
                                          .vocabulary = 51200,
                                          .inner = 8192,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  spec.attention.hasBias = spec.attention.hasOutBias = true;
  spec.attention.out = "self_attn.dense";
  if (source.config.getBool("qk_layernorm", false))
    spec.attention.norm =
        QueryKeyNormSpec{.norm = spec.norm, .query = "self_attn.q_layernorm", .key = "self_attn.k_layernorm"};
  setPlainFeedForward(spec, "mlp.fc1", "mlp.fc2");
  spec.residual = {.scheme = ResidualSpec::Parallel, .beforeFeedForward = ""};
  spec.head.norm = "final_layernorm";
  spec.head.hasBias = true;
  readRotary(source, spec, {.usualShare = 0.5, .isPartial = true});
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
importing::importPhi(mlir::MLIRContext &context, huggingface::ModelDescription &model, const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
