//===- Olmo2.h - Parts of the olmo2 families -------------------*- C++ -*-===//
#pragma once
#include "lib/Import/Specs/DecoderBuilder.h"

namespace rapt::importing {

/// Norms behind attention and feed-forward instead of before, and of all queries, and of all keys.
void setOlmo2Parts(const DecoderSource &source, DecoderSpec &spec);

} // namespace rapt::importing
