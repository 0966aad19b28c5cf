//===- RotaryFrequencies.cpp - Rotary embedding as a config describes it ------===//
#include "lib/Import/RotaryFrequencies.h"
#include <cmath>
#include <numbers>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

namespace {

constexpr double mostTheta = 1e12, mostFactor = 1e6;
constexpr int64_t mostPositions = int64_t(1) << 30;

/// theta^(-2i / channels).
std::vector<float> plainFrequencies(double theta, int64_t channels) {
  std::vector<float> frequencies;
  for (int64_t i = 0; i < channels / 2; ++i) {
    float exponent = static_cast<float>(2 * i) / static_cast<float>(channels);
    float power = static_cast<float>(std::pow(static_cast<double>(static_cast<float>(theta)), exponent));
    frequencies.push_back(1.0f / power);
  }
  return frequencies;
}

/// The type llama3: long waves are stretched by `factor`, short ones are not, those between in part.
struct Llama3 {
  float factor, lowFactor, highFactor, original;

  float operator()(float frequency) const {
    float wave = static_cast<float>(2 * std::numbers::pi) / frequency;
    if (wave > original / lowFactor)
      return frequency / factor;
    if (wave < original / highFactor)
      return frequency;
    float smooth = (original / wave - lowFactor) / (highFactor - lowFactor);
    return (1 - smooth) * frequency / factor + smooth * frequency;
  }
};

Llama3 readLlama3(ConfigReader &config, ConfigReader &scaling, int64_t positions) {
  Llama3 llama3;
  llama3.factor = static_cast<float>(scaling.getPositive("factor", mostFactor));
  llama3.lowFactor = static_cast<float>(scaling.getPositive("low_freq_factor", mostFactor));
  llama3.highFactor = static_cast<float>(scaling.getPositive("high_freq_factor", mostFactor));
  if (scaling.errors() && llama3.lowFactor >= llama3.highFactor)
    scaling.fail(scaling.nameOf("low_freq_factor") + " " + json::write(json::Value(double(llama3.lowFactor))) +
                 " is not less than high_freq_factor " + json::write(json::Value(double(llama3.highFactor))));
  // A key outside the object has priority.
  int64_t inside = scaling.getInt("original_max_position_embeddings", 1, mostPositions, positions);
  llama3.original = static_cast<float>(config.getInt("original_max_position_embeddings", 1, mostPositions, inside));
  return llama3;
}

} // namespace

std::vector<float> importing::readRotaryFrequencies(ConfigReader &config, int64_t channels, int64_t positions) {
  double theta = config.getPositive("rope_theta", mostTheta, 10000);
  config.getFloat("partial_rotary_factor", 1, 1, 1);
  if (channels % 2 != 0)
    config.fail("head_dim " + std::to_string(channels) + " is odd: rotary embedding takes channels in pairs");
  std::optional<ConfigReader> scaling = config.open({"rope_parameters", "rope_scaling"});
  if (!scaling)
    return plainFrequencies(theta, channels);

  // Versions of transformers differ in which of two bases they take.
  double inside = scaling->getPositive("rope_theta", mostTheta, theta);
  if (inside != theta && config.getRaw("rope_theta"))
    scaling->fail(scaling->nameOf("rope_theta") + " " + json::write(json::Value(inside)) +
                  " differs from the one outside, " + json::write(json::Value(theta)));
  scaling->getFloat("partial_rotary_factor", 1, 1, 1);
  std::string type = scaling->getEnum({"rope_type", "type"}, {"default", "linear", "llama3"}, "default");
  std::vector<float> frequencies = plainFrequencies(inside, channels);
  // Keys of a type that is refused are known, and no second error.
  const json::Value *given = scaling->getRaw("rope_type") ? scaling->getRaw("rope_type") : scaling->getRaw("type");
  if (given && given->asString() && *given->asString() != type)
    for (const char *key :
         {"factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate", "finetuned",
          "extrapolation_factor", "original_max_position_embeddings", "short_factor", "long_factor", "short_mscale",
          "long_mscale", "low_freq_factor", "high_freq_factor", "alpha", "mrope_section", "xpos_scale_base"})
      scaling->getRaw(key);
  if (type == "linear") {
    float factor = static_cast<float>(scaling->getPositive("factor", mostFactor));
    for (float &frequency : frequencies)
      frequency /= factor;
  } else if (type == "llama3") {
    Llama3 llama3 = readLlama3(config, *scaling, positions);
    for (float &frequency : frequencies)
      frequency = llama3(frequency);
  }
  config.close(std::move(*scaling));
  return frequencies;
}
