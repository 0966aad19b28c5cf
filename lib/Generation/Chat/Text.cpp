//===- Text.cpp ------------------------------------------------------------===//
#include "lib/Generation/Chat/Text.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/UnicodeCases.h"
#include <algorithm>
#include <charconv>
#include <limits>

namespace rapt::chat {

Text textOf(std::string_view utf8, bool fromUser) {
  Text text;
  for (size_t at = 0; at < utf8.size(); at += unicode::lengthOf(static_cast<unsigned char>(utf8[at])))
    text += char32_t(unicode::decode(utf8, at)) | (fromUser ? userMark : 0);
  return text;
}

std::string bytesOf(const Text &text) {
  std::string bytes;
  for (char32_t marked : text)
    unicode::append(bytes, pointOf(marked));
  return bytes;
}

static bool samePoint(char32_t a, char32_t b) { return pointOf(a) == pointOf(b); }

bool sameText(const Text &a, const Text &b) { return std::equal(a.begin(), a.end(), b.begin(), b.end(), samePoint); }

bool standsAt(const Text &text, size_t at, const Text &part) {
  return at <= text.size() && part.size() <= text.size() - at &&
         std::equal(part.begin(), part.end(), text.begin() + ptrdiff_t(at), samePoint);
}

/// How much of `part` stands at its own front and end, for each of its fronts: the table of Knuth, Morris and Pratt.
static std::vector<size_t> bordersOf(const Text &part) {
  std::vector<size_t> borders(part.size(), 0);
  for (size_t i = 1, length = 0; i < part.size(); ++i) {
    while (length > 0 && !samePoint(part[i], part[length]))
      length = borders[length - 1];
    length += samePoint(part[i], part[length]);
    borders[i] = length;
  }
  return borders;
}

size_t findText(const Text &text, const Text &part, size_t begin, size_t end) {
  end = std::min(end, text.size());
  if (begin > end || part.size() > end - begin)
    return Text::npos;
  if (part.empty())
    return begin;
  if (part.size() == 1) {
    auto found = std::find_if(text.begin() + ptrdiff_t(begin), text.begin() + ptrdiff_t(end),
                              [&](char32_t c) { return samePoint(c, part[0]); });
    return found == text.begin() + ptrdiff_t(end) ? Text::npos : size_t(found - text.begin());
  }
  const std::vector<size_t> borders = bordersOf(part);
  for (size_t at = begin, matched = 0; at < end; ++at) {
    while (matched > 0 && !samePoint(text[at], part[matched]))
      matched = borders[matched - 1];
    matched += samePoint(text[at], part[matched]);
    if (matched == part.size())
      return at + 1 - matched;
  }
  return Text::npos;
}

size_t findLast(const Text &text, const Text &part, size_t begin, size_t end) {
  end = std::min(end, text.size());
  if (begin > end || part.size() > end - begin)
    return Text::npos;
  Text mirrored(text.rend() - ptrdiff_t(end), text.rend() - ptrdiff_t(begin));
  size_t found = findText(mirrored, Text(part.rbegin(), part.rend()));
  return found == Text::npos ? found : end - found - part.size();
}

bool isSpace(char32_t marked) {
  char32_t c = pointOf(marked);
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool endsLine(char32_t marked) {
  char32_t c = pointOf(marked);
  return (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

Text trimmed(const Text &text, const Text *characters, bool left, bool right) {
  Text sorted;
  if (characters) {
    std::transform(characters->begin(), characters->end(), std::back_inserter(sorted), pointOf);
    std::sort(sorted.begin(), sorted.end());
  }
  auto drops = [&](char32_t c) {
    return characters ? std::binary_search(sorted.begin(), sorted.end(), pointOf(c)) : isSpace(c);
  };
  size_t begin = 0, end = text.size();
  while (left && begin < end && drops(text[begin]))
    ++begin;
  while (right && end > begin && drops(text[end - 1]))
    --end;
  return text.substr(begin, end - begin);
}

std::vector<Text> linesOf(const Text &text, bool keepsEnds) {
  std::vector<Text> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && !endsLine(text[end]))
      ++end;
    size_t next = std::min(end + 1, text.size());
    if (next < text.size() && pointOf(text[end]) == '\r' && pointOf(text[next]) == '\n')
      ++next;
    lines.push_back(text.substr(at, (keepsEnds ? next : end) - at));
    at = next;
  }
  return lines;
}

std::vector<Text> split(const Text &text, const Text *separator, int64_t most) {
  std::vector<Text> parts;
  size_t at = 0;
  if (separator) {
    for (size_t found; most != 0 && (found = findText(text, *separator, at)) != Text::npos; --most) {
      parts.push_back(text.substr(at, found - at));
      at = found + separator->size();
    }
    parts.push_back(text.substr(at));
    return parts;
  }
  while (true) {
    while (at < text.size() && isSpace(text[at]))
      ++at;
    if (at == text.size())
      return parts;
    if (most-- == 0) {
      parts.push_back(text.substr(at));
      return parts;
    }
    size_t end = at;
    while (end < text.size() && !isSpace(text[end]))
      ++end;
    parts.push_back(text.substr(at, end - at));
    at = end;
  }
}

/// From the end is from the front in a mirror.
std::vector<Text> splitBack(const Text &text, const Text *separator, int64_t most) {
  Text mirrored(text.rbegin(), text.rend()), mirroredSeparator;
  if (separator)
    mirroredSeparator.assign(separator->rbegin(), separator->rend());
  std::vector<Text> parts = split(mirrored, separator ? &mirroredSeparator : nullptr, most);
  for (Text &part : parts)
    std::reverse(part.begin(), part.end());
  std::reverse(parts.begin(), parts.end());
  return parts;
}

static bool beginsWord(char32_t before) {
  return std::u32string_view(U"-({[<").find(before) != std::u32string_view::npos || isSpace(before);
}

static Text inCase(const Text &text, size_t at, Case how, bool inWord) {
  char32_t point = pointOf(text[at]);
  switch (how) {
  case Case::Upper:
    return unicode::upperOf(point);
  case Case::Lower:
    return unicode::lowered(text, at);
  case Case::Swapped:
    return unicode::isUpper(point)   ? unicode::lowered(text, at)
           : unicode::isLower(point) ? unicode::upperOf(point)
                                     : Text(1, point);
  case Case::Words:
    return inWord ? unicode::lowered(text, at) : unicode::upperOf(point);
  case Case::Title:
  case Case::Capital:
    return inWord ? unicode::lowered(text, at) : unicode::titleOf(point);
  case Case::Folded:
    return unicode::foldOf(point);
  }
  __builtin_unreachable();
}

Text inCase(const Text &text, Case how) {
  Text result;
  bool inWord = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char32_t point = pointOf(text[at]), mark = text[at] & userMark;
    for (char32_t mapped : inCase(text, at, how, inWord))
      result += mapped | mark;
    inWord = how == Case::Capital ||
             (how == Case::Words ? !beginsWord(point)
                                 : unicode::isLower(point) || unicode::isUpper(point) || unicode::isTitle(point));
  }
  return result;
}

Text escaped(const Text &text) {
  Text result;
  for (char32_t marked : text) {
    static const std::u32string_view special = U"&<>'\"", names[] = {U"&amp;", U"&lt;", U"&gt;", U"&#39;", U"&#34;"};
    size_t found = special.find(pointOf(marked));
    if (found == special.npos)
      result += marked;
    else
      for (char32_t c : names[found])
        result += c | (marked & userMark);
  }
  return result;
}

/// ASCII of a number's text: blanks around it dropped, digits of other scripts as ours. Nothing where '_' does not
/// stand between two digits; else it is dropped.
static std::optional<std::string> numberText(const Text &text) {
  std::string plain;
  for (char32_t marked : trimmed(text, nullptr)) {
    char32_t c = pointOf(marked);
    if (c >= 0x80 && !unicode::isDecimal(c))
      return std::nullopt;
    plain += c < 0x80 ? char(c) : char('0' + unicode::decimalOf(c));
  }
  auto isDigit = [&](size_t at) { return at < plain.size() && plain[at] >= '0' && plain[at] != '_'; };
  std::string number;
  for (size_t i = 0; i < plain.size(); ++i)
    if (plain[i] != '_')
      number += plain[i];
    else if (i == 0 || !isDigit(i - 1) || !isDigit(i + 1))
      return std::nullopt;
  return number;
}

std::optional<BigInteger> readInteger(const Text &text, unsigned base) {
  std::optional<std::string> number = numberText(text);
  if (!number)
    return std::nullopt;
  std::string_view digits = *number;
  bool isNegative = digits.starts_with('-');
  if (isNegative || digits.starts_with('+'))
    digits.remove_prefix(1);
  char prefix = digits.size() > 1 && digits[0] == '0' ? char(digits[1] | 32) : 0;
  unsigned prefixed = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 0;
  if (prefixed && (base == 0 || base == prefixed)) {
    digits.remove_prefix(2);
    base = prefixed;
  } else if (base == 0) {
    base = 10;
    if (digits.starts_with('0') && digits.find_first_not_of('0') != digits.npos)
      return std::nullopt; // not octal, as it was in Python 2
  }
  auto isOfBase = [&](char c) {
    char letter = char(c | 32);
    return c >= '0' && c <= '9' ? unsigned(c - '0') < base
                                : letter >= 'a' && letter <= 'z' && unsigned(letter - 'a' + 10) < base;
  };
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), isOfBase))
    return std::nullopt;
  BigInteger value = BigInteger::ofDigits(digits, base);
  return isNegative ? -value : value;
}

std::optional<double> readReal(const Text &text) {
  std::optional<std::string> number = numberText(text);
  if (!number || number->find('(') != number->npos) // the payload of a NaN
    return std::nullopt;
  std::string_view digits = *number;
  bool isNegative = digits.starts_with('-');
  if (isNegative || digits.starts_with('+'))
    digits.remove_prefix(1);
  if (digits.starts_with('-') || digits.starts_with('+'))
    return std::nullopt;
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument)
    return std::nullopt;
  if (error == std::errc::result_out_of_range)
    value = digits.find("e-") != digits.npos || digits.find("E-") != digits.npos || digits.starts_with("0.")
                ? 0
                : std::numeric_limits<double>::infinity();
  return isNegative ? -value : value;
}

} // namespace rapt::chat
