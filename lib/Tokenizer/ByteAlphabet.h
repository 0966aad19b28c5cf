//===- ByteAlphabet.h - The printable stand-ins of GPT-2's bytes -----------===//
//
// Byte-level vocabularies spell each byte as one printable character: the
// printable Latin-1 ones stand for themselves, the other 68 are U+0100 and up.
//
//===----------------------------------------------------------------------===//
#pragma once
#include <string>
#include <string_view>

namespace rapt::bytealphabet {

/// The UTF-8 of the character that stands for `byte`.
std::string_view spell(unsigned char byte);

/// Appends the spelling of each byte of `text`.
void spellAll(std::string_view text, std::string &spelled);

/// Appends the bytes that `token` spells; a token with any other character stands for its own UTF-8 (an added token).
void read(std::string_view token, std::string &bytes);

} // namespace rapt::bytealphabet
