//===- DeepSeek.cpp - The deepseek_v2, deepseek_v3 and kimi_linear families --===//
//
// DeepSeek-AI 2024, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts
// Language Model" and "DeepSeek-V3 Technical Report": latent attention, and experts that are
// chosen in groups beside a shared one.
//
// Kimi Team 2025, "Kimi Linear: An Expressive, Efficient Attention Architecture": most layers have
// the gated delta rule, whose decay differs by channel; the others have latent attention without
// positions.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/DeltaRule.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include <algorithm>
#include <cmath>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// Attention without rotation; the channels of a head are those of a position.
static void readLatents(const DecoderSource &source, DecoderSpec &spec, int64_t defaultQueryRank) {
  ConfigReader &config = source.config;
  constexpr int64_t mostChannels = 1 << 12, mostRank = 1 << 16;
  AttentionSpec &attention = spec.attention;
  LatentSpec latent;
  latent.rotated = attention.headDim;
  latent.rank = config.getSize("kv_lora_rank", 1, mostRank, 512);
  latent.valueDim = config.getSize("v_head_dim", 1, mostChannels, 128);
  std::optional<int64_t> queryRank = config.getOptionalInt("q_lora_rank", 1, mostRank);
  latent.queryRank = queryRank.value_or(config.names("q_lora_rank") ? 0 : defaultQueryRank);
  attention.headDim = latent.rotated + config.getSize("qk_nope_head_dim", 1, mostChannels, 128);
  attention.scale = 1 / std::sqrt(double(attention.headDim));
  attention.kvHeads = 1;
  latent.hasDownBias = attention.hasOutBias = config.getBool("attention_bias", false);
  latent.queryDown = "self_attn.q_a_proj";
  latent.queryNorm = "self_attn.q_a_layernorm";
  latent.queryUp = latent.queryRank ? "self_attn.q_b_proj" : "self_attn.q_proj";
  latent.down = "self_attn.kv_a_proj_with_mqa";
  latent.norm = "self_attn.kv_a_layernorm";
  latent.up = "self_attn.kv_b_proj";
  if (hasTensor(source.model, ".self_attn.k_b_proj.weight")) { // as in a GGUF file
    latent.keysApart = "self_attn.k_b_proj";
    latent.valuesApart = "self_attn.v_b_proj";
  }
  attention.latent = latent;
}

/// The same with rotation, where scores have the magnitude of stretched contexts squared.
static void readRotatedLatents(const DecoderSource &source, DecoderSpec &spec) {
  readRotary(source, spec);
  readLatents(source, spec, /*defaultQueryRank=*/1536);
  const double magnitude = spec.attention.rotary[0].allMagnitude;
  spec.attention.scale *= magnitude * magnitude;
}

/// The layers from first_k_dense_replace on whose number moe_layer_freq divides have experts.
static std::vector<bool> readExpertLayers(ConfigReader &config, int64_t layers, int64_t defaultFirst) {
  const int64_t first = config.getInt("first_k_dense_replace", 0, 1 << 20, defaultFirst),
                step = config.getInt("moe_layer_freq", 1, 1 << 20, 1);
  std::vector<bool> ofLayer;
  for (int64_t layer = 0; layer < layers; ++layer)
    ofLayer.push_back(layer >= first && layer % step == 0);
  return ofLayer;
}

/// Groups of experts, of which topk_group are kept by the sums of `by` scores each. `keys` are those of the numbers of
/// experts and of groups.
static std::optional<ExpertsSpec::Groups>
readGroups(ConfigReader &config, int64_t experts, int64_t by, std::optional<int64_t> defaultNumber,
           std::optional<int64_t> defaultKept,
           const std::array<const char *, 2> &keys = {"n_routed_experts", "n_group"}) {
  auto read = [&](const char *key, std::optional<int64_t> fallback) {
    std::optional<int64_t> own = config.getOptionalInt(key, 1, 1 << 12);
    return own || config.names(key) ? own : fallback;
  };
  const std::optional<int64_t> number = read(keys[1], defaultNumber), kept = read("topk_group", defaultKept);
  if (!number || !kept)
    return std::nullopt;
  if (experts % *number != 0 || *kept > *number || by > experts / *number)
    config.fail(std::string(keys[0]) + " " + std::to_string(experts) + " cannot be chosen within topk_group " +
                std::to_string(*kept) + " of " + keys[1] + " " + std::to_string(*number));
  return ExpertsSpec::Groups{*number, *kept, by};
}

