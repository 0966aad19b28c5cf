//===- CheckTokenizer.h - Do tokenizers and model belong together? -----------------===//
#pragma once
#include "lib/Artifact/Manifest.h"
#include "lib/Artifact/WeightPacker.h"

namespace rapt::driver {

/// Reads the tokenizers among the side files and holds them against the model. Each line of the result is a warning:
/// the model is compiled, but text may not work. More rows than tokens is normal.
std::vector<std::string> checkTokenizer(const std::vector<artifact::Section> &sections,
                                        const artifact::Manifest::Model &model);

} // namespace rapt::driver
