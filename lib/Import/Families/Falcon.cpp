//===- Falcon.cpp - The falcon family --------------------------------------===//
//
// Almazrouei et al. 2023, "The Falcon Series of Open Language Models": queries that share
// one key, or groups of them; attention and feed-forward side by side or in turn; rotary
// embedding or linear biases (ALiBi), which are scaled as scores are. The first files
// have the types RefinedWebModel and RefinedWeb, and classes named RW. Where they have
// n_head_kv (the model of 40B parameters), the layers are those of what was later called
// new_decoder_architecture.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static void readBlocks(huggingface::ConfigReader &config, DecoderSpec &spec, bool isNew) {
  const bool isParallel = config.getBool("parallel_attn", true) || isNew;
  const int64_t norms = config.getInt("num_ln_in_parallel_attn", 1, 2, isNew ? 2 : 1);
  if (!isParallel)
    return;
  spec.residual.scheme = ResidualSpec::Parallel;
  spec.residual.beforeFeedForward = "";
  if (isNew && norms == 2) {
    spec.residual.beforeAttention = "ln_attn";
    spec.residual.beforeFeedForward = "ln_mlp";
  }
}

static DecoderSpec readFalcon(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  const bool isOld = source.model.modelType().starts_with("RefinedWeb");
  DecoderSpec spec = readDecoder(source, {.architecture = isOld ? "RW" : "Falcon",
                                          .keys = {.width = {"hidden_size", "n_embed"},
                                                   .layers = {"num_hidden_layers", "n_layer"},
                                                   .inner = "ffn_hidden_size",
                                                   .heads = {"num_attention_heads", "n_head"},
                                                   .activation = "activation",
                                                   .epsilon = "layer_norm_epsilon",
                                                   .kvHeads = isOld ? "n_head_kv" : "num_kv_heads",
                                                   .headDim = ""},
                                          .width = 4544,
                                          .heads = 71,
                                          .vocabulary = 65024,
                                          .activation = "gelu",
                                          .epsilon = 1e-5,
                                          .isTied = true});
  const bool isOfNewClass = isOld && config.names("n_head_kv");
  const bool isNew = config.getBool("new_decoder_architecture", isOfNewClass), hasBias = config.getBool("bias", false);
  const bool isMultiQuery = config.getBool("multi_query", true);
  AttentionSpec &attention = spec.attention;
  if (!isNew)
    attention.kvHeads = isMultiQuery ? 1 : attention.heads;
  attention.packing = attention.kvHeads == 1 ? Packing::Rows : Packing::Groups;
  attention.parts = {"self_attention.query", "self_attention.key", "self_attention.value"};
  attention.packed = "self_attention.query_key_value";
  attention.out = "self_attention.dense";
  attention.location = "self_attention";
  attention.hasBias = attention.hasOutBias = hasBias;
  setPlainFeedForward(spec, "mlp.dense_h_to_4h", "mlp.dense_4h_to_h");
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = hasBias;
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasBias = true;
  readBlocks(config, spec, isNew);
  spec.prefixes = {"transformer.", ""};
  spec.layer = "h.{layer}.";
  spec.embedding.words = "word_embeddings";
  spec.finalNorm = "ln_f";
  if (config.getBool("apply_residual_connection_post_layernorm", false))
    config.fail("apply_residual_connection_post_layernorm is true: residuals of norms are not supported");
  if (!config.getBool("alibi", false)) {
    readRotary(source, spec);
  } else {
    config.getRaw("rope_theta"); // which configurations without rotations have, too
    for (float slope : alibiSlopes(attention.heads))
      attention.slopes.push_back(slope * float(attention.scale));
  }
  spec.endToken = 11;
  return spec;
}

const DecoderFamily importing::falcon = {
    .read = readFalcon,
    .harmlessKeys = harmless::keys({harmless::decoder},
                                   {
                                       "hidden_dropout",
                                       "rope_parameters", // beside ALiBi
                                   }),
    .ignoredTensors = {"*rotary_emb.inv_freq", "*.self_attention.rotary.inv_freq"}};
