//===- SentencePieces.cpp - The tokenizers "llama", "gemma4" and "t5" ---------------===//
#include "lib/Formats/GGUF/TokenizerParts.h"
#include "lib/Formats/SentencePiece/TokenizerModels.h"
#include "lib/Formats/SentencePiece/TokenizerStages.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cmath>

namespace rapt::gguf {

static constexpr size_t longestPiece = 512; // bytes; finding merges tries every cut of a piece

static Expected<std::vector<sentencepiece::Piece>> readPieces(const Metadata &metadata, const TokenTable &tokens) {
  const std::string key = tokenizerKey("scores");
  RAPT_ASSIGN_OR_RETURN(const auto scores, metadata.numbers(key));
  if (!scores)
    return metadata.fail(key, "is missing; texts are cut into tokens by their scores");
  if (scores->size() != tokens.size())
    return metadata.fail(key, "has " + std::to_string(scores->size()) + " scores of " + std::to_string(tokens.size()) +
                                  " tokens");
  std::vector<sentencepiece::Piece> pieces;
  pieces.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string &text = tokens.texts()[id];
    if (text.size() > longestPiece)
      return metadata.fail(tokenizerKey("tokens"), "token " + std::to_string(id) + " has " +
                                                       std::to_string(text.size()) + " bytes; the limit is " +
                                                       std::to_string(longestPiece));
    const auto score = float((*scores)[id]);
    if (!std::isfinite(score))
      return metadata.fail(key, "the score of token " + std::to_string(id) + " ('" + json::printable(text, 60) +
                                    "') is not finite");
    pieces.push_back({text, score, tokens.kind(id)});
  }
  return pieces;
}

/// The compiled map of characters: the bytes of its index, as four bytes, then the index and what it refers to.
static Expected<std::string> readCharacterMap(const Metadata &metadata) {
  const std::string key = tokenizerKey("precompiled_charsmap");
  RAPT_ASSIGN_OR_RETURN(const auto numbers, metadata.integers(key));
  std::string bytes;
  for (int64_t number : numbers.value_or(Value::Integers())) {
    if (number < -128 || number > 255)
      return metadata.fail(key, "has " + std::to_string(number) + ", which is no byte");
    bytes += char(number);
  }
  if (bytes.empty())
    return bytes;
  uint64_t index = 0;
  for (size_t i = std::min<size_t>(bytes.size(), 4); i-- > 0;)
    index = index << 8 | uint8_t(bytes[i]);
  if (bytes.size() < 4 || index + 4 >= bytes.size())
    return metadata.fail(key, "has " + std::to_string(bytes.size()) + " bytes, and its index alone " +
                                  std::to_string(index) + " behind the first 4");
  return bytes;
}

/// `addsPrefix` where the file does not say.
static Expected<sentencepiece::Model> readModel(const Metadata &metadata, const TokenTable &tokens, bool addsPrefix) {
  sentencepiece::Model model;
  RAPT_ASSIGN_OR_RETURN(model.pieces, readPieces(metadata, tokens));
  RAPT_ASSIGN_OR_RETURN(const std::optional<bool> prefix, metadata.boolean(tokenizerKey("add_space_prefix")));
  RAPT_ASSIGN_OR_RETURN(const std::optional<bool> removes, metadata.boolean(tokenizerKey("remove_extra_whitespaces")));
  model.addsPrefix = prefix.value_or(addsPrefix);
  model.removesExtraSpaces = removes.value_or(false);
  model.byteFallback = std::ranges::any_of(model.pieces, [](const auto &p) { return p.kind == PieceKind::Byte; });
  return model;
}

/// The token for what has no other: that of the key, else the first of that type.
static std::optional<int64_t> findUnknown(const TokenTable &tokens) {
  std::optional<int64_t> found = tokens.role("unk_token");
  for (size_t id = 0; id < tokens.size() && !found; ++id)
    if (tokens.kind(id) == PieceKind::Unknown)
      found = int64_t(id);
  return found;
}

static json::Object writeStages(const sentencepiece::Model &model) {
  sentencepiece::Stages stages;
  stages.addsPrefix = model.addsPrefix;
  stages.splitsWords = !hasPiecesOverSpaces(model);
  json::Object members;
  stages.append(model, members);
  return members;
}

