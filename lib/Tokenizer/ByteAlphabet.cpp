//===- ByteAlphabet.cpp ----------------------------------------------------===//
#include "lib/Tokenizer/ByteAlphabet.h"
#include "lib/Tokenizer/Unicode.h"
#include <array>
#include <cstdint>

namespace rapt::bytealphabet {

static constexpr bool standsForItself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

namespace {
struct Tables {
  struct Spelling {
    char text[2];
    uint8_t size;
  };
  std::array<Spelling, 256> spellings = {};
  std::array<int16_t, 0x144> bytes = {}; // by character; -1 = not in the alphabet

  constexpr Tables() {
    bytes.fill(-1);
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      unsigned character = standsForItself(byte) ? byte : next++;
      bytes[character] = int16_t(byte);
      if (character < 0x80)
        spellings[byte] = {{char(character), 0}, 1};
      else
        spellings[byte] = {{char(0xC0 | character >> 6), char(0x80 | (character & 0x3F))}, 2};
    }
  }
};
} // namespace

static constexpr Tables tables;

std::string_view spell(unsigned char byte) { return {tables.spellings[byte].text, tables.spellings[byte].size}; }

void spellAll(std::string_view text, std::string &spelled) {
  for (char byte : text)
    spelled.append(spell(static_cast<unsigned char>(byte)));
}

void read(std::string_view token, std::string &bytes) {
  size_t start = bytes.size();
  for (size_t offset = 0; offset < token.size();
       offset += unicode::lengthOf(static_cast<unsigned char>(token[offset]))) {
    char32_t character = unicode::decode(token, offset);
    int byte = character < tables.bytes.size() ? tables.bytes[character] : -1;
    if (byte < 0) {
      bytes.resize(start);
      bytes.append(token);
      return;
    }
    bytes += static_cast<char>(byte);
  }
}

} // namespace rapt::bytealphabet
