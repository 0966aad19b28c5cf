//===- Llama.h - Decoders of llama's parts ---------------------------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Keys of the config that change nothing.
extern const std::vector<std::string_view> llamaKeys;

/// Reads the specification of a llama; errors are recorded in the config.
DecoderSpec readLlama(const DecoderSource &source);

} // namespace rapt::importing
