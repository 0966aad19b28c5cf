//===- RotaryFrequencies.h - Rotary embedding as a config describes it ----*- C++ -*-===//
#pragma once
#include "lib/Import/Formats/HuggingFace/ConfigReader.h"

namespace rapt::importing {

/// Reads rope_theta, and rope_scaling (transformers 4) or rope_parameters (5); gives channels / 2 frequencies in
/// radians a position for attn.rotary_table. They are rounded step by step as Hugging Face's inv_freq, which is f32.
/// The types default, linear and llama3 are known; every other one, an odd `channels` and rotation of a part of a head
/// are recorded as errors. `positions` is the config's max_position_embeddings.
std::vector<float> readRotaryFrequencies(huggingface::ConfigReader &config, int64_t channels, int64_t positions);

} // namespace rapt::importing
