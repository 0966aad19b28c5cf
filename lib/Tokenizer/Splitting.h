//===- Splitting.h - The five ways to cut at matches -----------------------===//
#pragma once
#include "lib/Tokenizer/Pattern.h"
#include "lib/Tokenizer/PreTokenizer.h"

namespace rapt {

/// The use of a match: dropped, a piece of its own, glued to the piece before or behind, or one piece with its
/// neighboring matches (SplitDelimiterBehavior of Hugging Face's tokenizers).
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

Expected<SplitBehavior> parseSplitBehavior(std::string_view name, const std::string &where);

/// Cuts `piece` at the matches of `pattern`; `invert` exchanges matches and what lies between them.
Status splitAt(const Pattern &pattern, SplitBehavior behavior, bool invert, Piece piece, PieceSink sink);

} // namespace rapt
