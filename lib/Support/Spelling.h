//===- Spelling.h - The nearest name to a misspelled one ----------------------===//
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace rapt {

/// Insertions, deletions, replacements of a byte and exchanges of two that make `b` of `a`; `most` + 1 where there are
/// more.
size_t editDistance(std::string_view a, std::string_view b, size_t most);

/// The candidate that is fewest edits away, at most a third of the word's length; empty if none is. Leading dashes do
/// not count.
std::string_view findNearest(std::string_view word, std::span<const std::string_view> candidates);

/// "none, w8a8, w8 or w4".
std::string listChoices(std::span<const std::string_view> choices);

/// "; did you mean 'x'?", or nothing where `nearest` is empty.
std::string didYouMean(std::string_view nearest);

/// "unknown option '--emti'; did you mean '--emit'?"
std::string unknownOption(std::string_view option, std::string_view nearest);

/// "invalid value 'x' for --option; expected none, w8a8, w8 or w4".
std::string invalidValue(std::string_view value, std::string_view option, std::string_view expected);

} // namespace rapt
