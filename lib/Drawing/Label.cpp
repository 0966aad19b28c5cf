#include "lib/Drawing/Label.h"
#include "lib/Support/Json.h"
#include <cstdint>
#include <cstdio>

namespace rapt::drawing {
namespace {

bool isContinuation(char byte) { return (uint8_t(byte) & 0xC0) == 0x80; }

/// White space other than ASCII's, and the soft hyphen. Characters that json::printable escapes are not among them.
bool isInvisible(char32_t c) {
  return c == 0xA0 || c == 0xAD || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

std::string withVisibleSpaces(std::string_view text) {
  std::string shown;
  for (char c : text)
    shown += c == ' ' ? "\u2423" : c == '\t' ? "\u21E5" : c == '\n' ? "\u21B5" : std::string(1, c);
  return shown;
}

} // namespace

char32_t takeCharacter(std::string_view &text) {
  const auto lead = uint8_t(text[0]);
  char32_t c = lead < 0x80 ? lead : lead < 0xE0 ? lead & 0x1F : lead < 0xF0 ? lead & 0x0F : lead & 0x07;
  text.remove_prefix(1);
  for (; !text.empty() && isContinuation(text[0]); text.remove_prefix(1))
    c = c << 6 | (uint8_t(text[0]) & 0x3F);
  return c;
}

size_t countCharacters(std::string_view text) {
  size_t count = 0;
  for (char byte : text)
    count += !isContinuation(byte);
  return count;
}

std::string label(std::string_view text) {
  const std::string valid = json::printable(withVisibleSpaces(text), SIZE_MAX);
  std::string result;
  for (std::string_view rest = valid; !rest.empty() && result.size() <= 4 * mostCharacters;) {
    const std::string_view before = rest;
    const char32_t c = takeCharacter(rest);
    char code[16];
    snprintf(code, sizeof code, "\\u%04x", unsigned(c));
    result += isInvisible(c) ? std::string(code) : std::string(before.substr(0, before.size() - rest.size()));
  }
  if (countCharacters(result) <= mostCharacters)
    return result;
  std::string_view rest = result;
  for (size_t i = 1; i < mostCharacters; ++i)
    takeCharacter(rest);
  return result.substr(0, result.size() - rest.size()) + "\u2026";
}

} // namespace rapt::drawing
