//===- Splitting.cpp -------------------------------------------------------===//
#include "lib/Tokenizer/Splitting.h"
#include <map>

namespace rapt {

Expected<SplitBehavior> parseSplitBehavior(std::string_view name, const std::string &where) {
  static const std::map<std::string_view, SplitBehavior> names = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous}};
  auto found = names.find(name);
  if (found == names.end())
    return Error{where + ": the behavior '" + json::printable(name) +
                 "' is none of Removed, Isolated, MergedWithPrevious, " + "MergedWithNext and Contiguous"};
  return found->second;
}

namespace {
/// Receives matches and gaps in order and passes finished parts on. At most one part is held back.
class Cutter {
public:
  Cutter(Piece piece, SplitBehavior behavior, PieceSink sink) : piece(piece), behavior(behavior), sink(sink) {}

  Status segment(size_t begin, size_t end, bool isMatch) {
    bool glue = held && glues(isMatch);
    heldIsMatch = isMatch;
    if (glue) {
      heldEnd = end;
      return {};
    }
    Status status = flush();
    if (behavior == SplitBehavior::Removed && isMatch)
      return status;
    held = true, heldBegin = begin, heldEnd = end;
    return status;
  }

  Status flush() {
    if (!held || heldBegin == heldEnd)
      return held = false, Status();
    held = false;
    return sink(piece.part(heldBegin, heldEnd));
  }

private:
  bool glues(bool isMatch) const {
    switch (behavior) {
    case SplitBehavior::MergedWithPrevious:
      return isMatch && !heldIsMatch;
    case SplitBehavior::MergedWithNext:
      return !isMatch && heldIsMatch;
    case SplitBehavior::Contiguous:
      return isMatch == heldIsMatch;
    case SplitBehavior::Removed:
    case SplitBehavior::Isolated:
      return false;
    }
    __builtin_unreachable();
  }

  Piece piece;
  SplitBehavior behavior;
  PieceSink sink;
  bool held = false, heldIsMatch = false;
  size_t heldBegin = 0, heldEnd = 0;
};
} // namespace

Status splitAt(const Pattern &pattern, SplitBehavior behavior, bool invert, Piece piece, PieceSink sink) {
  Cutter cutter(piece, behavior, sink);
  size_t done = 0;
  auto visit = [&](size_t begin, size_t end) -> Status {
    if (begin > done)
      RAPT_RETURN_IF_ERROR(cutter.segment(done, begin, invert));
    done = end;
    return cutter.segment(begin, end, !invert);
  };
  RAPT_RETURN_IF_ERROR(pattern.forEachMatch(piece.text, visit));
  if (done < piece.text.size())
    RAPT_RETURN_IF_ERROR(cutter.segment(done, piece.text.size(), invert));
  return cutter.flush();
}

} // namespace rapt
