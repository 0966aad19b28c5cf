//===- UnicodeCases.cpp ----------------------------------------------------===//
#include "lib/Tokenizer/UnicodeCases.h"
#include "lib/Tokenizer/UnicodeCaseTables.h"
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utf8proc.h>

namespace rapt::unicode {

static utf8proc_category_t categoryOf(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

template <size_t N> static bool isIn(const Range (&ranges)[N], char32_t c) {
  auto found = std::lower_bound(std::begin(ranges), std::end(ranges), c,
                                [](const Range &range, char32_t value) { return range.last < value; });
  return found != std::end(ranges) && found->first <= c;
}

bool isLetter(char32_t c) {
  utf8proc_category_t category = categoryOf(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool isDecimal(char32_t c) { return categoryOf(c) == UTF8PROC_CATEGORY_ND; }
bool isDigit(char32_t c) { return isDecimal(c) || isIn(otherDigits, c); }

bool isNumeral(char32_t c) {
  utf8proc_category_t category = categoryOf(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO ||
         isIn(otherNumerals, c);
}

/// The digits of a script stand in tens, of which a zero is the first; but mathematical ones begin at 0x1D7CE.
int decimalOf(char32_t c) {
  if (c >= 0x1D7CE && c <= 0x1D7FF)
    return int((c - 0x1D7CE) % 10);
  char32_t zero = c;
  while (zero > 0 && c - zero < 9 && isDecimal(zero - 1))
    --zero;
  return c < 0x660 ? int(c - '0') : int(c - zero);
}

bool isLower(char32_t c) { return categoryOf(c) == UTF8PROC_CATEGORY_LL || isIn(otherLower, c); }
bool isUpper(char32_t c) { return categoryOf(c) == UTF8PROC_CATEGORY_LU || isIn(otherUpper, c); }
bool isTitle(char32_t c) { return categoryOf(c) == UTF8PROC_CATEGORY_LT; }

bool isIdentifierStart(char32_t c) {
  return isLetter(c) || categoryOf(c) == UTF8PROC_CATEGORY_NL || c == '_' || c == 0x2118 || c == 0x212E;
}

bool isIdentifierPart(char32_t c) {
  utf8proc_category_t category = categoryOf(c);
  return isIdentifierStart(c) || category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_PC || c == 0xB7 || c == 0x387 ||
         (c >= 0x1369 && c <= 0x1371) || c == 0x19DA;
}

static const SpecialCase *specialCaseOf(char32_t c) {
  auto found = std::lower_bound(std::begin(specialCases), std::end(specialCases), c,
                                [](const SpecialCase &one, char32_t value) { return one.character < value; });
  return found != std::end(specialCases) && found->character == c ? found : nullptr;
}

std::u32string upperOf(char32_t c) {
  if (const SpecialCase *special = specialCaseOf(c))
    return special->upper;
  return {char32_t(utf8proc_toupper(static_cast<utf8proc_int32_t>(c)))};
}

std::u32string titleOf(char32_t c) {
  if (const SpecialCase *special = specialCaseOf(c))
    return special->title;
  return {char32_t(utf8proc_totitle(static_cast<utf8proc_int32_t>(c)))};
}

std::u32string foldOf(char32_t c) {
  utf8proc_int32_t folded[8];
  int lastClass = 0;
  utf8proc_ssize_t count =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), folded, 8, UTF8PROC_CASEFOLD, &lastClass);
  return count > 0 && count <= 8 ? std::u32string(folded, folded + count) : std::u32string(1, c);
}

static bool isIgnored(char32_t c) {
  switch (categoryOf(c)) {
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_SK:
    return true;
  default:
    return std::u32string_view(
               U"'.:\u00B7\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A")
               .find(c) != std::u32string_view::npos;
  }
}

static bool isCased(char32_t c) { return isLower(c) || isUpper(c) || isTitle(c); }

/// Whether a sigma at `at` ends a word: a letter with a case stands before it and none behind it.
static bool endsWord(const std::u32string &text, size_t at) {
  constexpr char32_t bits = 0x7FFFFFFF;
  size_t before = at, behind = at + 1;
  while (before > 0 && isIgnored(text[before - 1] & bits))
    --before;
  while (behind < text.size() && isIgnored(text[behind] & bits))
    ++behind;
  return before > 0 && isCased(text[before - 1] & bits) && (behind == text.size() || !isCased(text[behind] & bits));
}

std::u32string lowered(const std::u32string &text, size_t at) {
  char32_t c = text[at] & 0x7FFFFFFF;
  if (c == 0x130)
    return U"i\u0307";
  if (c == 0x3A3)
    return endsWord(text, at) ? U"\u03C2" : U"\u03C3";
  return {char32_t(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)))};
}

} // namespace rapt::unicode
