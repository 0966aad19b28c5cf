//===- RotaryFrequencies.h - Rotary embedding as a config describes it ----*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include <array>
#include <span>

namespace rapt::importing {

/// Scores of a query at position p are times 1 + factor * log(1 + floor(p / original)), which keeps attention sharp
/// over long texts (Llama 4).
struct QueryGrowth {
  double factor;
  int64_t original; ///< positions that the model saw before its context was stretched
};

/// Texts of more tokens than `original` have frequencies of their own.
struct LongerTexts {
  int64_t original;
  std::vector<float> values;
};

/// The attributes of attn.rotary_table: channels / 2 frequencies in radians a position, rounded step by step as Hugging
/// Face's inv_freq, which is f32, and the factor of cosines and sines.
struct RotaryFrequencies {
  std::vector<float> values;
  float magnitude = 1;
  double allMagnitude = 1;                ///< by mscale_all_dim of yarn: latent attention's scores have it squared
  std::optional<LongerTexts> longer = {}; ///< nothing where no sequence is longer than the original context
  std::optional<QueryGrowth> growth = {}; ///< nothing where no sequence is longer than the original context
  std::vector<int64_t> axes = {};         ///< of each frequency, where tokens have positions in several; empty: in one
};

/// Positions that a config and the user ask for.
struct RotaryPositions {
  int64_t most;    ///< max_position_embeddings
  int64_t longest; ///< of a sequence; at most `most`
};

/// A family's names of keys, and what its configuration class takes without them.
struct RotaryKeys {
  huggingface::Keys theta = "rope_theta", share = "partial_rotary_factor";
  double defaultTheta = 10000, defaultShare = 1;
  bool isPartial = false;                      ///< a part of a head's channels may rotate
  std::vector<std::string_view> harmless = {}; ///< keys of rope_parameters on which texts do not depend
  /// Frequencies of time, row and column where tokens have positions of each; nothing: they have one.
  std::optional<std::array<int64_t, 3>> sections = {};
};

/// theta^(-2i / channels) for each pair i of the rotated channels.
RotaryFrequencies plainRotary(double theta, int64_t channels);

/// theta^(-2i / channels) / factor for the first pairs of the whole head, `share` of them, and 0 for the others.
RotaryFrequencies proportionalRotary(double theta, int64_t channels, double share, double factor);

/// Records an error that begins with `what`, keys and their values, where a frequency is not finite.
void requireFinite(huggingface::ConfigReader &config, std::span<const float> frequencies, const std::string &what);

/// Reads the base, and rope_scaling (transformers 4) or rope_parameters (5) of the types default, linear, dynamic,
/// yarn, llama3 and longrope (su in its first files), as transformers 5 does. Other types, an odd number of rotated
/// channels, and rotation of a part of a head where the family has none are recorded as errors.
RotaryFrequencies readRotaryFrequencies(huggingface::ConfigReader &config, int64_t channels, RotaryPositions positions,
                                        const RotaryKeys &keys = {});

/// The tables of layers without a window, and of those with one: rope_parameters has an object for each, or there are
/// two bases, and scaling is of the first table alone.
std::array<RotaryFrequencies, 2> readRotaryByLayerType(huggingface::ConfigReader &config, int64_t channels,
                                                       RotaryPositions positions,
                                                       const std::array<RotaryKeys, 2> &keys);

} // namespace rapt::importing
