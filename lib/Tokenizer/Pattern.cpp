//===- Pattern.cpp ---------------------------------------------------------===//
#include "lib/Tokenizer/Pattern.h"
#include "lib/Tokenizer/Unicode.h"
#include "lib/Tokenizer/WordScanner.h"
#include <algorithm>

namespace rapt {

Pattern::Pattern(Regex compiled) : regex(std::move(compiled)) { isWordPattern = regex->pattern() == wordPattern; }

Expected<Pattern> Pattern::fromJson(const json::Value &value, const std::string &where) {
  const json::Value *literal = value.find("String"), *regex = value.find("Regex");
  if (literal && literal->isString())
    return Pattern(*literal->asString());
  if (!regex || !regex->isString())
    return Error{where + ": is neither {\"String\": ...} nor {\"Regex\": ...}"};
  RAPT_ASSIGN_OR_RETURN(Regex compiled, withContext(where, Regex::compile(*regex->asString())));
  return Pattern(std::move(compiled));
}

Status Pattern::forEachMatch(std::string_view text, FunctionRef<Status(size_t, size_t)> visit) const {
  if (isWordPattern)
    return scanWords(text, visit);
  if (regex)
    return regex->forEachMatch(text, visit);
  if (matches) {
    for (size_t offset = 0, next; offset < text.size(); offset = next) {
      next = offset + unicode::lengthOf(static_cast<unsigned char>(text[offset]));
      if (matches(unicode::decode(text, offset)))
        RAPT_RETURN_IF_ERROR(visit(offset, next));
    }
    return {};
  }
  if (literal.empty())
    return {};
  for (size_t at = text.find(literal); at != std::string_view::npos; at = text.find(literal, at + literal.size()))
    RAPT_RETURN_IF_ERROR(visit(at, at + literal.size()));
  return {};
}

Expected<std::string> Pattern::replace(std::string_view text, std::string_view content, size_t limit) const {
  size_t front = 0;
  return replace(text, content, front, limit);
}

Expected<std::string> Pattern::replace(std::string_view text, std::string_view content, size_t &front,
                                       size_t limit) const {
  std::string result;
  result.reserve(text.size());
  size_t done = 0, rewritten = 0; // of the front
  auto visit = [&](size_t begin, size_t end) {
    result.append(text.substr(done, begin - done)).append(content);
    rewritten += std::min(front, begin) - std::min(front, done) + (end <= front || end == 0 ? content.size() : 0);
    done = end;
    return result.size() > limit ? Status(Error{"replacing makes more than " + std::to_string(limit) + " bytes of " +
                                                std::to_string(text.size())})
                                 : Status();
  };
  RAPT_RETURN_IF_ERROR(forEachMatch(text, visit));
  result.append(text.substr(done));
  front = rewritten + front - std::min(front, done);
  return result;
}

} // namespace rapt
