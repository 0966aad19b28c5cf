//===- Cohere.h - Parts of the cohere families -----------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Layers of cohere: attention and feed-forward of one layer norm, neighboring channels rotated, scaled logits.
DecoderSpec readCohere(const DecoderSource &source, const std::string &architecture);

} // namespace rapt::importing
