//===- Lexer.cpp -----------------------------------------------------------===//
#include "lib/Generation/Chat/Lexer.h"
#include "lib/Generation/Chat/Text.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/FunctionRef.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/UnicodeCases.h"
#include <algorithm>
#include <charconv>

namespace rapt::chat {

Error templateError(int line, const std::string &message) {
  return Error{"chat template, line " + std::to_string(line) + ": " + json::printable(message, 1000)};
}

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Bytes of the blank that `text` begins with, or ends with; 0 where it does not.
size_t blankFront(std::string_view text) {
  return !text.empty() && isSpace(unicode::decode(text, 0)) ? unicode::lengthOf(static_cast<unsigned char>(text[0]))
                                                            : 0;
}
size_t blankBack(std::string_view text) {
  size_t begin = text.empty() ? 0 : unicode::previous(text, text.size());
  return !text.empty() && isSpace(unicode::decode(text, begin)) ? text.size() - begin : 0;
}
bool isBlank(std::string_view text) {
  while (size_t front = blankFront(text))
    text.remove_prefix(front);
  return text.empty();
}

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
  void skipBlanks() {
    while (size_t blank = blankFront(source.substr(at)))
      advance(blank);
  }
  bool sees(std::string_view text) const { return source.substr(at).starts_with(text); }
  void addData(size_t begin, size_t end, char sign, bool strips);
  /// Takes the end of a tag, with what its sign drops behind it.
  bool takeEnd(char kind);
  Status readComment();
  Status readTag(bool block);
  Status readToken();
  /// Takes the tag 'raw' with the text in it, if it stands here.
  Expected<bool> readRaw();
  size_t endOfWord(size_t begin, std::string_view word) const;
  Status readString();
  /// Behind digits, each with at most one "_" before it.
  size_t endOfDigits(size_t begin, FunctionRef<bool(char)> isOfBase) const;
  bool readRadix();
  void readNumber();
  bool readName();

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
    while (size_t back = blankBack(text))
      text.remove_suffix(back);
  } else if (sign != '+' && strips) {
    size_t newline = text.rfind('\n');
    size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    if ((start > 0 || lineStarts) && isBlank(text.substr(start)))
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
    skipBlanks();
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
  if (at == source.size()) // which Jinja does not miss the end of
    return {};
  while (at < source.size())
    if (takeEnd('#'))
      return {};
    else
      advance(1);
  return templateError(begin, "a comment {# is not closed");
}

/// Takes what stands behind a backslash; false where Python refuses it. An unknown letter leaves the backslash there.
static bool appendEscape(std::string_view source, size_t &at, std::string &value) {
  static const std::string_view from = "ntr\\'\"abfv", to = "\n\t\r\\'\"\a\b\f\v";
  char letter = source[at];
  if (size_t found = from.find(letter); found != std::string_view::npos) {
    value += to[found];
    ++at;
    return true;
  }
  bool isOctal = letter >= '0' && letter <= '7';
  size_t digits = letter == 'x' ? 2 : letter == 'u' ? 4 : letter == 'U' ? 8 : 0, begin = at + !isOctal;
  while (isOctal && digits < 3 && at + digits < source.size() && source[at + digits] >= '0' &&
         source[at + digits] <= '7')
    ++digits;
  if (digits == 0) {
    value += '\\';
    return letter != 'N';
  }
  uint32_t point = 0;
  const char *first = source.data() + begin, *last = first + std::min(digits, source.size() - begin);
  auto [end, error] = std::from_chars(first, last, point, isOctal ? 8 : 16);
  if (end != first + digits || error != std::errc() || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000))
    return false;
  unicode::append(value, char32_t(point));
  at = begin + digits;
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
      return templateError(line,
                           source.substr(std::min(next, source.size())).starts_with('N')
                               ? "a string has an escape \\N, and names of characters are not supported: write \\u"
                               : "a string has a bad escape");
    }
  }
  if (next >= source.size())
    return templateError(line, "a string is not closed");
  add(TokenKind::String, std::move(value));
  advance(next + 1 - at);
  return {};
}

size_t Lexer::endOfDigits(size_t begin, FunctionRef<bool(char)> isOfBase) const {
  auto digitAt = [&](size_t place) { return place < source.size() && isOfBase(source[place]); };
  size_t end = begin;
  while (digitAt(end) || (end < source.size() && source[end] == '_' && digitAt(end + 1)))
    ++end;
  return end;
}

/// An integer with a prefix: 0x, 0o or 0b.
bool Lexer::readRadix() {
  char letter = at + 1 < source.size() ? char(source[at + 1] | 32) : 0;
  int base = source[at] != '0' ? 0 : letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
  auto isOfBase = [&](char c) {
    char lower = char(c | 32);
    return isDigit(c) ? c - '0' < base : base == 16 && lower >= 'a' && lower <= 'f';
  };
  const size_t end = base ? endOfDigits(at + 2, isOfBase) : at;
  if (end <= at + 2)
    return false;
  std::string text(source.substr(at, end - at));
  std::erase(text, '_');
  add(TokenKind::Integer, std::move(text));
  at = end;
  return true;
}