/// The experts of both families, but for how they are chosen.
static ExpertsSpec readExperts(const DecoderSource &source, const DecoderSpec &spec, int64_t all, int64_t ofToken,
                               int64_t width, int64_t defaultShared) {
  ConfigReader &config = source.config;
  ExpertsSpec experts = importing::readExperts(
      source, spec, {.number = "n_routed_experts", .ofAll = all, .ofToken = ofToken, .width = width});
  std::optional<int64_t> shared = config.getOptionalInt("n_shared_experts", 1, 1 << 12);
  if (!shared && !config.names("n_shared_experts"))
    shared = defaultShared;
  if (shared) {
    experts.shared = spec.feedForward;
    experts.shared->inner = *shared * experts.each.inner;
    experts.shared->gate = "mlp.shared_experts.gate_proj";
    experts.shared->up = "mlp.shared_experts.up_proj";
    experts.shared->down = "mlp.shared_experts.down_proj";
  }
  return experts;
}

static DecoderSpec readV2(const DecoderSource &source) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "DeepseekV2",
                                          .keys = {.kvHeads = "", .headDim = "qk_rope_head_dim"},
                                          .inner = 11008,
                                          .headDim = 64});
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = config.getBool("mlp_bias", false);
  readRotatedLatents(source, spec);
  spec.attention.isInterleaved = true;
  ExpertsSpec experts = readExperts(source, spec, /*all=*/64, /*ofToken=*/8, /*width=*/1407, /*defaultShared=*/2);
  experts.scale = config.getPositive("routed_scaling_factor", 1e6, 1);
  const bool isLimited =
      config.getEnum("topk_method", {"greedy", "group_limited_greedy"}, "greedy") == "group_limited_greedy";
  config.getEnum("scoring_func", {"softmax"}, "softmax");
  std::optional<ExpertsSpec::Groups> groups = readGroups(config, experts.number, /*by=*/1, {}, {});
  if (isLimited && !groups)
    config.fail("topk_method group_limited_greedy needs n_group and topk_group");
  experts.groups = isLimited ? groups : std::nullopt;
  // The model's own code and Hugging Face's differ in what they then scale.
  if (config.getBool("norm_topk_prob", false))
    config.fail("norm_topk_prob true is not supported, expected false");
  experts.ofLayer = readExpertLayers(config, spec.layers, 0);
  spec.experts = experts;
  spec.endToken = 2;
  return spec;
}

static DecoderSpec readV3(const DecoderSource &source) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "DeepseekV3",
                                          .keys = {.kvHeads = "", .headDim = "qk_rope_head_dim"},
                                          .width = 7168,
                                          .layers = 61,
                                          .heads = 128,
                                          .positions = 4096,
                                          .vocabulary = 129280,
                                          .inner = 18432,
                                          .headDim = 64});
  readRotatedLatents(source, spec);
  spec.attention.isInterleaved = config.getBool("rope_interleave", true);
  ExpertsSpec experts = readExperts(source, spec, /*all=*/256, /*ofToken=*/8, /*width=*/2048, /*defaultShared=*/1);
  experts.scale = config.getPositive("routed_scaling_factor", 1e6, 2.5);
  config.getEnum("topk_method", {"noaux_tc"}, "noaux_tc");
  config.getEnum("scoring_func", {"sigmoid"}, "sigmoid");
  experts.scores = attn::RoutingKind::sigmoid;
  experts.groups = readGroups(config, experts.number, /*by=*/2, 8, 4);
  experts.choiceBias = "mlp.gate.e_score_correction_bias";
  experts.isNormalized = config.getBool("norm_topk_prob", true);
  experts.ofLayer = readExpertLayers(config, spec.layers, 3);
  spec.experts = experts;
  spec.endToken = 1;
  // Layers behind the last one guess further tokens.
  const int64_t more = config.getInt("num_nextn_predict_layers", 0, 1 << 10, 0);
  for (int64_t layer = spec.layers; layer < spec.layers + more; ++layer)
    spec.ignoredTensors.push_back("*layers." + std::to_string(layer) + ".*");
  return spec;
}

const DecoderFamily importing::deepSeekV2 = {
    .read = readV2,
    .harmlessKeys =
        harmless::keys({harmless::decoder, harmless::router},
                       {
                           "aux_loss_alpha",      // of training, as seq_aux
                           "ep_size",             // how the original spreads experts over machines
                           "head_dim",            // that of transformers' rotary embedding, which qk_rope_head_dim says
                           "num_key_value_heads", // of keys that are not kept
                           "pretraining_tp",
                           "qk_head_dim", // the sum of the other two
                           "seq_aux",
                       })};

const DecoderFamily importing::deepSeekV3 = {.read = readV3, .harmlessKeys = deepSeekV2.harmlessKeys};

