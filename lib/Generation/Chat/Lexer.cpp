//===- Lexer.cpp -----------------------------------------------------------===//
#include "lib/Generation/Chat/Lexer.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Unicode.h"
#include <algorithm>
#include <cstdlib>

namespace rapt::chat {

Error templateError(int line, const std::string &message) {
  return Error{"chat template, line " + std::to_string(line) + ": " + json::printable(message, 1000)};
}

namespace {

bool isBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }

std::string withoutCarriageReturns(std::string_view source) {
  std::string text;
  for (size_t at = 0; at < source.size(); ++at)
    if (source[at] != '\r')
      text += source[at];
    else if (at + 1 == source.size() || source[at + 1] != '\n')
      text += '\n';
  if (text.ends_with('\n'))
    text.pop_back();
  return text;
}

class Lexer {
public:
  explicit Lexer(std::string_view source) : normalized(withoutCarriageReturns(source)), source(normalized) {}
  Expected<std::vector<Token>> run();

private:
  void add(TokenKind kind, std::string text) { tokens.push_back({kind, std::move(text), line}); }
  void advance(size_t count) {
    line += int(std::count(&source[at], &source[at] + count, '\n'));
    at += count;
  }
  bool sees(std::string_view text) const { return source.substr(at).starts_with(text); }
  void addData(size_t begin, size_t end, char sign, bool strips);
  /// Takes the end of a tag, with what its sign drops behind it.
  bool takeEnd(char kind);
  Status readComment();
  Status readTag(bool block);
  Status readToken();
  Status readString();
  void readNumber();

