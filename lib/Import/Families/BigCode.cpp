//===- BigCode.cpp - The gpt_bigcode and starcoder2 families -------------===//
//
// Ben Allal et al. 2023, "SantaCoder: don't reach for the stars!": gpt2 with weights as
// torch.nn.Linear has them, where all queries share one key, or none do.
//
// Lozhkov et al. 2024, "StarCoder 2 and The Stack v2": the llama family's attention with
// biases and a window, layer norms, and a feed-forward without a gate.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readGPTBigCode(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "GPTBigCode",
                                          .keys = gpt2Keys(),
                                          .width = 768,
                                          .layers = 12,
                                          .heads = 12,
                                          .positions = 1024,
                                          .vocabulary = 50257,
                                          .activation = "gelu_pytorch_tanh",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  setGPT2Parts(spec);
  spec.prefixes = {"transformer.", ""};
  if (!config.getBool("scale_attn_weights", true))
    spec.attention.scale = 1;
  if (config.getBool("multi_query", true)) {
    spec.attention.kvHeads = 1;
  } else {
    spec.attention.packing = Packing::Groups;
    spec.attention.parts = {"attn.query", "attn.key", "attn.value"};
  }
  if (config.getBool("add_cross_attention", false))
    config.fail(
        "add_cross_attention is true: cross-attention to an encoder is not supported by the gpt_bigcode family");
  spec.endToken = 50256;
  return spec;
}

const DecoderFamily importing::gptBigCode = {
    .read = readGPTBigCode,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::dropout, harmless::summary},
                                   {
                                       "num_key_value_heads", // never read
                                       "attention_softmax_in_fp32",
                                       "scale_attention_softmax_in_fp32",
                                       "inference_runner",
                                       "max_batch_size",
                                       "max_sequence_length",
                                       "pad_key_length",
                                       "pre_allocate_kv_cache",
                                       "validate_runner_input",
                                       "tokenizer_class",
                                       "n_ctx",
                                       "use_cache",
                                   }),
    .ignoredTensors = {"*.attn.bias", "*.attn.masked_bias"}};

static DecoderSpec readStarcoder2(const DecoderSource &source) {
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

const DecoderFamily importing::starcoder2 = {
    .read = readStarcoder2,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::dropout},
                                   {
                                       "residual_dropout",
                                       "embedding_dropout",
                                       "activation_function", // of gpt_bigcode, as the next four; never read
                                       "attention_softmax_in_fp32",
                                       "layer_norm_epsilon",
                                       "scale_attention_softmax_in_fp32",
                                       "scale_attn_weights",
                                       "mlp_type",  // of one value
                                       "norm_type", // of one value
                                   })};
