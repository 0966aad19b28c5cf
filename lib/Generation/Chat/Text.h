//===- Text.h - Strings as Python's str sees them ---------------------------===//
#pragma once
#include "lib/Generation/Chat/Value.h"
#include <optional>

namespace rapt::chat {

Text textOf(std::string_view utf8, bool fromUser = false);
/// UTF-8 without the marks.
std::string bytesOf(const Text &text);
bool sameText(const Text &a, const Text &b);
/// Whether `part` stands in `text` at `at`.
bool standsAt(const Text &text, size_t at, const Text &part);
/// Where `part` is first found between two positions, and last; npos where it is not. Linear in the text's length.
size_t findText(const Text &text, const Text &part, size_t begin = 0, size_t end = Text::npos);
size_t findLast(const Text &text, const Text &part, size_t begin = 0, size_t end = Text::npos);
/// As Python's str.isspace, for one code point.
bool isSpace(char32_t marked);
/// Whether a line ends here, as str.splitlines has it.
bool endsLine(char32_t marked);

/// Without characters at its ends: blanks, or those of `characters`.
Text trimmed(const Text &text, const Text *characters, bool left = true, bool right = true);
/// The lines of a text; `keepsEnds`: with what ends them.
std::vector<Text> linesOf(const Text &text, bool keepsEnds = false);
/// As str.split and str.rsplit; `most` separators count, all where it is negative. Null: runs of blanks separate.
std::vector<Text> split(const Text &text, const Text *separator, int64_t most);
std::vector<Text> splitBack(const Text &text, const Text *separator, int64_t most);

/// Python's str.upper and so on; Words is Jinja's filter 'title'.
enum class Case { Upper, Lower, Swapped, Title, Words, Capital, Folded };
Text inCase(const Text &text, Case how);

/// With &, <, >, ' and " as HTML writes them.
Text escaped(const Text &text);

/// Numbers as int() and float() read them: nothing where the text is none. A base of 0 reads prefixes.
std::optional<BigInteger> readInteger(const Text &text, unsigned base);
std::optional<double> readReal(const Text &text);

} // namespace rapt::chat
