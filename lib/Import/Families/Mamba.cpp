//===- Mamba.cpp - The mamba2, bamba and nemotron_h families --------------===//
//
// Dao, Gu 2024, "Transformers are SSMs": layers of state-space duality alone, without
// feed-forwards and without positions.
//
// Ganti et al. 2024, "Bamba": the llama family's layers, most of which have state-space
// duality in place of attention.
//
// NVIDIA 2025, "Nemotron-H": layers of one part each, state-space duality, attention without
// positions, a feed-forward, or experts.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Mamba.h"
#include "lib/Import/Families/Family.h"
#include "llvm/ADT/STLExtras.h"

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// A number, or the text that infinity is in a config: Infinity of Python's json, or the object of transformers 5.
static std::optional<double> numberOf(const json::Value &value) {
  const json::Value *text = value.isObject() ? value.find("__float__") : &value;
  if (const std::string *name = text ? text->asString() : nullptr; name && (*name == "\u221e" || *name == "Infinity"))
    return std::numeric_limits<double>::infinity();
  return value.asNumber();
}

/// Reads time_step_limit, the bounds of steps.
static void readStepLimits(ConfigReader &config, StateSpaceSpec &spec) {
  const json::Value *limits = config.getRaw("time_step_limit");
  if (!limits)
    return;
  const json::Array *list = limits->asArray();
  std::optional<double> least, most;
  if (list && list->size() == 2) {
    least = numberOf((*list)[0]);
    most = numberOf((*list)[1]);
  }
  if (!least || !most || !(*least >= 0) || !(*most > *least))
    config.fail("time_step_limit must be two numbers from 0 on, the lower one first, found " +
                json::printable(json::write(*limits), 60));
  else
    spec.stepLimits = {*least, *most};
}

StateSpaceSpec importing::readStateSpace(ConfigReader &config, const StateSpaceKeys &keys, int64_t heads,
                                         int64_t headDim) {
  StateSpaceSpec s;
  s.heads = heads;
  s.headDim = headDim;
  s.groups = config.getSize(keys.groups, 1, 1 << 12, keys.defaultGroups);
  s.stateSize = config.getSize(keys.stateSize, 1, 1 << 14, keys.defaultStateSize);
  config.requireMultiple(keys.heads, heads, keys.groups.names.front(), s.groups);
  const std::string part = keys.part;
  s.in = part + ".in_proj";
  s.out = part + ".out_proj";
  s.hasBias = s.hasOutBias = config.getBool(keys.bias, false);
  s.convolution = {.part = part + ".conv1d",
                   .taps = config.getSize(keys.taps, 2, 64, 4),
                   .hasBias = config.getBool(keys.convolutionBias, true)};
  s.step = part + ".dt_bias";
  s.decay = part + ".A_log";
  s.skip = part + ".D";
  s.norm.part = part + ".norm";
  readStepLimits(config, s);
  return s;
}

