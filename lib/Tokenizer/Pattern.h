//===- Pattern.h - Where splitting and replacing find their matches --------===//
#pragma once
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Regex.h"
#include <optional>
#include <string>
#include <string_view>

namespace rapt {

/// A literal string, a regular expression, or a class of characters (each character a match).
class Pattern {
public:
  using CharacterClass = bool (*)(char32_t);
  explicit Pattern(std::string literal) : literal(std::move(literal)) {}
  explicit Pattern(CharacterClass matches) : matches(matches) {}
  explicit Pattern(Regex regex);

  /// From {"String": s} or {"Regex": r}.
  static Expected<Pattern> fromJson(const json::Value &value, const std::string &where);

  /// Calls `visit(begin, end)` for each match, left to right.
  Status forEachMatch(std::string_view text, FunctionRef<Status(size_t, size_t)> visit) const;
  /// Set when the pattern is a literal.
  const std::string *asLiteral() const { return regex || matches ? nullptr : &literal; }
  /// `text` with every match replaced by `content`. Errors: more than `limit` bytes, a limit of the matcher.
  Expected<std::string> replace(std::string_view text, std::string_view content, size_t limit = SIZE_MAX) const;
  /// As above. `front` becomes the bytes of the result that stand for the first `front` bytes of `text`, where a
  /// replacement stands for the last character of its match (as in Hugging Face's tokenizers 0.23).
  Expected<std::string> replace(std::string_view text, std::string_view content, size_t &front, size_t limit) const;

private:
  std::string literal;
  std::optional<Regex> regex;
  CharacterClass matches = nullptr;
  bool isWordPattern = false; // GPT-2's own pattern, for which a hand-written scanner exists
};

} // namespace rapt
