//===- Unicode.cpp ---------------------------------------------------------===//
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/UnicodeEight.h"
#include <cstdlib>
#include <utf8proc.h>

namespace rapt::unicode {

Front classifyFront(std::string_view text, size_t &length) {
  auto byte = [&](size_t index) { return static_cast<unsigned char>(text[index]); };
  length = 1;
  unsigned char lead = byte(0);
  if (lead < 0x80)
    return Front::Valid;
  if (lead < 0xC2 || lead > 0xF4)
    return Front::Invalid;
  unsigned want = lengthOf(lead);
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (; length < want; ++length, low = 0x80, high = 0xBF) {
    if (length == text.size())
      return Front::Incomplete;
    if (byte(length) < low || byte(length) > high)
      return Front::Invalid;
  }
  return Front::Valid;
}

std::optional<size_t> findInvalid(std::string_view text) {
  size_t offset = 0;
  while (offset < text.size()) {
    if (static_cast<unsigned char>(text[offset]) < 0x80) {
      ++offset;
      continue;
    }
    size_t length;
    if (classifyFront(text.substr(offset, 4), length) != Front::Valid)
      return offset;
    offset += length;
  }
  return std::nullopt;
}

char32_t decode(std::string_view text, size_t offset) {
  auto byte = [&](size_t index) { return static_cast<char32_t>(static_cast<unsigned char>(text[offset + index])); };
  char32_t lead = byte(0);
  if (lead < 0x80)
    return lead;
  if (lead < 0xE0)
    return (lead & 0x1F) << 6 | (byte(1) & 0x3F);
  if (lead < 0xF0)
    return (lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  return (lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
}

size_t previous(std::string_view text, size_t offset) {
  do
    --offset;
  while (offset > 0 && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80);
  return offset;
}

size_t lengthOfAsMany(std::string_view text, std::string_view other) {
  auto lengthAt = [](std::string_view of, size_t at) { return lengthOf(static_cast<unsigned char>(of[at])); };
  size_t end = 0;
  for (size_t at = 0; at < other.size() && end < text.size(); at += lengthAt(other, at))
    end += lengthAt(text, end);
  return end;
}

void append(std::string &text, char32_t character) {
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xC0 | character >> 6);
    text += static_cast<char>(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    text += static_cast<char>(0xE0 | character >> 12);
    text += static_cast<char>(0x80 | (character >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (character & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | character >> 18);
    text += static_cast<char>(0x80 | (character >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (character >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (character & 0x3F));
  }
}

static utf8proc_option_t optionsOf(Form form) {
  constexpr int stable = UTF8PROC_STABLE;
  switch (form) {
  case Form::NFC:
    return utf8proc_option_t(stable | UTF8PROC_COMPOSE);
  case Form::NFD:
    return utf8proc_option_t(stable | UTF8PROC_DECOMPOSE);
  case Form::NFKC:
    return utf8proc_option_t(stable | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
  case Form::NFKD:
    return utf8proc_option_t(stable | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
  }
  __builtin_unreachable();
}

/// Normal forms leave ASCII alone and nothing ever composes with an ASCII character that follows it, so text is cut
/// before every ASCII character: memory stays proportional to the longest run without one.
Expected<std::string> normalize(std::string_view text, Form form) {
  std::string result;
  result.reserve(text.size());
  size_t done = 0;
  while (done < text.size()) {
    size_t begin = done;
    while (begin < text.size() && static_cast<unsigned char>(text[begin]) < 0x80)
      ++begin;
    if (begin == text.size()) {
      result.append(text.substr(done));
      break;
    }
    if (begin > done)
      --begin; // a mark composes with the ASCII letter before it
    size_t end = begin + 1;
    while (end < text.size() && static_cast<unsigned char>(text[end]) >= 0x80)
      ++end;
    result.append(text.substr(done, begin - done));
    utf8proc_uint8_t *mapped = nullptr;
    utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t *>(text.data() + begin),
                                         utf8proc_ssize_t(end - begin), &mapped, optionsOf(form));
    if (size < 0)
      return Error{"the text cannot be normalized at byte " + std::to_string(begin) + ": " + utf8proc_errmsg(size)};
    result.append(reinterpret_cast<const char *>(mapped), size_t(size));
    free(mapped);
    done = end;
  }
  return result;
}

static utf8proc_category_t categoryOf(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character));
}

bool isWhitespace(char32_t c) {
  if (c < 0x80)
    return (c >= 9 && c <= 13) || c == ' ';
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

bool isNumeric(char32_t c) {
  utf8proc_category_t category = categoryOf(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool isPunctuation(char32_t c) {
  if (c < 0x80)
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return eight::isPunctuation(c);
}

bool isMark(char32_t c) {
  utf8proc_category_t category = categoryOf(c);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool isWord(char32_t c) {
  utf8proc_category_t category = categoryOf(c);
  bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
  // Other_Alphabetic beyond letters, marks and letter numbers is the circled Latin letters and their like.
  bool circled = (c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
                 (c >= 0x1F170 && c <= 0x1F189);
  return letter || isMark(c) || category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_PC || c == 0x200C || c == 0x200D || circled;
}

bool ClusterBreaker::isBreak(char32_t left, char32_t right) {
  if (left < 0x80 && right < 0x80)
    return left != '\r' || right != '\n';
  return utf8proc_grapheme_break_stateful(utf8proc_int32_t(left), utf8proc_int32_t(right), &state);
}

bool isPrintable(char32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
  case UTF8PROC_CATEGORY_ZS:
    return character == ' ';
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
  case UTF8PROC_CATEGORY_CC:
  case UTF8PROC_CATEGORY_CF:
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_CO:
  case UTF8PROC_CATEGORY_CN:
    return false;
  default:
    return true;
  }
}

char32_t toLower(char32_t character) {
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(character)));
}

char32_t toUpper(char32_t character) {
  return static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(character)));
}

std::string toLower(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t offset = 0; offset < text.size(); offset += lengthOf(static_cast<unsigned char>(text[offset]))) {
    char32_t character = decode(text, offset);
    append(result, toLower(character));
    if (character == 0x130) // the one character whose full lowering is two characters
      append(result, 0x307);
  }
  return result;
}

} // namespace rapt::unicode
