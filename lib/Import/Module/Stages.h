//===- Stages.h - Sizes of a model's stages -----------------------------*- C++ -*-===//
#pragma once
#include "lib/Formats/HuggingFace/ConfigReader.h"

namespace rapt::importing {

/// Stages that a model may have.
inline constexpr int64_t mostStages = 8;

/// A list with one integer in [least, most] for each stage; `usual` where the config has none. Records an error where
/// the list is wrong, and gives `least` for each of `stages` then.
std::vector<int64_t> readStages(huggingface::ConfigReader &config, const char *key, size_t stages, int64_t least,
                                int64_t most, const std::vector<int64_t> &usual);

/// The number of stages that a list of the config has; `usual` where it has none.
size_t countStages(huggingface::ConfigReader &config, const char *key, size_t usual);

} // namespace rapt::importing
