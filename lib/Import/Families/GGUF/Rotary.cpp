//===- Rotary.cpp - Rotary embedding of a GGUF file as config.json has it -===//
#include "lib/Import/Families/GGUF/Translation.h"
#include <cmath>

using namespace rapt;
using namespace rapt::importing;

namespace {

json::Array arrayOf(const std::vector<double> &numbers) {
  json::Array list;
  for (double number : numbers)
    list.emplace_back(number);
  return list;
}

/// Factors of the frequencies, of two lists by the length of the text.
json::Object longRope(const std::vector<double> &ofShort, const std::vector<double> &ofLong, int64_t original,
                      double magnitude) {
  return {{"rope_type", json::Value("longrope")},
          {"short_factor", json::Value(arrayOf(ofShort))},
          {"long_factor", json::Value(arrayOf(ofLong))},
          {"original_max_position_embeddings", json::Value(original)},
          {"attention_factor", json::Value(magnitude)}};
}

/// The factor of cosines and sines is `times` that of the family.
json::Object yarn(Translation &t, double factor, int64_t original, double times, Magnitudes magnitudes) {
  json::Object scaling = {{"rope_type", json::Value("yarn")},
                          {"factor", json::Value(factor)},
                          {"original_max_position_embeddings", json::Value(original)}};
  // Hugging Face obeys both, llama.cpp in few families.
  if (std::optional<double> fast = t.number("rope.scaling.yarn_beta_fast"))
    scaling.emplace_back("beta_fast", *fast);
  if (std::optional<double> slow = t.number("rope.scaling.yarn_beta_slow"))
    scaling.emplace_back("beta_slow", *slow);
  if (const double all = t.number("rope.scaling.yarn_log_multiplier").value_or(0); all != 0) {
    if (magnitudes == Magnitudes::None)
      t.fail("rope.scaling.yarn_log_multiplier", "yarn with it is not supported for this architecture");
    // Of seven digits, as config.json has them: a tenth of 0.707 times ten is another number.
    const double ofScores = magnitudes == Magnitudes::Equal ? std::round(all * 1e8) / 1e7 : all;
    scaling.emplace_back("mscale", magnitudes == Magnitudes::Equal ? ofScores : 1.0);
    scaling.emplace_back("mscale_all_dim", ofScores);
  }
  t.pass("rope.scaling.yarn_ext_factor");
  t.pass("rope.scaling.yarn_attn_factor"); // computed from the factor
  if (times != 1 && factor > 0)
    scaling.emplace_back("attention_factor", times * (factor <= 1 ? 1 : 0.1 * std::log(factor) + 1));
  return scaling;
}

/// rope_scaling; empty: there is none.
json::Object readScaling(Translation &t, int64_t rotated, Magnitudes magnitudes) {
  const int64_t positions = t.required("context_length", 1, mostPositions);
  const int64_t original = t.integer("rope.scaling.original_context_length", 1, mostPositions).value_or(positions);
  std::string type = t.text("rope.scaling.type");
  const std::optional<double> old = t.number("rope.scale_linear");
  double factor = t.number("rope.scaling.factor").value_or(old.value_or(1));
  factor = factor == 0 ? 1 : factor;
  const double times = t.number("rope.scaling.attn_factor").value_or(1);
  t.pass("rope.scaling.finetuned"); // how the model was made
  constexpr const char *ofLong = "rope_factors_long.weight", *ofShort = "rope_factors_short.weight",
                       *ofAll = "rope_freqs.weight";
  if (t.has(ofLong) || t.has(ofShort))
    return longRope(t.takeVector(ofShort, rotated / 2), t.takeVector(ofLong, rotated / 2), original, times);
  if (t.has(ofAll)) {
    if (factor != 1)
      t.fail("rope.scaling.factor", "beside the tensor rope_freqs.weight it is not supported");
    const std::vector<double> factors = t.takeVector(ofAll, rotated / 2);
    return longRope(factors, factors, positions, times);
  }
  if (type == "yarn")
    return yarn(t, factor, original, times, magnitudes);
  if (type == "longrope")
    t.fail("rope.scaling.type", "longrope without the tensors rope_factors_long.weight and rope_factors_short.weight");
  else if (!type.empty() && type != "none" && type != "linear")
    t.fail("rope.scaling.type", "\"" + json::printable(type, 40) + "\" is not known");
  if (times != 1)
    t.fail("rope.scaling.attn_factor", "it is not supported without yarn or longrope");
  for (const char *key : {"ext_factor", "attn_factor", "beta_fast", "beta_slow", "log_multiplier"})
    t.pass("rope.scaling.yarn_" + std::string(key));
  if (type == "none" || factor == 1)
    return {};
  return {{"rope_type", json::Value("linear")}, {"factor", json::Value(factor)}};
}

} // namespace

void importing::setRotary(Translation &t, Rotated which, Magnitudes magnitudes) {
  const int64_t channels = t.sizes().channels;
  const int64_t rotated = t.integer("rope.dimension_count", 1, channels).value_or(channels);
  t.set("rope_theta", t.number("rope.freq_base").value_or(10000));
  if (rotated % 2 != 0)
    t.fail("rope.dimension_count", std::to_string(rotated) + " is odd: two channels rotate by one angle");
  if (which == Rotated::Apart) {
    t.set("qk_rope_head_dim", rotated);
  } else if (which == Rotated::Share) {
    double share = double(rotated) / double(channels); // as many channels again where it is rounded down
    while (int64_t(double(channels) * share) < rotated)
      share = std::nextafter(share, 2);
    t.set("partial_rotary_factor", share);
  } else if (rotated != channels) {
    t.fail("rope.dimension_count", std::to_string(rotated) + " of the " + std::to_string(channels) +
                                       " channels of a head, which is not supported for this architecture");
  }
  if (json::Object scaling = readScaling(t, rotated, magnitudes); !scaling.empty())
    t.set("rope_scaling", std::move(scaling));
}
