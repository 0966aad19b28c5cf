//===- Llama.h - Decoders of llama's parts ---------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/DecoderBuilder.h"

namespace rapt::importing {

/// Reads the specification of a llama; errors are recorded in the config.
DecoderSpec readLlama(const DecoderSource &source);

} // namespace rapt::importing