/// The delta rule, whose projections of queries, keys and values have a convolution each, and the layers that have
/// attention in its place, which the file counts from 1.
static std::vector<bool> readKimiDelta(ConfigReader &config, DecoderSpec &spec) {
  std::vector<bool> attends(size_t(spec.layers), true);
  const char *key = "linear_attn_config";
  std::optional<ConfigReader> keys = config.open(key);
  if (!keys) {
    config.fail(std::string(key) + " is missing, must be an object with kda_layers, num_heads and head_dim");
    return attends;
  }
  const std::string part = "self_attn.";
  DeltaRuleSpec d;
  d.keyHeads = d.valueHeads = keys->getInt("num_heads", 1, 1 << 12);
  d.keyDim = d.valueDim = d.rank = keys->getInt("head_dim", 1, 1 << 12);
  setSeparateParts(d, part, keys->getInt("short_conv_kernel_size", 2, 64, 4));
  d.gateDown = part + "g_a_proj";
  d.gate = part + "g_b_proj";
  d.decayDown = part + "f_a_proj";
  d.decay = part + "f_b_proj";
  d.isDecayOfChannel = true;
  d.norm.norm = spec.norm;
  d.norm.activation = attn::ActivationKind::sigmoid;
  spec.delta = d;
  const std::vector<bool> recurs = readLayerNumbers(*keys, "kda_layers", spec.layers, /*first=*/1),
                          listed = readLayerNumbers(*keys, "full_attn_layers", spec.layers, /*first=*/1);
  for (size_t layer = 0; layer < attends.size(); ++layer)
    attends[layer] = !recurs[layer];
  if (auto [own, wanted] = std::ranges::mismatch(listed, attends); own != listed.end())
    keys->fail("layer " + std::to_string(own - listed.begin() + 1) + " is in " + (*own ? "both" : "none") + " of " +
               keys->nameOf("kda_layers") + " and " + keys->nameOf("full_attn_layers") + ", must be in one");
  config.close(std::move(*keys));
  return attends;
}

static ExpertsSpec readKimiExperts(const DecoderSource &source, const DecoderSpec &spec) {
  ConfigReader &config = source.config;
  const std::string part = "block_sparse_moe.";
  ExpertsSpec e = importing::readExperts(
      source, spec, {.chosen = "num_experts_per_token", .ofAll = 256, .ofToken = 1, .width = spec.feedForward.inner});
  e.stacking = Stacking::None;
  e.each.gate = part + "experts.{expert}.w1";
  e.each.up = part + "experts.{expert}.w3";
  e.each.down = part + "experts.{expert}.w2";
  e.each.packed = "";
  e.router = part + "gate";
  e.choiceBias = part + "gate.e_score_correction_bias";
  if (config.getEnum("moe_router_activation_func", {"sigmoid", "softmax"}, "sigmoid") == "sigmoid")
    e.scores = attn::RoutingKind::sigmoid;
  e.isNormalized = config.getBool("moe_renormalize", true) && e.ofToken > 1;
  e.scale = config.getPositive("routed_scaling_factor", 1e6, 1);
  e.groups = readGroups(config, e.number, /*by=*/2, 1, 1, {"num_experts", "num_expert_group"});
  if (e.groups && e.groups->kept == e.groups->number)
    e.groups = std::nullopt;
  if (const int64_t shared = config.getInt("num_shared_experts", 0, 1 << 12, 0)) {
    e.shared = spec.feedForward;
    e.shared->inner = shared * e.each.inner;
    e.shared->gate = part + "shared_experts.gate_proj";
    e.shared->up = part + "shared_experts.up_proj";
    e.shared->down = part + "shared_experts.down_proj";
  }
  e.ofLayer = readExpertLayers(config, spec.layers, 0);
  return e;
}

static DecoderSpec readKimiLinear(const DecoderSource &source) {
  ConfigReader &config = source.config;
  const char *positions = config.names("max_position_embeddings") ? "max_position_embeddings" : "model_max_length";
  DecoderSpec spec =
      readDecoder(source, {.architecture = "KimiLinear",
                           .keys = {.positions = positions, .kvHeads = "", .headDim = "qk_rope_head_dim"},
                           .positions = 4096,
                           .vocabulary = 163840,
                           .inner = 11008,
                           .headDim = 64,
                           .epsilon = 1e-5});
  spec.positionsKey = positions;
  if (!config.getBool("mla_use_nope", true))
    config.fail("mla_use_nope is false: rotary embedding is not supported by the kimi_linear family");
  readLatents(source, spec, /*defaultQueryRank=*/0);
  spec.attention.latent->normOf = spec.norm;
  setMixers(spec, Mixer::DeltaRule, readKimiDelta(config, spec));
  if (config.getRaw("num_experts"))
    spec.experts = readKimiExperts(source, spec);
  return spec;
}

const DecoderFamily importing::kimiLinear = {
    .read = readKimiLinear,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::router},
                                   {"head_dim", "model_max_length", "num_key_value_heads", "num_nextn_predict_layers",
                                    "rope_parameters", "rope_scaling", "rope_theta", "use_grouped_topk"})};