  std::string normalized;
  std::string_view source;
  size_t at = 0;
  int line = 1;
  bool lineStarts = true; // nothing but dropped blanks stands before `at` on its line
  std::string open;       // brackets not closed yet
  std::vector<Token> tokens;
};

/// Text before a tag, which ends with `sign`: '-' drops all blanks before it; else `strips` those on its own line.
void Lexer::addData(size_t begin, size_t end, char sign, bool strips) {
  std::string_view text = source.substr(begin, end - begin);
  if (sign == '-') {
    while (!text.empty() && isBlank(text.back()))
      text.remove_suffix(1);
  } else if (sign != '+' && strips) {
    size_t newline = text.rfind('\n');
    size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    if ((start > 0 || lineStarts) && std::all_of(text.begin() + start, text.end(), isBlank))
      text = text.substr(0, start);
  }
  if (!text.empty())
    add(TokenKind::Data, std::string(text));
}

bool Lexer::takeEnd(char kind) {
  char plain[] = {kind, '}', 0}, minus[] = {'-', kind, '}', 0}, plus[] = {'+', kind, '}', 0};
  size_t begin = at;
  if (sees(minus)) {
    advance(3);
    while (at < source.size() && isBlank(source[at]))
      advance(1);
  } else if (kind != '}' && sees(plus)) {
    advance(3);
  } else if (sees(plain)) {
    advance(2);
    if (kind != '}' && sees("\n"))
      advance(1);
  } else {
    return false;
  }
  lineStarts = at > begin && source[at - 1] == '\n';
  return true;
}

Status Lexer::readComment() {
  int begin = line;
  while (at < source.size())
    if (takeEnd('#'))
      return {};
    else
      advance(1);
  return templateError(begin, "a comment {# is not closed");
}

static bool appendEscape(std::string_view source, size_t &at, std::string &value) {
  static const std::string_view from = "ntr\\'\"abfv", to = "\n\t\r\\'\"\a\b\f\v";
  char letter = source[at];
  if (size_t found = from.find(letter); found != std::string_view::npos) {
    value += to[found];
    ++at;
    return true;
  }
  size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0;
  if (digits == 0 || at + digits >= source.size()) {
    value += '\\';
    return digits == 0;
  }
  std::string number(source.substr(at + 1, digits));
  char *end;
  unsigned long point = strtoul(number.c_str(), &end, 16);
  if (*end || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
    return false;
  unicode::append(value, char32_t(point));
  at += 1 + digits;
  return true;
}

Status Lexer::readString() {
  char quote = source[at];
  size_t next = at + 1;
  std::string value;
  while (next < source.size() && source[next] != quote) {
    if (source[next] != '\\') {
      value += source[next++];
    } else if (next + 1 < source.size() && source[next + 1] == '\n') {
      next += 2; // a continued line
    } else if (++next >= source.size() || !appendEscape(source, next, value)) {
      return templateError(line, "a string has a bad escape");
    }
  }
  if (next >= source.size())
    return templateError(line, "a string is not closed");
  add(TokenKind::String, std::move(value));
  advance(next + 1 - at);
  return {};
}

void Lexer::readNumber() {
  size_t end = at;
  auto digits = [&] {
    while (end < source.size() && (isDigit(source[end]) || source[end] == '_'))
      ++end;
  };
  auto digitAt = [&](size_t place) { return place < source.size() && isDigit(source[place]); };
  digits();
  bool real = end < source.size() && source[end] == '.' && digitAt(end + 1);
  if (real) {
    ++end;
    digits();
  }
  if (end < source.size() && (source[end] == 'e' || source[end] == 'E')) {
    size_t sign = end + 1 < source.size() && (source[end + 1] == '+' || source[end + 1] == '-');
    if (digitAt(end + 1 + sign)) {
      real = true;
      end += 1 + sign;
      digits();
    }
  }
  std::string text(source.substr(at, end - at));
  std::erase(text, '_');
  add(real ? TokenKind::Float : TokenKind::Integer, std::move(text));
  at = end;
}

Status Lexer::readToken() {
  char c = source[at];
  if (c == '\'' || c == '"')
    return readString();
  if (isDigit(c))
    return readNumber(), Status();
  if (isNameStart(c)) {
    size_t end = at;
    while (end < source.size() && (isNameStart(source[end]) || isDigit(source[end])))
      ++end;
    add(TokenKind::Name, std::string(source.substr(at, end - at)));
    at = end;
    return {};
  }
  for (std::string_view sign : {"**", "//", "==", "!=", ">=", "<="})
    if (sees(sign)) {
      add(TokenKind::Operator, std::string(sign));
      at += 2;
      return {};
    }
  static const std::string_view opening = "([{", closing = ")]}";
  if (std::string_view("+-/*%~[](){}<>=.:|,").find(c) == std::string_view::npos)
    return templateError(line, "unexpected character '" + json::printable(source.substr(at, 1)) + "'");
  if (opening.find(c) != std::string_view::npos)
    open += closing[opening.find(c)];
  else if (closing.find(c) != std::string_view::npos) {
    if (open.empty() || open.back() != c)
      return templateError(line, std::string("unexpected '") + c + "'");
    open.pop_back();
  }
  add(TokenKind::Operator, std::string(1, c));
  ++at;
  return {};
}

Status Lexer::readTag(bool block) {
  int begin = line;
  add(block ? TokenKind::BlockBegin : TokenKind::VariableBegin, "");
  while (at < source.size()) {
    if (isBlank(source[at])) {
      advance(1);
    } else if (int here = line; open.empty() && takeEnd(block ? '%' : '}')) {
      tokens.push_back({block ? TokenKind::BlockEnd : TokenKind::VariableEnd, "", here});
      return {};
    } else if (Status status = readToken(); !status) {
      return status;
    }
  }
  return templateError(begin, block ? "a tag {% is not closed" : "an expression {{ is not closed");
}

/// Where the next tag begins, or the end of the source.
static size_t findTag(std::string_view source, size_t from) {
  for (size_t at = source.find('{', from); at != std::string_view::npos; at = source.find('{', at + 1))
    if (at + 1 < source.size() && std::string_view("%{#").find(source[at + 1]) != std::string_view::npos)
      return at;
  return source.size();
}

Expected<std::vector<Token>> Lexer::run() {
  while (at < source.size()) {
    size_t begin = at, end = findTag(source, at);
    char sign = end + 2 < source.size() ? source[end + 2] : 0;
    bool tag = end < source.size();
    char kind = tag ? source[end + 1] : 0;
    addData(begin, end, tag ? sign : '+', kind != '{');
    advance(end - begin);
    if (!tag)
      break;
    advance(sign == '-' || (sign == '+' && kind != '{') ? 3 : 2);
    if (Status status = kind == '#' ? readComment() : readTag(kind == '%'); !status)
      return status.error();
  }
  add(TokenKind::End, "");
  return std::move(tokens);
}

} // namespace

Expected<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

} // namespace rapt::chat
