//===- Bloom.cpp - The bloom family ----------------------------------------===//
//
// BigScience 2022, "BLOOM: A 176B-Parameter Open-Access Multilingual Language Model":
// linear biases of scores (ALiBi), a norm of the embedding, and queries, keys and values
// of a head in neighboring rows.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readBloom(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Bloom",
                                          .keys = {.width = {"hidden_size", "n_embed"},
                                                   .layers = {"n_layer", "num_hidden_layers"},
                                                   .inner = "n_inner",
                                                   .heads = {"n_head", "num_attention_heads"},
                                                   .positions = "seq_length",
                                                   .activation = "",
                                                   .epsilon = "layer_norm_epsilon",
                                                   .kvHeads = "",
                                                   .headDim = ""},
                                          .width = 64,
                                          .layers = 2,
                                          .heads = 8,
                                          .vocabulary = 250880,
                                          .activation = "gelu_pytorch_tanh",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  AttentionSpec &attention = spec.attention;
  attention.packing = Packing::Groups;
  attention.parts = {"self_attention.query", "self_attention.key", "self_attention.value"};
  attention.packed = "self_attention.query_key_value";
  attention.out = "self_attention.dense";
  attention.location = "self_attention";
  attention.hasBias = attention.hasOutBias = true;
  attention.slopes = alibiSlopes(attention.heads);
  setPlainFeedForward(spec, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  spec.prefixes = {"transformer.", ""};
  spec.layer = "h.{layer}.";
  spec.embedding.words = "word_embeddings";
  spec.embedding.norm = "word_embeddings_layernorm";
  spec.finalNorm = "ln_f";
  spec.residual.isOfNorm = config.getBool("apply_residual_connection_post_layernorm", false);
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::bloom = {
    .read = readBloom,
    .harmlessKeys =
        harmless::keys({harmless::decoder, harmless::dropout},
                       {"pretraining_tp", "slow_but_exact", "attention_softmax_in_fp32", "bias_dropout_fusion",
                        "masked_softmax_fusion", "unk_token_id", "offset_alibi", "skip_bias_add", "skip_bias_add_qkv"}),
    .ignoredTensors = {}};