static DecoderSpec readMamba2(const DecoderSource &source) {
  DecoderSpec spec =
      readDecoder(source, {.architecture = "Mamba2",
                           .keys = {.heads = "num_heads", .epsilon = "layer_norm_epsilon", .kvHeads = ""},
                           .layers = 64,
                           .heads = 128,
                           .positions = 1 << 20,
                           .vocabulary = 32768,
                           .headDim = 64,
                           .epsilon = 1e-5,
                           .hasAnyPositions = true});
  StateSpaceSpec s = readStateSpace(source.config,
                                    {.heads = "num_heads",
                                     .groups = "n_groups",
                                     .stateSize = "state_size",
                                     .taps = "conv_kernel",
                                     .bias = "use_bias",
                                     .convolutionBias = "use_conv_bias",
                                     .part = "mixer",
                                     .defaultGroups = 8,
                                     .defaultStateSize = 128},
                                    spec.attention.heads, spec.attention.headDim);
  // transformers normalizes all columns together, the original package those of each group.
  s.convolution.activation = spec.feedForward.activation;
  s.norm.norm = spec.norm;
  spec.stateSpace = s;
  setMixers(spec, Mixer::StateSpace, std::vector<bool>(size_t(spec.layers), false));
  spec.hasNoFeedForward.assign(size_t(spec.layers), true);
  spec.prefixes = {"backbone.", ""};
  spec.embedding.words = "embeddings";
  spec.residual.beforeAttention = "norm";
  spec.finalNorm = "norm_f";
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::mamba2 = {.read = readMamba2,
                                         .harmlessKeys =
                                             harmless::keys({harmless::decoder, harmless::steps, harmless::mamba2},
                                                            {"norm_before_gate", "rms_norm", "time_step_rank"})};

StateSpaceSpec importing::readHybridStateSpace(ConfigReader &config, const DecoderSpec &spec,
                                               std::optional<int64_t> inner, const char *innerKey) {
  const int64_t heads = config.getSize("mamba_n_heads", 1, 1 << 14, 128),
                expand = config.getInt("mamba_expand", 1, 64, 2), columns = inner.value_or(expand * spec.width);
  int64_t headDim = columns / heads;
  if (const json::Value *given = config.peek("mamba_d_head"); given && given->asString())
    config.getEnum("mamba_d_head", {"auto"});
  else
    headDim = config.getInt("mamba_d_head", 1, 1 << 14, std::max<int64_t>(1, headDim));
  if (heads * headDim != columns)
    config.fail("mamba_n_heads " + std::to_string(heads) + " of mamba_d_head " + std::to_string(headDim) +
                " channels are not " +
                (inner
                     ? innerKey + (" " + std::to_string(columns))
                     : "mamba_expand " + std::to_string(expand) + " times hidden_size " + std::to_string(spec.width)));
  StateSpaceSpec s = readStateSpace(config,
                                    {.heads = "mamba_n_heads",
                                     .groups = "mamba_n_groups",
                                     .stateSize = "mamba_d_state",
                                     .taps = "mamba_d_conv",
                                     .bias = "mamba_proj_bias",
                                     .convolutionBias = "mamba_conv_bias",
                                     .part = "mamba",
                                     .defaultGroups = 1,
                                     .defaultStateSize = 256},
                                    heads, std::max<int64_t>(1, headDim));
  s.convolution.activation = spec.feedForward.activation;
  s.norm.norm = spec.norm;
  return s;
}

void importing::setBambaNames(DecoderSpec &spec) {
  spec.feedForward.gate = "feed_forward.gate_proj";
  spec.feedForward.up = "feed_forward.up_proj";
  spec.feedForward.down = "feed_forward.down_proj";
  spec.residual.beforeFeedForward = "pre_ff_layernorm";
  spec.finalNorm = "final_layernorm";
}

static DecoderSpec readBamba(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(source, {.architecture = "Bamba",
                                          .keys = {.headDim = ""},
                                          .positions = 262144,
                                          .vocabulary = 128000,
                                          .inner = 14336,
                                          .kvHeads = 8,
                                          .epsilon = 1e-5});
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = source.config.getBool("mlp_bias", false);
  setBambaNames(spec);
  spec.endToken = 2;
  spec.stateSpace = readHybridStateSpace(source.config, spec);
  setMixers(spec, Mixer::StateSpace, readLayerNumbers(source.config, "attn_layer_indices", spec.layers));
  readRotary(source, spec, {.defaultShare = 0.5, .isPartial = true});
  return spec;
}

const DecoderFamily importing::bamba = {
    .read = readBamba,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::steps, harmless::mamba, harmless::bamba})};

namespace {

/// The one part of a layer of nemotron_h.
enum class Part : uint8_t { StateSpace, Attention, FeedForward, Experts };

std::optional<Part> partNamed(std::string_view name) {
  if (name == "M" || name == "mamba" || name == "linear_attention")
    return Part::StateSpace;
  if (name == "*" || name == "attention" || name == "full_attention")
    return Part::Attention;
  if (name == "-" || name == "mlp")
    return Part::FeedForward;
  if (name == "E" || name == "moe")
    return Part::Experts;
  return std::nullopt;
}

/// The parts by hybrid_override_pattern, a letter each, or layers_block_type, a word each. The number of layers is
/// theirs.
std::vector<Part> readParts(ConfigReader &config) {
  std::vector<std::string> names;
  const char *key = "layers_block_type";
  const json::Value *words = config.getRaw(key);
  const json::Array *list = words ? words->asArray() : nullptr;
  for (size_t i = 0; list && i < list->size(); ++i)
    names.push_back((*list)[i].asString() ? *(*list)[i].asString() : json::write((*list)[i]));
  const std::string pattern = config.getString("hybrid_override_pattern", "");
  if (!list) {
    key = "hybrid_override_pattern";
    for (char letter : pattern)
      names.push_back(std::string(1, letter));
  }
  std::vector<Part> parts;
  for (const std::string &name : names)
    if (std::optional<Part> part = partNamed(name))
      parts.push_back(*part);
    else
      config.fail(std::string(key) + " has \"" + json::printable(name, 40) +
                  "\", supported are M, *, - and E, or mamba, attention, mlp and moe");
  if (names.empty())
    config.fail(std::string(key) + " is missing, must name the part of each layer");
  return parts;
}

} // namespace

