//===- Gemma4.cpp - The gemma4_text and gemma4_unified_text families ------===//
//
// Gemma Team 2026, "Gemma 4": gemma3's norms and windows, with plain gains, scores without a
// scale, values with a norm, and layers without a window whose heads are larger and rotate in
// part. The last layers of small models read the keys and values of others and may have a wider
// feed-forward; each layer may have inputs of its own. Directories of gemma4 and gemma4_unified
// have towers for images and sound beside the text part, which are not compiled.
//
// No paper says all of this. Defaults are those of configuration_gemma4.py and
// configuration_gemma4_unified.py of transformers at 008e5743, the order of the parts is that of
// mlx_lm/models/gemma4_text.py at d78bf58e.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"
#include "lib/Import/Specs/TextPart.h"
#include "lib/Import/Specs/VisionLanguage.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

/// The layers that have a window: by layer_types, or all but every sixth one. The last one never has.
static std::vector<bool> readWindowed(ConfigReader &config, int64_t layers) {
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % 6 != 0;
  windowed = readLayerTypes(config, layers).value_or(windowed);
  windowed.back() = false;
  return windowed;
}

/// The last num_kv_shared_layers layers read the keys of the last layer of their type that has its own.
static void readSharedKeys(ConfigReader &config, const std::vector<bool> &windowed, DecoderSpec &spec) {
  constexpr const char *key = "num_kv_shared_layers";
  const int64_t shared = config.getInt(key, 0, spec.layers - 1, 0), own = spec.layers - shared;
  const bool isDouble = config.getBool("use_double_wide_mlp", false);
  if (shared == 0)
    return;
  for (int64_t layer = 0; layer < spec.layers; ++layer) {
    int64_t source = layer;
    if (layer >= own)
      for (source = own - 1; source >= 0 && windowed[source] != windowed[layer];)
        --source;
    if (source < 0) {
      config.fail(std::string(key) + " is " + std::to_string(shared) + ", but none of the first " +
                  std::to_string(own) + " layers is of the type of layer " + std::to_string(layer) + ", " +
                  (windowed[layer] ? "sliding_attention" : "full_attention"));
      return;
    }
    spec.keysOf.push_back(source);
    spec.innerOfLayer.push_back(spec.feedForward.inner * (isDouble && layer >= own ? 2 : 1));
    // Files may have what the layer does not read.
    for (const char *part : {"k_proj", "v_proj", "k_norm", "v_norm"})
      if (layer >= own)
        spec.ignoredTensors.push_back("*layers." + std::to_string(layer) + ".self_attn." + part + ".*");
  }
}

/// The attention of layers without a window.
static AttentionSpec readWholeAttention(ConfigReader &config, AttentionSpec attention) {
  attention.headDim = config.getInt("global_head_dim", 1, 1 << 12, 512);
  attention.hasValuesOfKeys = config.getBool("attention_k_eq_v", false);
  constexpr const char *key = "num_global_key_value_heads";
  const std::optional<int64_t> groups = config.getOptionalInt(key, 1, 1 << 12);
  if (attention.hasValuesOfKeys && groups) {
    attention.kvHeads = *groups;
    config.requireMultiple("num_attention_heads", attention.heads, key, *groups);
  }
  return attention;
}

/// The rotation of layers of one type; without rope_parameters it is all pairs, or a quarter of them.
static RotaryFrequencies readRotation(ConfigReader &config, ConfigReader *parameters, const char *type,
                                      int64_t channels) {
  const bool isWhole = std::string_view(type) == "full_attention";
  double theta = isWhole ? 1e6 : 1e4, share = isWhole ? 0.25 : 1, factor = 1;
  std::optional<ConfigReader> own = parameters ? parameters->open(type) : std::nullopt;
  if (own) {
    theta = own->getPositive("rope_theta", 1e12, theta);
    const bool isProportional = own->getEnum("rope_type", {"default", "proportional"}, "default") == "proportional";
    share = isProportional ? own->getPositive("partial_rotary_factor", 1, 1)
                           : own->getFloat("partial_rotary_factor", 1, 1, 1);
    factor = isProportional ? own->getPositive("factor", 1e6, 1) : 1;
    parameters->close(std::move(*own));
  }
  if (channels % 2 != 0)
    config.fail(std::string(isWhole ? "global_head_dim " : "head_dim ") + std::to_string(channels) +
                " is odd: rotary embedding rotates two channels by one angle");
  RotaryFrequencies rotary = proportionalRotary(theta, channels, share, factor);
  requireFinite(config, rotary.values, std::string("rope_theta of ") + type);
  return rotary;
}

