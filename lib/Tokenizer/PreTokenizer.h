//===- PreTokenizer.h - Cutting text into the pieces a model encodes -------===//
//
// Each stage receives one piece and passes on its parts, so that memory is
// bounded by the longest piece and not by the text.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/FunctionRef.h"
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rapt {

struct Piece {
  std::string_view text;
  size_t front; ///< Its first bytes that stand for the first character of the whole input.

  Piece part(size_t begin, size_t end) const {
    return {text.substr(begin, end - begin), std::min(front, end) - std::min(front, begin)};
  }
};

using PieceSink = FunctionRef<Status(Piece)>;

class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;
  /// Passes the parts of `piece` on in order; parts may be empty, and live only for the call.
  virtual Status split(Piece piece, PieceSink sink) const = 0;
  /// Whether its parts are spelled in the byte alphabet.
  virtual bool spellsBytes() const { return false; }
};

using PreTokenizerList = std::vector<std::unique_ptr<PreTokenizer>>;

/// From the "pre_tokenizer" member of tokenizer.json. Kinds that are not supported are refused by name.
Expected<PreTokenizerList> readPreTokenizers(const json::Value &value, const std::string &where);

/// ByteLevel with GPT-2's pattern, for directories without tokenizer.json.
std::unique_ptr<PreTokenizer> makeByteLevel(bool addPrefixSpace, bool usePattern);

/// White space is dropped, and every punctuation character is a piece (BertPreTokenizer).
std::unique_ptr<PreTokenizer> makeBertSplit();

/// Runs `piece` through all stages. Empty parts are dropped after each.
Status preTokenize(const PreTokenizerList &stages, Piece piece, PieceSink sink);

} // namespace rapt
