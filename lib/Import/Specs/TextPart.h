//===- TextPart.h - The decoder that is a part of a model ----------------*- C++ -*-===//
//
// A model that takes images or sound has its decoder's config in an object of its config.json,
// `text_config`, and the decoder's tensors below a prefix.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// A family that the text part may be of; the first one where its config does not say.
struct TextFamily {
  std::string_view modelType;
  const DecoderFamily &family;
};

/// Reads the text part of a model with other parts. Where it is compiled without them, warns that they are left out.
DecoderSpec readTextPart(const DecoderSource &source, std::span<const TextFamily> families, bool isAlone = true);

/// Reads the end of the text part of a model with images, which may be compiled without them, and gives it the names of
/// its tensors.
void setTextPart(const DecoderSource &part, DecoderSpec &spec, bool isAlone = false);

} // namespace rapt::importing
