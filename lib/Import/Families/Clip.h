//===- Clip.h - Keys and parts that pairs of towers share -----------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/PairSpec.h"

namespace rapt::importing {

/// Sizes that a tower's configuration class takes where the file has no key.
struct TowerDefaults {
  int64_t width, inner, heads;
  std::string_view activation = "quick_gelu";
  double epsilon = 1e-5;
};

/// Reads sizes, activation and norm of a tower; its layers have the parts of clip's.
void readTower(huggingface::ConfigReader &config, const TowerDefaults &defaults, StackSpec &spec);

/// Keys of a tower that change nothing.
extern const std::vector<std::string_view> towerKeys;

/// Reads the encoder of images of a clip.
void readClipImages(huggingface::ConfigReader &config, VisionSpec &spec);

/// Reads the rest of a tower.
using ReadTower = void (*)(huggingface::ConfigReader &config, PairSpec &spec);

/// Reads text_config and vision_config; records an error where one is missing.
void readTowers(huggingface::ModelDescription &model, PairSpec &spec, ReadTower readText, ReadTower readImages);

} // namespace rapt::importing
