//===- RotaryFrequencies.h - Rotary embedding as a config describes it ----*- C++ -*-===//
#pragma once
#include "lib/Import/Formats/HuggingFace/ConfigReader.h"

namespace rapt::importing {

/// The attributes of attn.rotary_table: channels / 2 frequencies in radians a position, rounded step by step as Hugging
/// Face's inv_freq, which is f32, and the factor of cosines and sines.
struct RotaryFrequencies {
  std::vector<float> values;
  float magnitude = 1;
};

/// Positions that a config and the user ask for.
struct RotaryPositions {
  int64_t most;    ///< max_position_embeddings
  int64_t longest; ///< of a sequence; at most `most`
};

/// Reads rope_theta, and rope_scaling (transformers 4) or rope_parameters (5) of the types default, linear, dynamic,
/// yarn, llama3 and longrope, as transformers 5 does. Other types, an odd `channels`, rotation of a part of a head, and
/// longrope for sequences that need its long factors are recorded as errors.
RotaryFrequencies readRotaryFrequencies(huggingface::ConfigReader &config, int64_t channels, RotaryPositions positions);

} // namespace rapt::importing
