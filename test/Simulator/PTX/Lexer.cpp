//===- Lexer.cpp - Tokens of PTX text ----------------------------------------===//
#include "test/Simulator/PTX/Lexer.h"
using namespace rapt;
using namespace rapt::ptx;

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool beginsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%' || c == '.';
}

class Lexer {
public:
  explicit Lexer(std::string_view text) : text(text) {}

  Expected<std::vector<Token>> run() {
    while (skipSpace()) {
      size_t begin = position;
      Token::Kind kind = Token::Kind::Mark;
      uint32_t at = line;
      char first = text[position];
      if (beginsWord(first)) {
        kind = Token::Kind::Word;
        takeWord();
      } else if (isDigit(first)) {
        kind = Token::Kind::Number;
        while (position < text.size() && (isDigit(text[position]) || beginsWord(text[position])))
          ++position;
      } else if (first == '"') {
        kind = Token::Kind::String;
        size_t end = text.find('"', position + 1);
        if (end == text.npos)
          return Error{"line " + std::to_string(line) + ": string without an end"};
        position = end + 1;
      } else {
        ++position;
      }
      tokens.push_back({kind, text.substr(begin, position - begin), at});
    }
    if (!problem.empty())
      return Error{problem};
    tokens.push_back({Token::Kind::End, "", line});
    return std::move(tokens);
  }

private:
  /// A word may hold "::", as in mbarrier::complete_tx.
  void takeWord() {
    while (position < text.size()) {
      if (beginsWord(text[position]) || isDigit(text[position]))
        ++position;
      else if (text.substr(position, 2) == "::" && position + 2 < text.size() && beginsWord(text[position + 2]))
        position += 2;
      else
        return;
    }
  }

  /// Goes to the next token; false at the end of the text.
  bool skipSpace() {
    while (position < text.size()) {
      char c = text[position];
      if (c == '\n') {
        ++line;
        ++position;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++position;
      } else if (text.substr(position, 2) == "//") {
        position = std::min(text.find('\n', position), text.size());
      } else if (text.substr(position, 2) == "/*") {
        if (!skipComment())
          return false;
      } else {
        return true;
      }
    }
    return false;
  }

  bool skipComment() {
    size_t end = text.find("*/", position + 2);
    if (end == text.npos) {
      problem = "line " + std::to_string(line) + ": comment without an end";
      return false;
    }
    for (; position < end + 2; ++position)
      line += text[position] == '\n';
    return true;
  }

  std::string_view text;
  size_t position = 0;
  uint32_t line = 1;
  std::vector<Token> tokens;
  std::string problem;
};

} // namespace

Expected<std::vector<Token>> rapt::ptx::tokenize(std::string_view text) { return Lexer(text).run(); }
