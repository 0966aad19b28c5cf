//===- Starcoder2.cpp - The starcoder2 family ------------------------------===//
//
// Lozhkov et al. 2024, "StarCoder 2 and The Stack v2": the llama family's attention with
// biases and a window, layer norms, and a feed-forward without a gate.
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
            "residual_dropout",
            "embedding_dropout",
            "activation_function", // of gpt_bigcode, as the next four; never read
            "attention_softmax_in_fp32",
            "layer_norm_epsilon",
            "scale_attention_softmax_in_fp32",
            "scale_attn_weights",
            "mlp_type",  // of one value
            "norm_type", // of one value
        },
    .ignoredTensors = {"*rotary_emb.inv_freq"},
};

static DecoderSpec readSpec(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Starcoder2",
                                          .keys = {.epsilon = "norm_epsilon"},
                                          .width = 3072,
                                          .layers = 30,
                                          .heads = 24,
                                          .positions = 4096,
                                          .vocabulary = 49152,
                                          .inner = 12288,
                                          .kvHeads = 2,
                                          .activation = "gelu_pytorch_tanh",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  const bool hasBias = config.getBool("use_bias", true);
  spec.attention.hasBias = spec.attention.hasOutBias = hasBias;
  setPlainFeedForward(spec, "mlp.c_fc", "mlp.c_proj");
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = hasBias;
  readRotary(source, spec);
  readWindowOfAll(source, spec, std::nullopt);
  spec.endToken = 50256;
  return spec;
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> importing::importStarcoder2(mlir::MLIRContext &context,
                                                                        huggingface::ModelDescription &model,
                                                                        const ImportOptions &options) {
  return importDecoder(context, model, options, family, readSpec);
}
