//===- Lexer.h - Tokens of a Jinja template --------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include <string>
#include <string_view>
#include <vector>

namespace rapt::chat {

enum class TokenKind {
  Data,
  BlockBegin,
  BlockEnd,
  VariableBegin,
  VariableEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End
};

struct Token {
  TokenKind kind;
  std::string text; ///< A string's value, in UTF-8.
  int line;
};

/// Cuts a template as Jinja does with trim_blocks and lstrip_blocks, which Hugging Face sets: the first newline after a
/// block is dropped, as are blanks before it on its line, and one newline at the end of the template. Comments are
/// dropped. Errors name the line.
Expected<std::vector<Token>> tokenize(std::string_view source);

/// "chat template, line 3: ...", for what is wrong in a template.
Error templateError(int line, const std::string &message);

} // namespace rapt::chat