/// Spaces behind the marks of a chat are part of them in the tokenizer.json of Phi-3, which the marks tell; a GGUF file
/// cannot say so.
static std::set<int64_t> marksThatTakeSpaces(const TokenTable &tokens) {
  std::set<int64_t> marks;
  for (std::string_view known : {"<|user|>", "<|end|>", "<|endoftext|>"})
    if (const std::optional<int64_t> id = tokens.find(known); !id || !tokens.isAdded(size_t(*id)))
      return marks;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string &text = tokens.texts()[id];
    const bool isMark = tokens.kind(id) == PieceKind::Control || tokens.kind(id) == PieceKind::Unknown;
    if (text == "</s>" || (isMark && text != "<unk>" && text != "<s>" && text != "<|endoftext|>"))
      marks.insert(int64_t(id));
  }
  return marks;
}

/// Byte pairs, merged in the order of the file's list, or else by scores.
static Expected<TokenizerParts> makePairs(const Metadata &metadata, const TokenTable &tokens, bool areListed) {
  RAPT_ASSIGN_OR_RETURN(sentencepiece::Model model, readModel(metadata, tokens, /*addsPrefix=*/!areListed));
  json::Value merges;
  if (areListed) {
    RAPT_ASSIGN_OR_RETURN(merges, readMerges(metadata, tokens));
  } else {
    merges = mergesOf(model);
  }
  model.algorithm = sentencepiece::Algorithm::BytePairs;
  TokenizerParts parts;
  parts.members = writeStages(model);
  json::Object vocabulary;
  vocabulary.reserve(tokens.size());
  for (const std::string &text : tokens.texts())
    vocabulary.emplace_back(text, json::Value(int64_t(vocabulary.size())));
  const std::optional<int64_t> unknown = findUnknown(tokens);
  parts.members.emplace_back("model",
                             sentencepiece::bytePairModel(std::move(vocabulary),
                                                          unknown ? json::Value(tokens.text(*unknown)) : json::Value(),
                                                          model.byteFallback, std::move(merges)));
  RAPT_ASSIGN_OR_RETURN(parts.frame.begin, readFlagged(metadata, tokens, "add_bos_token", "bos_token", true));
  RAPT_ASSIGN_OR_RETURN(parts.frame.end, readFlagged(metadata, tokens, "add_eos_token", "eos_token", false));
  parts.takeSpacesBehind = marksThatTakeSpaces(tokens);
  return parts;
}

Expected<TokenizerParts> makeScoredPairs(const Metadata &metadata, const TokenTable &tokens,
                                         std::vector<std::string> &) {
  return makePairs(metadata, tokens, /*areListed=*/false);
}

Expected<TokenizerParts> makeListedPairs(const Metadata &metadata, const TokenTable &tokens,
                                         std::vector<std::string> &) {
  return makePairs(metadata, tokens, /*areListed=*/true);
}

Expected<TokenizerParts> makeUnigram(const Metadata &metadata, const TokenTable &tokens, std::vector<std::string> &) {
  RAPT_ASSIGN_OR_RETURN(sentencepiece::Model model, readModel(metadata, tokens, /*addsPrefix=*/false));
  RAPT_ASSIGN_OR_RETURN(model.characterMap, readCharacterMap(metadata));
  TokenizerParts parts;
  parts.members = writeStages(model);
  json::Array pieces;
  pieces.reserve(tokens.size());
  const std::vector<double> scores = scoresOf(model);
  for (size_t id = 0; id < tokens.size(); ++id) {
    const PieceKind kind = tokens.kind(id);
    const bool isCut = kind == PieceKind::Normal || kind == PieceKind::UserDefined;
    pieces.push_back(
        json::Value(json::Array{json::Value(tokens.texts()[id]), isCut ? json::Value(scores[id]) : json::Value()}));
  }
  parts.members.emplace_back(
      "model", sentencepiece::unigramModel(std::move(pieces), findUnknown(tokens).value_or(-1), model.byteFallback));
  Frame &frame = parts.frame;
  RAPT_ASSIGN_OR_RETURN(frame.begin, readFlagged(metadata, tokens, "add_bos_token", "bos_token", false));
  RAPT_ASSIGN_OR_RETURN(frame.end, readFlagged(metadata, tokens, "add_eos_token", "eos_token", true));
  // XLM-RoBERTa's: <s> A </s> </s> B </s>.
  RAPT_ASSIGN_OR_RETURN(frame.separator,
                        readFlagged(metadata, tokens, "add_sep_token", "sep_token", frame.begin.has_value()));
  frame.beginsSecond = false, frame.secondType = 0;
  if (const std::optional<int64_t> mask = tokens.role("mask_token"))
    parts.takeSpacesBefore.insert(*mask);
  return parts;
}

} // namespace rapt::gguf
