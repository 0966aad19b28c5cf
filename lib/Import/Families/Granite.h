//===- Granite.h - Parts of the granite families ----------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Biases of attention, and the factors of embedding, scores, residuals and logits.
void setGraniteParts(const DecoderSource &source, DecoderSpec &spec);

} // namespace rapt::importing
