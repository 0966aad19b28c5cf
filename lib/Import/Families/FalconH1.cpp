//===- FalconH1.cpp - The falcon_h1 family --------------------------------===//
//
// Zuo et al. 2025, "Falcon-H1": attention and state-space duality side by side in each layer,
// and factors of what most parts read or give.
//
//===----------------------------------------------------------------------===//
#include "lib/Import/Families/Family.h"
#include "lib/Import/Families/Mamba.h"

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

static constexpr double mostFactor = 1e6;

static double readFactor(ConfigReader &config, const char *key) {
  return config.getFloat(key, -mostFactor, mostFactor, 1);
}

/// A list of factors; ones without the key.
template <size_t count> static std::array<double, count> readFactors(ConfigReader &config, const char *key) {
  std::array<double, count> factors;
  factors.fill(1);
  const json::Value *value = config.getRaw(key);
  if (!value)
    return factors;
  const json::Array *list = value->asArray();
  bool areNumbers = list && list->size() == count;
  for (size_t i = 0; areNumbers && i < count; ++i) {
    const std::optional<double> number = (*list)[i].asNumber();
    areNumbers = number && std::abs(*number) <= mostFactor;
    factors[i] = number.value_or(1);
  }
  if (!areNumbers)
    config.fail(std::string(key) + " must be a list of " + std::to_string(count) + " numbers, found " +
                json::printable(json::write(*value), 60));
  return factors;
}

static StateSpaceSpec readStates(ConfigReader &config, const DecoderSpec &spec) {
  constexpr const char *key = "mamba_d_ssm";
  std::optional<int64_t> inner = config.getOptionalInt(key, 1, 1 << 20);
  if (!inner && !config.names(key))
    inner = 1024;
  StateSpaceSpec s = readHybridStateSpace(config, spec, inner, key);
  s.hasOutBias = config.getBool("projectors_bias", false);
  s.inScale = readFactor(config, "ssm_in_multiplier");
  s.outScale = readFactor(config, "ssm_out_multiplier");
  s.scales = readFactors<5>(config, "ssm_multipliers");
  const bool hasNorm = config.getBool("mamba_rms_norm", false),
             isNormFirst = config.getBool("mamba_norm_before_gate", true);
  s.norm.groups = s.groups;
  s.norm.order = !hasNorm      ? GatedNormSpec::GateAlone
                 : isNormFirst ? GatedNormSpec::NormFirst
                               : GatedNormSpec::GateFirst;
  return s;
}

static DecoderSpec readFalconH1(const DecoderSource &source) {
  ConfigReader &config = source.config;
  DecoderSpec spec = readDecoder(source, {.architecture = "FalconH1",
                                          .positions = 8192,
                                          .vocabulary = 128000,
                                          .inner = 14336,
                                          .kvHeads = 8,
                                          .epsilon = 1e-5});
  setBambaNames(spec);
  spec.feedForward.hasBias = spec.feedForward.hasDownBias = config.getBool("mlp_bias", false);
  const std::array<double, 2> ofFeedForward = readFactors<2>(config, "mlp_multipliers");
  spec.feedForward.gateScale = ofFeedForward[0];
  spec.feedForward.downScale = ofFeedForward[1];
  spec.attention.hasBias = spec.attention.hasOutBias = config.getBool("attention_bias", false);
  spec.attention.inScale = readFactor(config, "attention_in_multiplier");
  spec.attention.outScale = readFactor(config, "attention_out_multiplier");
  spec.attention.scale *= readFactor(config, "key_multiplier"); // scores are linear in keys
  spec.embedding.scale = readFactor(config, "embedding_multiplier");
  spec.head.scale = readFactor(config, "lm_head_multiplier");
  readRotary(source, spec, {.defaultTheta = 1e5});
  spec.stateSpace = readStates(config, spec);
  readKinds(config, {"layer_types", "layers_block_type"}, spec.layers, {{{"hybrid"}, {}}});
  spec.mixers.assign(size_t(spec.layers), Mixer::AttentionAndStateSpace);
  spec.endToken = 2;
  return spec;
}

const DecoderFamily importing::falconH1 = {
    .read = readFalconH1,
    .harmlessKeys = harmless::keys({harmless::decoder, harmless::steps, harmless::mamba, harmless::bamba},
                                   {"attn_layer_indices", "mamba_use_mlp", "mlp_expansion_factor"})};
