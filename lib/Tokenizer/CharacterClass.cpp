//===- CharacterClass.cpp --------------------------------------------------===//
#include "lib/Tokenizer/CharacterClass.h"
#include "lib/Tokenizer/Unicode.h"
#include <oniguruma.h>

namespace rapt {

/// Asks Oniguruma's own tables, so that the hand-written scanners agree with its patterns in every Unicode version.
CharacterClass classOfCharacter(char32_t character) {
  if (character < 0x80)
    return detail::asciiClasses[character];
  struct Types {
    int letter, number;
    Types() {
      auto typeOf = [](char name) {
        OnigUChar letter = static_cast<OnigUChar>(name);
        return ONIGENC_PROPERTY_NAME_TO_CTYPE(ONIG_ENCODING_UTF8, &letter, &letter + 1);
      };
      letter = typeOf('L');
      number = typeOf('N');
    }
  };
  static const Types types;
  OnigCodePoint code = character;
  if (ONIGENC_IS_CODE_CTYPE(ONIG_ENCODING_UTF8, code, unsigned(types.letter)))
    return CharacterClass::Letter;
  if (ONIGENC_IS_CODE_CTYPE(ONIG_ENCODING_UTF8, code, unsigned(types.number)))
    return CharacterClass::Number;
  return unicode::isWhitespace(character) ? CharacterClass::Space : CharacterClass::Other;
}

CharacterClass detail::classOfLong(std::string_view text, size_t offset) {
  // Below U+3000 lie nearly all alphabets: their classes are looked up once a process.
  static const auto table = [] {
    std::array<CharacterClass, 0x3000> classes;
    for (char32_t character = 0; character < classes.size(); ++character)
      classes[character] = classOfCharacter(character);
    return classes;
  }();
  char32_t character = unicode::decode(text, offset);
  if (character < table.size())
    return table[character];
  if ((character >= 0x4E00 && character < 0x9FA6) || (character >= 0xAC00 && character < 0xD7A4))
    return CharacterClass::Letter; // the bulk of Han and all of Hangul
  return classOfCharacter(character);
}

} // namespace rapt
