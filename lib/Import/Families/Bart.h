//===- Bart.h - Stacks of bart's parts -------------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/EncoderDecoderSpec.h"

namespace rapt::importing {

/// Sizes that a configuration class takes where the file has no key.
struct BartSizes {
  int64_t layers, heads, inner;
};

/// One of the two stacks, norms first; keys begin with its name.
SideSpec readBartSide(huggingface::ConfigReader &config, const std::string &prefix, const std::string &name,
                      int64_t width, const BartSizes &usual);

} // namespace rapt::importing
