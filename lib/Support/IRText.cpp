//===- IRText.cpp - Bounds on MLIR text before it is parsed ---------------------===//
#include "lib/Support/IRText.h"
#include <algorithm>
#include <cstdint>
#include <unordered_map>

using namespace rapt;

namespace {

/// All texts may have this much of what is bounded by a multiple of their size.
constexpr uint64_t freeBytes = uint64_t(8) << 20;

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isWord(char c) { return isDigit(c) || isLetter(c) || c == '$' || c == '.' || c == '-'; }

/// Text with its aliases replaced by what they stand for.
struct Extent {
  uint64_t bytes = 0;
  unsigned depth = 0;
};

class Scanner {
public:
  explicit Scanner(std::string_view text) : text(text) {}

  Status run() {
    while (skip(), at < text.size()) {
      const size_t begin = at;
      const char before = last;
      last = text[at];
      RAPT_RETURN_IF_ERROR(token(before));
      add({at - begin, 0});
    }
    if (total.depth > maxNesting)
      return Error{"brackets nest " + std::to_string(total.depth) + " deep, at most " + std::to_string(maxNesting) +
                   " are accepted"};
    // Locations alone repeat the names of files in most operations, so that printed IR has many times its own size.
    if (const uint64_t most = freeBytes + 64 * text.size(); total.bytes > most)
      return Error{"with its aliases written out the text has " + std::to_string(total.bytes) + " bytes, at most " +
                   std::to_string(most) + " are accepted"};
    return {};
  }

private:
  /// Goes behind white space and comments.
  void skip() {
    while (at < text.size()) {
      if (text[at] == '/' && at + 1 < text.size() && text[at + 1] == '/')
        at = std::min(text.find('\n', at), text.size());
      else if (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r') || text[at] == 0)
        ++at;
      else
        return;
    }
  }

  void add(Extent part) {
    for (Extent *sum : {&total, &definition}) {
      sum->bytes = std::min(sum->bytes + part.bytes, UINT64_MAX / 4);
      sum->depth = std::max(sum->depth, depth + part.depth);
    }
  }

  /// Goes behind the token at `at`, whose first character `last` is; the token before it ended or began with `before`.
  Status token(char before) {
    const size_t begin = at;
    const char c = text[at++];
    // A definition ends where a word begins at its level, but behind a '=', ':' or '->' it goes on.
    if (depth == 0 && before != '=' && before != ':' && before != '-' && (isLetter(c) || c == '%' || c == '"'))
      endDefinition();
    const bool isCompared = (c == '<' || c == '>') && text.substr(at, 1) == "=";
    if (c == '"') {
      for (; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
        at += text[at] == '\\';
      at = std::min(at + 1, text.size());
    } else if (c == '-' && text.substr(at, 1) == ">") {
      ++at; // an arrow's > closes nothing
    } else if (!isCompared && (c == '(' || c == '[' || c == '{' || c == '<')) {
      ++depth;
      operators = c == '{' ? 0 : operators;
    } else if (!isCompared && (c == ')' || c == ']' || c == '}' || c == '>')) {
      depth -= depth > 0;
    } else if (c == '#' || c == '!') {
      return prefixed(c);
    } else if (isLetter(c) || isDigit(c) || c == '%' || c == '@' || c == '^') {
      skipWord();
      return word(text.substr(begin, at - begin));
    } else if (c == '+' || c == '*' || c == '-') {
      return operation();
    } else if (c == ',' || c == ':' || c == '=') {
      operators = 0;
    }
    return {};
  }

  Status operation() {
    if (++operators <= maxOperators)
      return {};
    return Error{"an expression has more than " + std::to_string(maxOperators) + " operators"};
  }

  Status word(std::string_view word) {
    if (word == "mod" || word == "floordiv" || word == "ceildiv")
      return operation();
    // The parser's time for a shape `1x1x1` is quadratic.
    unsigned extents = 0;
    if (isDigit(word[0]) || word[0] == 'x')
      for (size_t i = 1; i < word.size(); ++i)
        extents += word[i] == 'x' && isDigit(word[i - 1]);
    if (extents > maxRank)
      return Error{"a shape has " + std::to_string(extents) + " dims, at most " + std::to_string(maxRank) +
                   " are accepted"};
    return {};
  }

  void skipWord() {
    // An arrow is no part of a word: `%x->`.
    while (at < text.size() && isWord(text[at]) && text.substr(at, 2) != "->")
      ++at;
  }

  /// `#N`, a definition or use of an alias `#name` or `!name`, or an attribute or type of a dialect.
  Status prefixed(char prefix) {
    const size_t begin = at;
    if (at < text.size() && isDigit(text[at])) {
      while (at < text.size() && isDigit(text[at]))
        ++at;
      return prefix == '#' ? resultNumber(text.substr(begin, at - begin)) : Status();
    }
    skipWord();
    const std::string_view name = text.substr(begin - 1, at - begin + 1);
    if (depth == 0) {
      skip();
      if (text.substr(at, 1) == "=" && text.substr(at, 2) != "==") {
        endDefinition();
        defined = name;
        return {};
      }
    }
    if (auto known = aliases.find(name); known != aliases.end())
      add(known->second);
    return {};
  }

  Status resultNumber(std::string_view digits) {
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    uint64_t number = 0;
    for (char digit : digits.substr(0, 9))
      number = number * 10 + uint64_t(digit - '0');
    results += number;
    if (digits.size() <= 9 && number <= maxResultNumber && results <= freeBytes + 8 * text.size())
      return {};
    const bool alone = digits.size() > 9 || number > maxResultNumber;
    return Error{"names result " + std::string(digits.substr(0, 40)) + " of an operation; at most " +
                 (alone ? std::to_string(maxResultNumber) + " is accepted"
                        : std::to_string(freeBytes + 8 * text.size()) + " of all uses together are accepted")};
  }

  void endDefinition() {
    if (!defined.empty())
      aliases[defined] = definition;
    defined = {};
    definition = {};
  }

  std::string_view text;
  size_t at = 0;
  char last = 0; ///< first character of the token before
  unsigned depth = 0;
  unsigned operators = 0; ///< of the expression so far
  uint64_t results = 0;   ///< the sum of all numbers of results
  Extent total, definition;
  std::string_view defined; ///< the alias whose definition is being read, empty outside
  std::unordered_map<std::string_view, Extent> aliases;
};

} // namespace

Status rapt::checkIRText(std::string_view text) { return Scanner(text).run(); }
