//===- Unicode.h - UTF-8 and the character classes tokenizers ask for ------===//
//
// Functions take valid UTF-8 unless they say otherwise; the tokenizer checks its
// input once, at the border. Classes and normal forms come from utf8proc.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rapt::unicode {

/// Byte offset where `text` stops being valid UTF-8 (surrogates, overlong and truncated forms included).
std::optional<size_t> findInvalid(std::string_view text);

/// Bytes of the character that starts with `lead`.
constexpr unsigned lengthOf(unsigned char lead) { return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4; }

/// The character at `offset`.
char32_t decode(std::string_view text, size_t offset);

/// Offset at which the character before `offset` starts; `offset` > 0.
size_t previous(std::string_view text, size_t offset);

/// Bytes of the first characters of `text`, which are as many as those of `other`; all bytes where it has fewer.
size_t lengthOfAsMany(std::string_view text, std::string_view other);

void append(std::string &text, char32_t character);

/// The bytes at the front of `text`, which may be invalid: how many of them form a valid character (`length` of them),
/// an invalid maximal part to be shown as one U+FFFD, or the start of a character that is still incomplete.
enum class Front { Valid, Invalid, Incomplete };
Front classifyFront(std::string_view text, size_t &length);

enum class Form { NFC, NFD, NFKC, NFKD };
Expected<std::string> normalize(std::string_view text, Form form);

bool isWhitespace(char32_t character);  ///< White_Space
bool isNumeric(char32_t character);     ///< Nd, Nl, No
bool isPunctuation(char32_t character); ///< P* of Unicode 8.0, and all symbols of ASCII
bool isWord(char32_t character);        ///< \w: alphabetic, mark, decimal digit, connector, join control
bool isMark(char32_t character);        ///< Mn, Mc, Me
bool isPrintable(char32_t character);   ///< as Python's str.isprintable: no control, format, separator but the blank
std::string toLower(std::string_view text);
/// The letter of the other case; the character itself where there is none, or where it is several.
char32_t toLower(char32_t character);
char32_t toUpper(char32_t character);

/// Finds the ends of extended grapheme clusters (UAX 29) on a walk that begins where a cluster begins.
class ClusterBreaker {
public:
  /// Whether a cluster ends between two neighboring characters; called for each pair in order.
  bool isBreak(char32_t left, char32_t right);

private:
  int32_t state = 0;
};

} // namespace rapt::unicode
