//===- CompressionRatio.h - How much a text repeats itself -----------------------===//
#pragma once
#include <string_view>

namespace rapt::run {

/// Bytes of the text for each byte that zlib makes of it; 0 for an empty text.
double compressionRatio(std::string_view text);

} // namespace rapt::run
