//===- Gemma.h - Parts that the gemma families share ----------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderConfig.h"

namespace rapt::importing {

/// Norms by their distance from 1, and the scale of the embedding, which has the type of the weights.
void setGemmaParts(const DecoderSource &source, DecoderSpec &spec);

/// Sizes, the scale of scores, and norms before and behind each part, as gemma2 and its successors have them.
/// `architecture`, `positions` and `vocabulary` of the defaults are the family's.
DecoderSpec readGemma2(const DecoderSource &source, DecoderDefaults defaults);

/// c of c * tanh(x / c); 0, and null, are none.
double readSoftCap(huggingface::ConfigReader &config, const char *key, double usual);

} // namespace rapt::importing
