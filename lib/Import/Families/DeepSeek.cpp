//===- DeepSeek.cpp - The deepseek_v2 and deepseek_v3 families ---------------===//
//
// DeepSeek-AI 2024, "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts
// Language Model" and "DeepSeek-V3 Technical Report": latent attention, and experts that are
// chosen in groups beside a shared one.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// Attention whose scores have the magnitude of stretched contexts squared.
static void readLatents(const DecoderSource &source, DecoderSpec &spec) {
  ConfigReader &config = source.config;
  constexpr int64_t mostChannels = 1 << 12, mostRank = 1 << 16;
  AttentionSpec &attention = spec.attention;
  LatentSpec latent;
  latent.rotated = attention.headDim;
  readRotary(source, spec);
  latent.rank = config.getSize("kv_lora_rank", 1, mostRank, 512);
  latent.valueDim = config.getSize("v_head_dim", 1, mostChannels, 128);
  std::optional<int64_t> queryRank = config.getOptionalInt("q_lora_rank", 1, mostRank);
  latent.queryRank = queryRank.value_or(config.names("q_lora_rank") ? 0 : 1536);
  attention.headDim = latent.rotated + config.getSize("qk_nope_head_dim", 1, mostChannels, 128);
  const double magnitude = attention.rotary[0].allMagnitude;
  attention.scale = magnitude * magnitude / std::sqrt(double(attention.headDim));
  attention.kvHeads = 1;
  latent.hasDownBias = attention.hasOutBias = config.getBool("attention_bias", false);
  latent.queryDown = "self_attn.q_a_proj";
  latent.queryNorm = "self_attn.q_a_layernorm";
  latent.queryUp = latent.queryRank ? "self_attn.q_b_proj" : "self_attn.q_proj";
  latent.down = "self_attn.kv_a_proj_with_mqa";
  latent.norm = "self_attn.kv_a_layernorm";
  latent.up = "self_attn.kv_b_proj";
  attention.latent = latent;
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

/// Groups of experts, of which topk_group are kept by the sums of `by` scores each.
static std::optional<ExpertsSpec::Groups> readGroups(ConfigReader &config, int64_t experts, int64_t by,
                                                     std::optional<int64_t> defaultNumber,
                                                     std::optional<int64_t> defaultKept) {
  auto read = [&](const char *key, std::optional<int64_t> fallback) {
    std::optional<int64_t> own = config.getOptionalInt(key, 1, 1 << 12);
    return own || config.names(key) ? own : fallback;
  };
  const std::optional<int64_t> number = read("n_group", defaultNumber), kept = read("topk_group", defaultKept);
  if (!number || !kept)
    return std::nullopt;
  if (experts % *number != 0 || *kept > *number || by > experts / *number)
    config.fail("n_routed_experts " + std::to_string(experts) + " cannot be chosen within topk_group " +
                std::to_string(*kept) + " of n_group " + std::to_string(*number));
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
  readLatents(source, spec);
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
  readLatents(source, spec);
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
