//===- WordPatterns.h - Regular expressions that tokenizers cut words by -----------===//
#pragma once
#include <string_view>

namespace rapt {

/// Qwen2's: contractions in either case, a letter run with a character before it, single digits.
inline constexpr std::string_view qwenWordPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

} // namespace rapt
