//===- RotaryFrequencies.cpp - Rotary embedding as a config describes it ------===//
#include "lib/Import/Parts/RotaryFrequencies.h"
#include <algorithm>
#include <cmath>
#include <numbers>

using namespace rapt;
using namespace rapt::importing;
using huggingface::ConfigReader;

namespace {

constexpr double mostTheta = 1e12, mostFactor = 1e6;
constexpr int64_t mostPositions = int64_t(1) << 30;

bool areFinite(std::span<const float> frequencies) {
  return std::all_of(frequencies.begin(), frequencies.end(), [](float frequency) { return std::isfinite(frequency); });
}

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

/// The same, of a base that `config` has under `key`.
std::vector<float> readPlain(ConfigReader &config, const std::string &key, double theta, int64_t channels) {
  std::vector<float> frequencies = plainFrequencies(theta, channels);
  requireFinite(config, frequencies, config.nameOf(key) + " is " + json::write(json::Value(theta)) + ", which");
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

/// original_max_position_embeddings of yarn and longrope: positions that the model saw before its context was
/// stretched.
int64_t readOriginalPositions(ConfigReader &config, ConfigReader &scaling, int64_t positions) {
  const char *key = "original_max_position_embeddings";
  int64_t inside = scaling.getInt(key, 1, mostPositions, positions);
  // A key outside the object has priority.
  return config.getInt(key, 1, mostPositions, inside);
}

/// Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models": channels that rotate often
/// within the original context stay, those that rotate rarely are stretched by `factor`, and a ramp leads from one to
/// the other.
struct Yarn {
  double factor, fast, slow, original;
  bool isTruncated;

  /// The index among `channels` of the frequency that rotates so many times in the original context.
  static double channelOf(double rotations, double theta, int64_t channels, double original) {
    return double(channels) * std::log(original / (rotations * 2 * std::numbers::pi)) / (2 * std::log(theta));
  }

  void apply(std::vector<float> &frequencies, double theta) const {
    const int64_t channels = 2 * int64_t(frequencies.size());
    double low = channelOf(fast, theta, channels, original), high = channelOf(slow, theta, channels, original);
    if (isTruncated) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, double(channels - 1));
    if (low == high)
      high += 0.001;
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const float ramp = (float(i) - float(low)) / float(high - low), kept = 1 - std::clamp(ramp, 0.0f, 1.0f);
      const float stretched = 1.0f / (float(factor) * (1.0f / frequencies[i]));
      frequencies[i] = stretched * (1 - kept) + frequencies[i] * kept;
    }
  }
};

void readYarn(ConfigReader &config, ConfigReader &scaling, double theta, RotaryPositions positions,
              RotaryFrequencies &rotary) {
  Yarn yarn;
  const int64_t original = readOriginalPositions(config, scaling, positions.most);
  yarn.original = double(original);
  yarn.factor = scaling.getPositive("factor", mostFactor, double(positions.most) / yarn.original);
  yarn.fast = scaling.getPositive("beta_fast", mostFactor, 32);
  yarn.slow = scaling.getPositive("beta_slow", mostFactor, 1);
  yarn.isTruncated = scaling.getBool("truncate", true);
  scaling.getRaw("finetuned"); // of the files that came with the paper's models: says how they were made
  const double scale = scaling.getFloat("mscale", 0, mostFactor, 0);
  const double allScale = scaling.getFloat("mscale_all_dim", 0, mostFactor, 0);
  auto magnitude = [&](double times) { return yarn.factor <= 1 ? 1 : 0.1 * times * std::log(yarn.factor) + 1; };
  const double fallback = scale && allScale ? magnitude(scale) / magnitude(allScale) : magnitude(1);
  rotary.allMagnitude = allScale ? magnitude(allScale) : 1;
  rotary.magnitude = float(scaling.getPositive("attention_factor", mostFactor, fallback));
  const double growth = scaling.getFloat("llama_4_scaling_beta", 0, mostFactor, 0);
  if (growth && positions.longest > original)
    rotary.growth = QueryGrowth{growth, original};
  if (theta <= 1)
    scaling.fail("rope_theta " + json::write(json::Value(theta)) + " must be above 1 for " +
                 scaling.nameOf("rope_type") + " yarn");
  else
    yarn.apply(rotary.values, theta);
}

/// A number above 0 for each frequency.
std::vector<float> readFactors(ConfigReader &scaling, const char *key, size_t count) {
  std::vector<float> factors;
  const json::Value *value = scaling.getRaw(key);
  const json::Array *list = value ? value->asArray() : nullptr;
  for (size_t i = 0; list && list->size() == count && i < count; ++i)
    if (std::optional<double> number = (*list)[i].asNumber(); number && float(*number) > 0 && *number <= mostFactor)
      factors.push_back(float(*number));
  if (factors.size() != count) {
    scaling.fail(scaling.nameOf(key) + " must be a list of " + std::to_string(count) +
                 " numbers above 0, one for each pair of channels");
    factors.assign(count, 1);
  }
  return factors;
}