static ExpertsSpec readNemotronExperts(const DecoderSource &source, const DecoderSpec &spec) {
  ConfigReader &config = source.config;
  ExpertsSpec e = readExperts(source, spec, {.number = "n_routed_experts", .ofAll = 8, .ofToken = 2, .width = 7688});
  e.stacking = Stacking::None;
  e.each.up = "mixer.experts.{expert}.up_proj";
  e.each.down = "mixer.experts.{expert}.down_proj";
  e.each.packed = "";
  e.router = "mixer.gate";
  e.choiceBias = "mixer.gate.e_score_correction_bias";
  e.scores = attn::RoutingKind::sigmoid;
  e.isNormalized = config.getBool("norm_topk_prob", true);
  e.scale = config.getPositive("routed_scaling_factor", 1e6, 1);
  const int64_t groups = config.getInt("n_group", 1, 1 << 12, 1), kept = config.getInt("topk_group", 1, 1 << 12, 1);
  config.requireMultiple("n_routed_experts", e.number, "n_group", groups);
  if (kept > groups)
    config.fail("topk_group " + std::to_string(kept) + " is more than n_group " + std::to_string(groups));
  if (groups > 1)
    e.groups = ExpertsSpec::Groups{groups, kept, 2};
  e.latent = config.getInt("moe_latent_size", 0, 1 << 16, 0);
  e.latentDown = "mixer.fc1_latent_proj";
  e.latentUp = "mixer.fc2_latent_proj";
  e.hasLatentBias = spec.feedForward.hasBias;
  FeedForwardSpec shared = spec.feedForward;
  shared.inner = config.getSize("moe_shared_expert_intermediate_size", 1, 1 << 20, 7688);
  shared.up = "mixer.shared_experts.up_proj";
  shared.down = "mixer.shared_experts.down_proj";
  e.shared = shared;
  return e;
}

static DecoderSpec readNemotronH(const DecoderSource &source) {
  ConfigReader &config = source.config;
  const std::vector<Part> parts = readParts(config);
  DecoderSpec spec =
      readDecoder(source, {.architecture = "NemotronH",
                           .keys = {.activation = "",
                                    .epsilon = "layer_norm_epsilon",
                                    .headDim = config.names("head_dim") ? "head_dim" : "attention_head_dim"},
                           .layers = std::max<int64_t>(1, int64_t(parts.size())),
                           .positions = 4096,
                           .vocabulary = 131072,
                           .inner = 21504,
                           .kvHeads = 8,
                           .headDim = 128,
                           .epsilon = 1e-5});
  if (!parts.empty() && spec.layers != int64_t(parts.size()))
    config.fail("num_hidden_layers " + std::to_string(spec.layers) + " are not the " + std::to_string(parts.size()) +
                " layers of hybrid_override_pattern");
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.parts = {"mixer.q_proj", "mixer.k_proj", "mixer.v_proj"};
  spec.attention.out = "mixer.o_proj";
  spec.attention.location = "mixer";
  setPlainFeedForward(spec, "mixer.up_proj", "mixer.down_proj");
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = config.getBool("mlp_bias", false);
  config.getEnum("mlp_hidden_act", {"relu2"}, "relu2");
  spec.feedForward.activation = attn::ActivationKind::relu;
  spec.feedForward.isSquared = true;
  spec.stateSpace = readStateSpace(config,
                                   {.heads = "mamba_num_heads",
                                    .groups = {"n_groups", "mamba_n_groups"},
                                    .stateSize = "ssm_state_size",
                                    .taps = {"conv_kernel", "mamba_d_conv"},
                                    .bias = "use_bias",
                                    .convolutionBias = {"use_conv_bias", "mamba_conv_bias"},
                                    .part = "mixer",
                                    .defaultGroups = 8,
                                    .defaultStateSize = 128},
                                   config.getSize("mamba_num_heads", 1, 1 << 14, 128),
                                   config.getSize("mamba_head_dim", 1, 1 << 14, 64));
  spec.stateSpace->convolution.activation =
      activationNamed(config.getEnum("mamba_hidden_act", activationNames(), "silu"));
  spec.stateSpace->norm.norm = spec.norm;
  spec.stateSpace->norm.groups = spec.stateSpace->groups;
  if (llvm::is_contained(parts, Part::Experts))
    spec.experts = readNemotronExperts(source, spec);
  else
    for (const char *unread :
         {"moe_intermediate_size", "moe_latent_size", "moe_shared_expert_intermediate_size", "n_group",
          "n_routed_experts", "norm_topk_prob", "num_experts_per_tok", "routed_scaling_factor", "topk_group"})
      config.getRaw(unread);
  for (Part part : parts) {
    spec.mixers.push_back(part == Part::StateSpace  ? Mixer::StateSpace
                          : part == Part::Attention ? Mixer::Attention
                                                    : Mixer::None);
    spec.hasNoFeedForward.push_back(part == Part::StateSpace || part == Part::Attention);
    if (spec.experts)
      spec.experts->ofLayer.push_back(part == Part::Experts);
  }
  spec.prefixes = {"backbone.", "model."};
  spec.embedding.words = "embeddings";
  spec.residual.beforeAttention = spec.residual.beforeFeedForward = "norm";
  spec.finalNorm = "norm_f";
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::nemotronH = {
    .read = readNemotronH,
    .harmlessKeys =
        harmless::keys({harmless::decoder, harmless::router, harmless::steps, harmless::mamba, harmless::mamba2},
                       {"mamba_expand", "moe_shared_expert_overlap", "num_logits_to_keep"})};
