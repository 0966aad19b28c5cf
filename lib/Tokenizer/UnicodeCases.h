//===- UnicodeCases.h - Letters, numerals and cases as Python tells them ----===//
#pragma once
#include <string>

namespace rapt::unicode {

/// Letters of any kind: Python's str.isalpha.
bool isLetter(char32_t character);
bool isDecimal(char32_t character); ///< 0 to 9 of any script
bool isDigit(char32_t character);   ///< also superscripts, and digits in circles
bool isNumeral(char32_t character); ///< also fractions, and numerals that are letters
/// The value of a decimal digit.
int decimalOf(char32_t character);

/// The properties Lowercase and Uppercase, which some marks and numerals have too; Lt.
bool isLower(char32_t character);
bool isUpper(char32_t character);
bool isTitle(char32_t character);

bool isIdentifierStart(char32_t character);
bool isIdentifierPart(char32_t character);

/// Full mappings, which may be several characters. Lowering a capital sigma depends on its neighbors: see lowered.
std::u32string upperOf(char32_t character);
std::u32string titleOf(char32_t character);
std::u32string foldOf(char32_t character);
/// The character at `at` of `text` in lower case. Bit 31 of characters is ignored.
std::u32string lowered(const std::u32string &text, size_t at);

} // namespace rapt::unicode