static void readRotations(ConfigReader &config, const std::vector<bool> &windowed, DecoderSpec &spec) {
  std::optional<ConfigReader> parameters = config.open("rope_parameters");
  ConfigReader *given = parameters ? &*parameters : nullptr;
  AttentionSpec &attention = spec.attention;
  attention.rotary = {readRotation(config, given, "full_attention", spec.wholeAttention->headDim),
                      readRotation(config, given, "sliding_attention", attention.headDim)};
  for (bool isWindowed : windowed)
    attention.rotaryOfLayer.push_back(isWindowed ? 1 : 0);
  spec.wholeAttention->rotary = attention.rotary;
  spec.wholeAttention->rotaryOfLayer = attention.rotaryOfLayer;
  if (parameters)
    config.close(std::move(*parameters));
}

/// Inputs of layers, where the config gives them columns.
static void readOwnInputs(const DecoderSource &source, int64_t fallback, DecoderSpec &spec) {
  ConfigReader &config = source.config;
  constexpr const char *key = "hidden_size_per_layer_input", *words = "vocab_size_per_layer_input";
  OwnInputsSpec own;
  own.columns = config.getOptionalInt(key, 0, 1 << 16).value_or(config.names(key) ? 0 : fallback);
  own.words = config.getInt(words, 0, 1 << 24, 262144);
  if (own.columns == 0)
    return;
  if (own.words < spec.vocabulary)
    config.fail(std::string(words) + " " + std::to_string(own.words) + " is less than vocab_size " +
                std::to_string(spec.vocabulary) + ": a token has no row of inputs");
  own.tableScale = roundedToWeights(source, std::sqrt(double(own.columns)));
  spec.ownInputs = own;
}

/// Experts beside each layer's feed-forward.
static ExpertsSpec readExperts(ConfigReader &config, const DecoderSpec &spec) {
  constexpr const char *number = "num_experts", *ofToken = "top_k_experts";
  ExpertsSpec experts;
  experts.number = config.getInt(number, 1, 4096);
  experts.ofToken = config.getInt(ofToken, 1, 4096);
  if (experts.ofToken > experts.number)
    config.fail(std::string(ofToken) + " " + std::to_string(experts.ofToken) + " is more than " + number + " " +
                std::to_string(experts.number));
  experts.each = spec.feedForward;
  experts.each.inner = config.getInt("moe_intermediate_size", 1, 1 << 20);
  experts.stacking = Stacking::Rows;
  experts.each.gate = "experts.gate_proj";
  experts.each.up = "experts.up_proj";
  experts.each.packed = "experts.gate_up_proj";
  experts.each.down = "experts.down_proj";
  experts.router = "router.proj";
  experts.routerScale = 1 / std::sqrt(double(spec.width));
  experts.isNormalized = true;
  experts.scaleOfEach = "router.per_expert_scale";
  NormSpec ofRouter = spec.norm;
  ofRouter.names[0] = "scale";
  experts.beside = ExpertsSpec::Beside{.routerNorm = "router",
                                       .ofRouter = ofRouter,
                                       .beforeExperts = "pre_feedforward_layernorm_2",
                                       .afterExperts = "post_feedforward_layernorm_2",
                                       .afterFeedForward = "post_feedforward_layernorm_1"};
  return experts;
}

/// What unified models have by default; keys that they lack count as the class's others do.
struct Defaults {
  const char *architecture;
  int64_t positions, window, ownInputs;
};

