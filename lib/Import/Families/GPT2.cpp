//===- GPT2.cpp - The gpt2 family ------------------------------------------===//
//
// Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", as
// Hugging Face's GPT2LMHeadModel computes it: pre-norm layers, learned absolute
// positions, and Conv1D weights, which are [in, out] as the dialect's are.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readGPT2(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPT2",
                                          .headClass = "LMHeadModel",
                                          .keys = gpt2Keys(),
                                          .width = 768,
                                          .layers = 12,
                                          .heads = 12,
                                          .positions = 1024,
                                          .vocabulary = 50257,
                                          .activation = "gelu_new",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  setGPT2Parts(spec);
  spec.positionsKey = "wpe.weight (n_positions)";
  spec.isConv1D = source.model.hasConv1D();
  if (!config.getBool("scale_attn_weights", true))
    spec.attention.scale = 1;
  spec.attention.isScaledByLayer = config.getBool("scale_attn_by_inverse_layer_idx", false);
  if (config.getBool("add_cross_attention", false))
    config.fail("add_cross_attention is true: cross-attention to an encoder is not supported by the gpt2 family");
  spec.endToken = 50256;
  return spec;
}

const DecoderFamily importing::gpt2 = {
    .read = readGPT2,
    .harmlessKeys = harmless::keys({harmless::summary},
                                   {
                                       "attn_pdrop",
                                       "embd_pdrop",
                                       "resid_pdrop",
                                       "initializer_range",
                                       "is_decoder", // as every gpt2 is
                                       "n_ctx",      // an old name of n_positions, never read
                                       "n_special",  // of the first conversion script
                                       "predict_special_tokens",
                                       "output_past",
                                       "use_cache",
                                       "gradient_checkpointing",
                                       "reorder_and_upcast_attn", // asks for scores in f32, as they always are here
                                   }),
    .ignoredTensors = {"*.attn.bias", "*.attn.masked_bias"}};