/// Ding et al. 2024, "LongRoPE": a factor of each frequency, of two lists by the length of the text.
void readLongRope(ConfigReader &config, ConfigReader &scaling, RotaryPositions positions, RotaryFrequencies &rotary) {
  const int64_t original = readOriginalPositions(config, scaling, positions.most);
  const std::vector<float> ofShort = readFactors(scaling, "short_factor", rotary.values.size()),
                           ofLong = readFactors(scaling, "long_factor", rotary.values.size());
  const double factor = scaling.getPositive("factor", mostFactor, double(positions.most) / double(original));
  const double fallback =
      factor <= 1 || original == 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(double(original)));
  rotary.magnitude = float(scaling.getPositive("attention_factor", mostFactor, fallback));
  auto stretched = [&](const std::vector<float> &factors) {
    std::vector<float> values = rotary.values;
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = 1.0f / (factors[i] * (1.0f / values[i]));
    return values;
  };
  if (positions.longest > original) {
    rotary.longer = LongerTexts{original, stretched(ofLong)};
    requireFinite(scaling, rotary.longer->values, scaling.nameOf("long_factor") + ": a number of it");
  }
  rotary.values = stretched(ofShort);
}

/// The keys of a type that is refused are known, and no second error.
void skipKeys(ConfigReader &scaling) {
  for (const char *key :
       {"factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate", "finetuned",
        "extrapolation_factor", "original_max_position_embeddings", "short_factor", "long_factor", "short_mscale",
        "long_mscale", "low_freq_factor", "high_freq_factor", "alpha", "mrope_section", "xpos_scale_base"})
    scaling.getRaw(key);
}

/// Beyond max_position_embeddings the base grows with the text's length. No sequence of Rapt is longer.
void readDynamic(ConfigReader &scaling, int64_t positions) {
  scaling.getPositive("factor", mostFactor);
  scaling.getInt("original_max_position_embeddings", positions, positions, positions);
}

/// The share of a head's channels that rotate.
double readShare(ConfigReader &config, const RotaryKeys &keys, double fallback) {
  return keys.isPartial ? config.getPositive(keys.share, 1, fallback) : config.getFloat(keys.share, 1, 1, 1);
}

/// The rotated channels of a head, of which two have one angle.
int64_t countRotated(ConfigReader &config, const RotaryKeys &keys, int64_t channels, double share) {
  const auto rotated = int64_t(double(channels) * share);
  if (rotated % 2 != 0)
    config.fail((keys.isPartial ? config.nameOf(keys.share.names.front()) + " " + json::write(json::Value(share)) +
                                      " rotates " + std::to_string(rotated) + " channels of a head, which"
                                : "head_dim " + std::to_string(channels)) +
                " is odd: rotary embedding rotates two channels by one angle");
  return std::max<int64_t>(rotated, 2);
}

/// `theta` and `share` are the ones outside the object.
RotaryFrequencies readScaling(ConfigReader &config, ConfigReader &scaling, int64_t channels, RotaryPositions positions,
                              const RotaryKeys &keys, double theta, double share) {
  // Versions of transformers differ in which of two bases they take.
  double inside = scaling.getPositive("rope_theta", mostTheta, theta);
  if (inside != theta && config.getRaw(keys.theta))
    scaling.fail(scaling.nameOf("rope_theta") + " " + json::write(json::Value(inside)) +
                 " differs from the one outside, " + json::write(json::Value(theta)));
  RotaryKeys insideKeys{.share = "partial_rotary_factor", .isPartial = keys.isPartial};
  const int64_t rotated = countRotated(scaling, insideKeys, channels, readShare(scaling, insideKeys, share));
  scaling.getRaw("max_position_embeddings"); // the one outside again
  std::string type = scaling.getEnum({"rope_type", "type"},
                                     {"default", "linear", "dynamic", "yarn", "llama3", "longrope", "su"}, "default");
  RotaryFrequencies rotary{readPlain(scaling, "rope_theta", inside, rotated)};
  const bool isPlainFinite = areFinite(rotary.values);
  const json::Value *given = scaling.getRaw("rope_type") ? scaling.getRaw("rope_type") : scaling.getRaw("type");
  if (given && given->asString() && *given->asString() != type) {
    skipKeys(scaling);
  } else if (type == "linear") {
    float factor = static_cast<float>(scaling.getPositive("factor", mostFactor));
    for (float &frequency : rotary.values)
      frequency /= factor;
  } else if (type == "llama3") {
    Llama3 llama3 = readLlama3(config, scaling, positions.most);
    for (float &frequency : rotary.values)
      frequency = llama3(frequency);
  } else if (type == "dynamic") {
    readDynamic(scaling, positions.most);
  } else if (type == "yarn") {
    readYarn(config, scaling, inside, positions, rotary);
  } else if (type == "longrope" || type == "su") {
    readLongRope(config, scaling, positions, rotary);
  }
  if (isPlainFinite)
    requireFinite(scaling, rotary.values, scaling.nameOf("rope_type") + " " + type + ": a number of it");
  return rotary;
}