static DecoderSpec readText(const DecoderSource &source, const Defaults &defaults) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = defaults.architecture,
                                          .wholeClass = std::string(defaults.architecture) + "Text",
                                          .keys = {.activation = "hidden_activation"},
                                          .width = 2304,
                                          .layers = 30,
                                          .heads = 8,
                                          .positions = defaults.positions,
                                          .vocabulary = 262144,
                                          .inner = 9216,
                                          .kvHeads = 4,
                                          .headDim = 256,
                                          .activation = "gelu_pytorch_tanh",
                                          .isTied = true,
                                          .padding = 0});
  spec.endToken = 1;
  spec.embedding.scale = roundedToWeights(source, std::sqrt(double(spec.width)));
  spec.head.softCap = readSoftCap(config, "final_logit_softcapping", 0);
  spec.residual = {.beforeFeedForward = "pre_feedforward_layernorm",
                   .afterAttention = "post_attention_layernorm",
                   .afterFeedForward = "post_feedforward_layernorm",
                   .scaleOfLayer = "layer_scalar"};
  AttentionSpec &attention = spec.attention;
  attention.scale = 1;
  attention.hasBias = attention.hasOutBias = config.getBool("attention_bias", false);
  attention.norm = QueryKeyNormSpec{.norm = spec.norm};
  attention.valueNorm = spec.norm;
  attention.valueNorm->hasWeight = false;
  // Tokens of images see one another; a text has none.
  constexpr const char *around = "use_bidirectional_attention";
  if (config.getRaw(around) && config.getEnum(around, {"vision", "all"}) == "all")
    config.fail(std::string(around) + " is \"all\": tokens that see those behind them are not supported by the " +
                source.model.modelType() + " family");
  if (config.getBool("enable_moe_block", false))
    spec.experts = readExperts(config, spec);
  else
    for (const char *key : {"num_experts", "top_k_experts", "moe_intermediate_size"})
      config.getRaw(key);
  spec.wholeAttention = readWholeAttention(config, attention);
  const std::vector<bool> windowed = readWindowed(config, spec.layers);
  readSharedKeys(config, windowed, spec);
  readRotations(config, windowed, spec);
  const int64_t window = config.getInt("sliding_window", 1, int64_t(1) << 30, defaults.window);
  for (bool isWindowed : windowed)
    attention.windows.push_back(isWindowed ? std::optional(window) : std::nullopt);
  readOwnInputs(source, defaults.ownInputs, spec);
  return spec;
}

static DecoderSpec readGemma4(const DecoderSource &source) {
  return readText(source, {.architecture = "Gemma4", .positions = 131072, .window = 512, .ownInputs = 256});
}

static DecoderSpec readUnified(const DecoderSource &source) {
  return readText(source, {.architecture = "Gemma4Unified", .positions = 262144, .window = 1024, .ownInputs = 0});
}

const DecoderFamily importing::gemma4 = {.read = readGemma4, .ignoredTensors = {"*rotary_emb.*"}};
static const DecoderFamily unified = {.read = readUnified, .ignoredTensors = {"*rotary_emb.*"}};

static DecoderSpec readWhole(const DecoderSource &source) {
  const TextFamily plain[] = {{"gemma4_text", gemma4}}, families[] = {{"gemma4_unified_text", unified}};
  return readTextPart(source, source.model.modelType() == "gemma4" ? plain : families);
}

const DecoderFamily importing::gemma4Whole = {
    .read = readWhole,
    .harmlessKeys = {"audio_config", "audio_token_id", "boa_token_id", "boi_token_id", "eoa_token_id",
                     "eoa_token_index", "eoi_token_id", imageIdKeys[1], "video_token_id", "vision_config",
                     "vision_soft_tokens_per_image"},
    .ignoredTensors = {"*vision_tower.*", "*vision_embedder.*", "*audio_tower.*", "*embed_vision.*", "*embed_audio.*",
                       "*rotary_emb.*"}};
