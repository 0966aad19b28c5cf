//===- Base64.cpp ----------------------------------------------------------===//
#include "lib/Support/Base64.h"
#include <cstdint>

namespace rapt {

static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t begin = 0; begin < bytes.size(); begin += 3) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i)
      bits = bits << 8 | (begin + i < bytes.size() ? static_cast<unsigned char>(bytes[begin + i]) : 0);
    for (size_t i = 0; i < 4; ++i)
      text += begin + i <= bytes.size() ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> decodeBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding)
    text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  unsigned count = 0;
  for (char digit : text) {
    const size_t value = digits.find(digit);
    if (value == digits.npos)
      return std::nullopt;
    bits = bits << 6 | uint32_t(value);
    if (count += 6; count >= 8)
      bytes += static_cast<char>(bits >> (count -= 8) & 0xFF);
  }
  return bytes;
}

} // namespace rapt
