//===- WordScanner.cpp -----------------------------------------------------===//
#include "lib/Tokenizer/WordScanner.h"
#include "lib/Tokenizer/CharacterClass.h"
#include "lib/Tokenizer/Unicode.h"

namespace rapt {

/// End of the run of `kind` that starts at `offset`; `offset` itself when there is none.
static size_t endOfRun(std::string_view text, size_t offset, CharacterClass kind) {
  while (offset < text.size() && classOf(text, offset) == kind)
    offset += unicode::lengthOf(static_cast<unsigned char>(text[offset]));
  return offset;
}

/// The bytes of an English contraction at `offset`, or 0.
static size_t contractionAt(std::string_view text, size_t offset) {
  std::string_view rest = text.substr(offset, 3);
  if (rest.size() < 2 || rest[0] != '\'')
    return 0;
  if (rest[1] == 's' || rest[1] == 't' || rest[1] == 'm' || rest[1] == 'd')
    return 2;
  return rest == "'re" || rest == "'ve" || rest == "'ll" ? 3 : 0;
}

static size_t endOfMatch(std::string_view text, size_t offset) {
  if (size_t length = contractionAt(text, offset))
    return offset + length;
  CharacterClass kind = classOf(text, offset);
  if (kind != CharacterClass::Space)
    return endOfRun(text, offset, kind);
  // " ?" of the three middle alternatives: one blank in front of anything but white space.
  if (text[offset] == ' ' && offset + 1 < text.size())
    if (CharacterClass next = classOf(text, offset + 1); next != CharacterClass::Space)
      return endOfRun(text, offset + 1, next);
  size_t end = endOfRun(text, offset, CharacterClass::Space);
  if (end == text.size())
    return end;
  // \s+(?!\S) leaves the last white space to what follows, unless it is the only one: then \s+ takes it.
  size_t last = unicode::previous(text, end);
  return last > offset ? last : end;
}

Status scanWords(std::string_view text, FunctionRef<Status(size_t, size_t)> visit) {
  for (size_t offset = 0; offset < text.size();) {
    size_t end = endOfMatch(text, offset);
    RAPT_RETURN_IF_ERROR(visit(offset, end));
    offset = end;
  }
  return {};
}

} // namespace rapt
