//===- CharacterClass.h - Letters, numbers, white space, as Oniguruma sees them -===//
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace rapt {

enum class CharacterClass : uint8_t { Other, Letter, Number, Space };

/// \p{L}, \p{N}, \s or none of them.
CharacterClass classOfCharacter(char32_t character);

namespace detail {
inline constexpr std::array<CharacterClass, 128> asciiClasses = [] {
  std::array<CharacterClass, 128> classes = {};
  for (unsigned c = 0; c < 128; ++c) {
    unsigned lower = c | 0x20;
    classes[c] = lower >= 'a' && lower <= 'z'           ? CharacterClass::Letter
                 : c >= '0' && c <= '9'                 ? CharacterClass::Number
                 : c == ' ' || (c >= '\t' && c <= '\r') ? CharacterClass::Space
                                                        : CharacterClass::Other;
  }
  return classes;
}();
CharacterClass classOfLong(std::string_view text, size_t offset);
} // namespace detail

/// Class of the character at `offset`.
inline CharacterClass classOf(std::string_view text, size_t offset) {
  unsigned char lead = static_cast<unsigned char>(text[offset]);
  return lead < 0x80 ? detail::asciiClasses[lead] : detail::classOfLong(text, offset);
}

} // namespace rapt