void Lexer::readNumber() {
  if (readRadix())
    return;
  size_t end = at;
  bool isMember = at > 0 && source[at - 1] == '.'; // x.0.1
  auto digits = [&] { end = endOfDigits(end, [](char c) { return isDigit(c); }); };
  auto digitAt = [&](size_t place) { return place < source.size() && isDigit(source[place]); };
  digits();
  bool real = !isMember && end < source.size() && source[end] == '.' && digitAt(end + 1);
  if (real) {
    ++end;
    digits();
  }
  if (!isMember && end < source.size() && (source[end] == 'e' || source[end] == 'E')) {
    size_t sign = end + 1 < source.size() && (source[end + 1] == '+' || source[end + 1] == '-');
    if (digitAt(end + 1 + sign)) {
      real = true;
      end += 1 + sign;
      digits();
    }
  }
  if (!real && source[at] == '0') // zeros alone begin with a zero
    end = endOfDigits(at, [](char c) { return c == '0'; });
  std::string text(source.substr(at, end - at));
  std::erase(text, '_');
  add(real ? TokenKind::Float : TokenKind::Integer, std::move(text));
  at = end;
}

bool Lexer::readName() {
  size_t end = at;
  while (end < source.size()) {
    char32_t point = unicode::decode(source, end);
    if (!(end == at ? unicode::isIdentifierStart(point) : unicode::isIdentifierPart(point)))
      break;
    end += unicode::lengthOf(static_cast<unsigned char>(source[end]));
  }
  if (end == at)
    return false;
  add(TokenKind::Name, std::string(source.substr(at, end - at)));
  at = end;
  return true;
}

Status Lexer::readToken() {
  char c = source[at];
  if (c == '\'' || c == '"')
    return readString();
  if (isDigit(c))
    return readNumber(), Status();
  if (readName())
    return {};
  for (std::string_view sign : {"**", "//", "==", "!=", ">=", "<="})
    if (sees(sign)) {
      add(TokenKind::Operator, std::string(sign));
      at += 2;
      return {};
    }
  static const std::string_view opening = "([{", closing = ")]}";
  if (std::string_view("+-/*%~[](){}<>=.:|,").find(c) == std::string_view::npos)
    return templateError(
        line, "unexpected character '" +
                  json::printable(source.substr(at, unicode::lengthOf(static_cast<unsigned char>(c)))) + "'");
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
    if (blankFront(source.substr(at))) {
      skipBlanks();
    } else if (int here = line; open.empty() && takeEnd(block ? '%' : '}')) {
      tokens.push_back({block ? TokenKind::BlockEnd : TokenKind::VariableEnd, "", here});
      return {};
    } else {
      RAPT_RETURN_IF_ERROR(readToken());
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

/// Behind a tag's beginning at `begin` with `word` in it, and the blanks around that; npos where it is no such tag.
size_t Lexer::endOfWord(size_t begin, std::string_view word) const {
  size_t place = begin + 2;
  auto skip = [&] {
    while (size_t blank = blankFront(source.substr(std::min(place, source.size()))))
      place += blank;
  };
  if (place < source.size() && (source[place] == '-' || source[place] == '+'))
    ++place;
  skip();
  if (!source.substr(std::min(place, source.size())).starts_with(word))
    return std::string_view::npos;
  place += word.size();
  skip();
  return place;
}

Expected<bool> Lexer::readRaw() {
  const size_t inside = endOfWord(at, "raw");
  const int begin = line;
  if (inside == std::string_view::npos ||
      !(source.substr(inside).starts_with("%}") || source.substr(inside).starts_with("-%}")))
    return false;
  const bool strips = source[inside] == '-';
  advance(inside - at + (strips ? 3 : 2));
  if (strips)
    skipBlanks();
  lineStarts = source[at - 1] == '\n';
  const size_t text = at;
  for (size_t end = source.find("{%", at); end != std::string_view::npos; end = source.find("{%", end + 2)) {
    const size_t close = endOfWord(end, "endraw");
    if (close == std::string_view::npos)
      continue;
    const std::string_view rest = source.substr(close);
    if (!rest.starts_with("%}") && !rest.starts_with("-%}") && !rest.starts_with("+%}"))
      continue;
    const size_t before = at;
    addData(text, end, source[end + 2], true);
    advance(close - before);
    takeEnd('%');
    return true;
  }
  if (at == source.size())
    return true;
  return templateError(begin, "the tag 'raw' has no 'endraw'");
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
    if (kind == '%') {
      RAPT_ASSIGN_OR_RETURN(bool raw, readRaw());
      if (raw)
        continue;
    }
    advance(sign == '-' || sign == '+' ? 3 : 2);
    RAPT_RETURN_IF_ERROR(kind == '#' ? readComment() : readTag(kind == '%'));
  }
  add(TokenKind::End, "");
  return std::move(tokens);
}

} // namespace

Expected<std::vector<Token>> tokenize(std::string_view source) { return Lexer(source).run(); }

} // namespace rapt::chat