/// M-RoPE (Wang et al. 2024) as Qwen3-VL interleaves it: the frequencies are of time, row and column in turn, as far as
/// the sections of row and column have frequencies, and then of time.
void setAxes(const std::array<int64_t, 3> &sections, RotaryFrequencies &rotary) {
  for (int64_t pair = 0; pair < int64_t(rotary.values.size()); ++pair) {
    const int64_t axis = pair % 3;
    rotary.axes.push_back(axis && pair < 3 * sections[size_t(axis)] ? axis : 0);
  }
}

/// The keys of the frequencies' axes; `sections` are those without mrope_section.
void readSections(ConfigReader &scaling, std::array<int64_t, 3> sections, RotaryFrequencies &rotary) {
  const auto pairs = int64_t(rotary.values.size());
  if (const json::Value *given = scaling.getRaw("mrope_section")) {
    const json::Array *list = given->asArray();
    int64_t sum = list && list->size() == sections.size() ? 0 : -1;
    for (size_t i = 0; sum >= 0 && i < sections.size(); ++i) {
      sections[i] = (*list)[i].asInteger().value_or(-1);
      sum = sections[i] < 0 || sections[i] > pairs ? -1 : sum + sections[i];
    }
    if (sum != pairs)
      scaling.fail(scaling.nameOf("mrope_section") + " is " + json::printable(json::write(*given), 60) +
                   ", must be three numbers of frequencies, " + std::to_string(pairs) + " in all");
  }
  if (!scaling.getBool("mrope_interleaved", true))
    scaling.fail(scaling.nameOf("mrope_interleaved") + " is false: frequencies in blocks of time, row and column are "
                                                       "not supported");
  if (rotary.longer)
    scaling.fail(scaling.nameOf("rope_type") + " longrope is not supported with positions of time, row and column");
  setAxes(sections, rotary);
}

} // namespace

void importing::requireFinite(ConfigReader &config, std::span<const float> frequencies, const std::string &what) {
  if (!areFinite(frequencies))
    config.fail(what + " makes a frequency of rotary embedding infinite");
}

RotaryFrequencies importing::plainRotary(double theta, int64_t channels) { return {plainFrequencies(theta, channels)}; }

RotaryFrequencies importing::proportionalRotary(double theta, int64_t channels, double share, double factor) {
  RotaryFrequencies rotary = plainRotary(theta, channels);
  const auto rotated = size_t(double(channels) * share) / 2;
  for (size_t i = 0; i < rotary.values.size(); ++i)
    rotary.values[i] = i < rotated ? rotary.values[i] / float(factor) : 0;
  return rotary;
}

RotaryFrequencies importing::readRotaryFrequencies(ConfigReader &config, int64_t channels, RotaryPositions positions,
                                                   const RotaryKeys &keys) {
  const double theta = config.getPositive(keys.theta, mostTheta, keys.defaultTheta);
  const double share = readShare(config, keys, keys.defaultShare);
  std::optional<ConfigReader> scaling = config.open({"rope_parameters", "rope_scaling"});
  if (!scaling) {
    RotaryFrequencies plain{
        readPlain(config, keys.theta.names.front(), theta, countRotated(config, keys, channels, share))};
    if (keys.sections)
      setAxes(*keys.sections, plain);
    return plain;
  }
  RotaryFrequencies rotary = readScaling(config, *scaling, channels, positions, keys, theta, share);
  if (keys.sections)
    readSections(*scaling, *keys.sections, rotary);
  config.close(std::move(*scaling), keys.harmless);
  return rotary;
}

std::array<RotaryFrequencies, 2> importing::readRotaryByLayerType(ConfigReader &config, int64_t channels,
                                                                  RotaryPositions positions,
                                                                  const std::array<RotaryKeys, 2> &keys) {
  constexpr const char *types[] = {"full_attention", "sliding_attention"};
  std::array<RotaryFrequencies, 2> rotary;
  std::optional<ConfigReader> parameters = config.open("rope_parameters");
  const bool isByType = parameters && (parameters->getRaw(types[0]) || parameters->getRaw(types[1]));
  if (!isByType) {
    const double local = config.getPositive(keys[1].theta, mostTheta, keys[1].defaultTheta);
    rotary[0] = readRotaryFrequencies(config, channels, positions, keys[0]);
    rotary[1] = {readPlain(config, keys[1].theta.names.front(), local, countRotated(config, keys[1], channels, 1))};
    return rotary;
  }
  for (size_t i = 0; i < 2; ++i) {
    const double theta = config.getPositive(keys[i].theta, mostTheta, keys[i].defaultTheta);
    const int64_t rotated = countRotated(config, keys[i], channels, 1);
    rotary[i] = {readPlain(config, keys[i].theta.names.front(), theta, rotated)};
    if (std::optional<ConfigReader> scaling = parameters->open(types[i])) {
      rotary[i] = readScaling(config, *scaling, channels, positions, keys[i], theta, 1);
      parameters->close(std::move(*scaling));
    }
  }
  config.close(std::move(*parameters));
  return rotary;
}
