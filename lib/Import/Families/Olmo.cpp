//===- Olmo.cpp - The olmo, olmo2, olmo3, olmo_hybrid and olmoe families -===//
//
// Groeneveld et al. 2024, "OLMo: Accelerating the Science of Language Models": the llama
// family's layers with layer norms that have no weights, and bounds of queries, keys and
// values.
//
// OLMo Team 2024, "2 OLMo 2 Furious": the llama family's layers with RMS norms behind
// attention and feed-forward instead of before, and one of all queries, and of all keys.
//
// OLMo Team 2025, "OLMo 3": olmo2 with a window of three layers of four, whose rotary
// embedding is not stretched.
//
// OLMo Team 2026, "OLMo Hybrid": olmo2 with the gated delta rule in place of attention in three
// layers of four, whose norms are ahead of their parts.
//
// Muennighoff et al. 2024, "OLMoE: Open Mixture-of-Experts Language Models": the llama
// family's layers with one norm of all queries, and of all keys, and experts in place of the
// feed-forward.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/DeltaRule.h"
#include "lib/Import/Families/Family.h"
#include "lib/Import/Specs/DecoderConfig.h"

using namespace rapt;
using namespace rapt::importing;

static DecoderSpec readOlmo(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Olmo",
                                          .keys = {.epsilon = ""},
                                          .vocabulary = 50304,
                                          .inner = 11008,
                                          .epsilon = 1e-5,
                                          .padding = 1});
  spec.norm.kind = NormSpec::Layer;
  spec.norm.hasWeight = false;
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.clip = readClip(config, "clip_qkv");
  readRotary(source, spec);
  spec.endToken = 50279;
  return spec;
}

const DecoderFamily importing::olmo = {.read = readOlmo};

/// Norms behind attention and feed-forward instead of before, and of all queries, and of all keys.
static void setOlmo2Parts(const DecoderSource &source, DecoderSpec &spec) {
  spec.attention.hasBias = spec.attention.hasOutBias = source.config.getBool("attention_bias", false);
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm, .extent = QueryKeyNormSpec::All};
  spec.residual = {.beforeAttention = "",
                   .beforeFeedForward = "",
                   .afterAttention = "post_attention_layernorm",
                   .afterFeedForward = "post_feedforward_layernorm"};
  spec.endToken = 50279;
}

static DecoderSpec readOlmo2(const DecoderSource &source) {
  DecoderSpec spec = readDecoder(
      source, {.architecture = "Olmo2", .vocabulary = 50304, .inner = 11008, .epsilon = 1e-5, .padding = 1});
  setOlmo2Parts(source, spec);
  readRotary(source, spec);
  return spec;
}

const DecoderFamily importing::olmo2 = {.read = readOlmo2};

/// Every fourth layer sees all positions.
static std::vector<bool> readWindowedLayers(huggingface::ConfigReader &config, int64_t layers) {
  std::vector<bool> windowed(layers);
  for (int64_t layer = 0; layer < layers; ++layer)
    windowed[layer] = (layer + 1) % 4 != 0;
  return readLayerTypes(config, layers).value_or(windowed);
}

static DecoderSpec readOlmo3(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(
      source, {.architecture = "Olmo3", .vocabulary = 50304, .inner = 11008, .epsilon = 1e-5, .padding = 1});
  setOlmo2Parts(source, spec);
  const std::vector<bool> windowed = readWindowedLayers(config, spec.layers);
  const RotaryKeys keys{.defaultTheta = 5e5};
  readRotaryByLayer(source, spec, spec.positions, windowed, {keys, keys});
  setWindows(spec, spec.positions, windowed, readWindow(config, 4096));
  return spec;
}

const DecoderFamily importing::olmo3 = {.read = readOlmo3};

/// The gated delta rule with a projection, and a convolution, of queries, of keys and of values each. Sizes that are
/// not given follow from those of attention.
static DeltaRuleSpec readDeltaRule(huggingface::ConfigReader &config, const DecoderSpec &spec) {
  constexpr int64_t most = 1 << 12;
  const std::string part = "linear_attn.";
  DeltaRuleSpec d;
  d.keyHeads = config.getOptionalInt("linear_num_key_heads", 1, most).value_or(spec.attention.heads);
  d.valueHeads = config.getOptionalInt("linear_num_value_heads", 1, most).value_or(spec.attention.heads);
  d.keyDim = config.getOptionalInt("linear_key_head_dim", 1, most)
                 .value_or(std::max<int64_t>(1, int64_t(0.75 * double(spec.width) / double(d.keyHeads))));
  d.valueDim = config.getOptionalInt("linear_value_head_dim", 1, most).value_or(2 * d.keyDim);
  config.requireMultiple("linear_num_value_heads", d.valueHeads, "linear_num_key_heads", d.keyHeads);
  setSeparateParts(d, part, config.getSize("linear_conv_kernel_dim", 2, 64, 4));
  d.gate = part + "g_proj";
  d.decay = part + "a_proj";
  d.betaScale = config.getBool("linear_allow_neg_eigval", true) ? 2 : 1;
  d.norm.norm = {.kind = NormSpec::RMS, .epsilon = 1e-5}; // whatever that of the other norms is
  return d;
}

static DecoderSpec readOlmoHybrid(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "OlmoHybrid",
                                          .keys = {.headDim = ""},
                                          .width = 3840,
                                          .heads = 30,
                                          .positions = 65536,
                                          .vocabulary = 100352,
                                          .inner = 11008});
  setOlmo2Parts(source, spec);
  spec.endToken = std::nullopt;
  spec.otherResidual = ResidualSpec{}; // norms ahead, of the usual names
  spec.delta = readDeltaRule(config, spec);
  std::vector<bool> attends =
      readKinds(config, "layer_types", spec.layers, {{{"linear_attention"}, {"full_attention"}}});
  if (attends.empty()) {
    for (int64_t layer = 0; layer < spec.layers; ++layer)
      attends.push_back(layer % 4 == 3);
    attends.back() = attends.back() || spec.layers < 4;
  }
  setMixers(spec, Mixer::DeltaRule, attends);
  if (config.getRaw("rope_parameters")) // without it nothing rotates
    readRotary(source, spec, {.defaultTheta = 5e5});
  return spec;
}

const DecoderFamily importing::olmoHybrid = {
    .read = readOlmoHybrid,
    .harmlessKeys = harmless::keys({harmless::decoder}, {"linear_a_log_max", "linear_a_log_min", "linear_dt_init_floor",
                                                         "linear_dt_max", "linear_dt_min"})};

static DecoderSpec readOlmoe(const DecoderSource &source) {
  huggingface::ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "Olmoe",
                                          .width = 2048,
                                          .layers = 16,
                                          .heads = 16,
                                          .positions = 4096,
                                          .vocabulary = 50304,
                                          .inner = 2048,
                                          .epsilon = 1e-5,
                                          .padding = 1});
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.clip = readClip(config, "clip_qkv");
  spec.attention.norm = QueryKeyNormSpec{.norm = spec.norm, .extent = QueryKeyNormSpec::All};
  readRotary(source, spec);
  spec.experts = readExperts(source, spec, {.inner = "intermediate_size", .ofAll = 64, .ofToken = 8, .width = 2048});
  spec.experts->isNormalized = config.getBool("norm_topk_prob", false);
  spec.endToken = 50279;
  return spec;
}

const DecoderFamily importing::olmoe = {.read = readOlmoe,
                                        .harmlessKeys = harmless::keys({harmless::decoder, harmless::router})};
