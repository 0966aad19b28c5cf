//===- MPT.cpp - The mpt family --------------------------------------------===//
//
// MosaicML 2023, "MPT-7B": linear biases of scores (ALiBi), layer norms and matmuls
// without biases, and queries, keys and values in one tensor.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static void readAttention(const DecoderSource &source, DecoderSpec &spec) {
  AttentionSpec &attention = spec.attention;
  double bias = 8;
  bool isBiased = true;
  if (std::optional<huggingface::ConfigReader> keys = source.config.open("attn_config")) {
    for (const char *key : {"attn_impl", "attn_pdrop", "attn_uses_sequence_id", "model_type", "qk_ln_type"})
      keys->getRaw(key); // how it is computed, and training
    keys->getEnum("attn_type", {"multihead_attention"}, "multihead_attention");
    isBiased = keys->getBool("alibi", true);
    bias = keys->getPositive("alibi_bias_max", 1e3, 8);
    attention.clip = readClip(*keys, "clip_qkv");
    attention.scale = keys->getPositive("softmax_scale", 1e6, attention.scale);
    for (const char *key : {"prefix_lm", "qk_ln"})
      if (keys->getBool(key, false))
        keys->fail(keys->nameOf(key) + " is true, which is not supported by the mpt family");
    if (!isBiased)
      keys->fail(keys->nameOf("alibi") + " is false: learned positions are not supported by the mpt family");
    source.config.close(std::move(*keys));
  }
  attention.slopes = alibiSlopes(attention.heads, bias);
}

static DecoderSpec readMPT(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Mpt",
                                          .keys = {.width = {"d_model", "hidden_size"},
                                                   .layers = {"n_layers", "num_hidden_layers"},
                                                   .inner = "",
                                                   .heads = {"n_heads", "num_attention_heads"},
                                                   .positions = "max_seq_len",
                                                   .activation = "",
                                                   .epsilon = "layer_norm_epsilon",
                                                   .kvHeads = "",
                                                   .headDim = ""},
                                          .width = 2048,
                                          .layers = 24,
                                          .heads = 16,
                                          .vocabulary = 50368,
                                          .activation = "gelu",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  spec.feedForward.inner = 4 * spec.width;
  spec.norm.kind = NormSpec::Layer;
  if (!config.getBool("no_bias", true))
    config.fail("no_bias is false: biases are not supported by the mpt family");
  spec.attention.packing = Packing::Rows;
  spec.attention.packed = "attn.Wqkv";
  spec.attention.out = "attn.out_proj";
  spec.attention.location = "attn";
  readAttention(source, spec);
  setPlainFeedForward(spec, "ffn.up_proj", "ffn.down_proj");
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = false;
  spec.residual = {.beforeAttention = "norm_1", .beforeFeedForward = "norm_2"};
  spec.prefixes = {"transformer.", ""};
  spec.layer = "blocks.{layer}.";
  spec.embedding.words = "wte";
  spec.finalNorm = "norm_f";
  return spec;
}

const DecoderFamily importing::mpt = {.read = readMPT,
                                      .harmlessKeys =
                                          harmless::keys({harmless::decoder, harmless::dropout},
                                                         {
                                                             "emb_pdrop",
                                                             "embedding_fraction",
                                                             "expansion_ratio", // never read: it is 4
                                                             "learned_pos_emb", // there is none beside ALiBi
                                                             "init_config",
                                                             "init_device",
                                                             "logit_scale",
                                                             "use_cache",
                                                             "verbose",
                                                             "norm_type",
                                                             "tokenizer_name",
                                                             "max_position_embeddings",
                                                         }),
                                      .ignoredTensors = {}};
