//===- TokenizerParts.h - Tokenizers of each kind as parts of a tokenizer.json ------===//
#pragma once
#include "lib/Formats/GGUF/TokenTable.h"
#include "lib/Support/Json.h"
#include <set>

namespace rapt::gguf {

/// The tokens around one text, and around two: begin A end, and begin A end separator begin B end.
struct Frame {
  std::optional<int64_t> begin, end, separator;
  bool beginsSecond = true; ///< `begin` stands before B, too
  int secondType = 1;       ///< token type of what follows the first `end`, but the separator
};

/// What depends on tokenizer.ggml.model.
struct TokenizerParts {
  json::Object members; ///< normalizer, pre_tokenizer, decoder and model
  Frame frame;
  std::set<int64_t> takeSpacesBefore, takeSpacesBehind; ///< added tokens that spaces at a side of them belong to
};

/// Byte pairs of SentencePiece, merged by scores ("llama"). Errors: no scores, one that is not finite, a long token.
Expected<TokenizerParts> makeScoredPairs(const Metadata &metadata, const TokenTable &tokens,
                                         std::vector<std::string> &notes);
/// The same, merged in the order of a list ("gemma4"). Errors: as above, and those of readMerges.
Expected<TokenizerParts> makeListedPairs(const Metadata &metadata, const TokenTable &tokens,
                                         std::vector<std::string> &notes);
/// SentencePiece's cuts of the greatest likelihood ("t5"). Errors: as above, and a damaged precompiled_charsmap.
Expected<TokenizerParts> makeUnigram(const Metadata &metadata, const TokenTable &tokens,
                                     std::vector<std::string> &notes);
/// Byte pairs of bytes, merged in the order of a list ("gpt2"). Errors: no merges, one that names no token, words that
/// are cut by an unknown rule.
Expected<TokenizerParts> makeBytePairs(const Metadata &metadata, const TokenTable &tokens,
                                       std::vector<std::string> &notes);
/// BERT's pieces of words ("bert"). Errors: no token for unknown words, none to begin or end a text with.
Expected<TokenizerParts> makeWordPieces(const Metadata &metadata, const TokenTable &tokens,
                                        std::vector<std::string> &notes);

/// tokenizer.ggml.merges as the member of a tokenizer.json. Errors: no merges, one that names no token.
Expected<json::Value> readMerges(const Metadata &metadata, const TokenTable &tokens);

/// The token of a role where the flag of that key, or else `otherwise`, says that it is put around texts. Errors: the
/// file has the flag, but no such token.
Expected<std::optional<int64_t>> readFlagged(const Metadata &metadata, const TokenTable &tokens, std::string_view flag,
                                             std::string_view role, bool otherwise);

/// The members added_tokens and post_processor.
json::Value writeAddedTokens(const TokenTable &tokens, const TokenizerParts &parts);
json::Value writeFrame(const TokenTable &tokens, const Frame &frame);

} // namespace rapt::gguf
