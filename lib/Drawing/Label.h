//===- Label.h - Any text as a short line that can be seen ---------------------===//
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace rapt::drawing {

inline constexpr size_t mostCharacters = 32; ///< of a label, the ellipsis among them

/// A line of at most `mostCharacters` characters, valid UTF-8, in which nothing is invisible: a space is U+2423, a tab
/// U+21E5, a newline U+21B5; other white space is \uNNNN; control characters, marks without a width and bytes that are
/// not UTF-8 are \xNN. An ellipsis stands for text that is cut off.
std::string label(std::string_view text);

/// Takes the first character off a text that is valid UTF-8 and not empty.
char32_t takeCharacter(std::string_view &text);
size_t countCharacters(std::string_view text);

} // namespace rapt::drawing
