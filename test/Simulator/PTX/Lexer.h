//===- Lexer.h - Tokens of PTX text ------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <cstdint>
#include <string_view>
#include <vector>

namespace rapt::ptx {

struct Token {
  enum class Kind : uint8_t { Word, Number, String, Mark, End };
  Kind kind = Kind::End;
  std::string_view text; ///< a view of the module's text
  uint32_t line = 0;

  bool is(std::string_view wanted) const { return kind != Kind::String && text == wanted; }
};

/// Splits `text` into words (identifiers, directives, and opcodes with all suffixes), numbers, strings and marks of one
/// character; the last token is End. Comments are dropped.
Expected<std::vector<Token>> tokenize(std::string_view text);

} // namespace rapt::ptx
