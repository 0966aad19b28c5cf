//===- WordPieces.cpp - The tokenizer "bert" --------------------------------------------===//
#include "lib/Formats/GGUF/TokenizerParts.h"
#include "lib/Formats/SentencePiece/TokenizerModels.h"
#include <algorithm>

namespace rapt::gguf {

/// A token such as [CLS] or [unused0], which older writers leave as it is without a type that says so.
static bool isBracketed(std::string_view text) {
  return text.size() > 2 && text.starts_with('[') && text.ends_with(']');
}

static bool isPlain(const TokenTable &tokens, size_t id) {
  const bool hasRole =
      std::ranges::any_of(tokens.roles(), [&](const auto &role) { return role.second == int64_t(id); });
  return tokens.kind(id) == PieceKind::Normal && !hasRole && !isBracketed(tokens.texts()[id]);
}

/// What vocab.txt has: files mark the front of a word, it marks what is not.
static std::string pieceOf(const TokenTable &tokens, size_t id) {
  const std::string &text = tokens.texts()[id];
  if (!isPlain(tokens, id))
    return text;
  return text.starts_with(sentencepiece::spaceMark) ? text.substr(sentencepiece::spaceMark.size()) : "##" + text;
}

/// Whether texts are lowered. A vocabulary with capital letters could never use them if they were.
static Expected<bool> lowersCase(const Metadata &metadata, const TokenTable &tokens, std::vector<std::string> &notes) {
  const std::string key = tokenizerKey("normalizer.lowercase");
  RAPT_ASSIGN_OR_RETURN(const std::optional<bool> given, metadata.boolean(key));
  if (given)
    return *given;
  for (size_t id = 0; id < tokens.size(); ++id) {
    const std::string &text = tokens.texts()[id];
    if (isPlain(tokens, id) && std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; })) {
      notes.push_back(
          metadata.fail(key, "is missing; letters keep their case, as the vocabulary has capital ones").message);
      return false;
    }
  }
  return true;
}

static Expected<json::Value> makeNormalizer(const Metadata &metadata, const TokenTable &tokens,
                                            std::vector<std::string> &notes) {
  RAPT_ASSIGN_OR_RETURN(const bool lowers, lowersCase(metadata, tokens, notes));
  RAPT_ASSIGN_OR_RETURN(const std::optional<bool> strips, metadata.boolean(tokenizerKey("normalizer.strip_accents")));
  return json::Value(json::Object{{"type", json::Value("BertNormalizer")},
                                  {"clean_text", json::Value(true)},
                                  {"handle_chinese_chars", json::Value(true)},
                                  {"strip_accents", strips ? json::Value(*strips) : json::Value()},
                                  {"lowercase", json::Value(lowers)}});
}

Expected<TokenizerParts> makeWordPieces(const Metadata &metadata, const TokenTable &tokens,
                                        std::vector<std::string> &notes) {
  const std::optional<int64_t> unknown = tokens.role("unk_token");
  if (!unknown)
    return metadata.fail(tokenizerKey("unknown_token_id"), "is missing, and there is no control token [UNK]");
  TokenizerParts parts;
  parts.frame = {.begin = tokens.role("cls_token"), .end = tokens.role("sep_token"), .beginsSecond = false};
  if (!parts.frame.begin) // newer files have the bos_token in its place
    parts.frame.begin = tokens.role("bos_token");
  if (!parts.frame.begin || !parts.frame.end)
    return metadata.fail(tokenizerKey(parts.frame.begin ? "seperator_token_id" : "cls_token_id"),
                         std::string("is missing, and there is no control token ") +
                             (parts.frame.begin ? "[SEP]" : "[CLS]"));
  json::Object vocabulary;
  vocabulary.reserve(tokens.size());
  for (size_t id = 0; id < tokens.size(); ++id)
    vocabulary.emplace_back(pieceOf(tokens, id), json::Value(int64_t(id)));
  json::Value model(json::Object{{"type", json::Value("WordPiece")},
                                 {"unk_token", json::Value(tokens.text(*unknown))},
                                 {"continuing_subword_prefix", json::Value("##")},
                                 {"max_input_chars_per_word", json::Value(100)},
                                 {"vocab", json::Value(std::move(vocabulary))}});
  RAPT_ASSIGN_OR_RETURN(json::Value normalizer, makeNormalizer(metadata, tokens, notes));
  const json::Value decoder(
      json::Object{{"type", json::Value("WordPiece")}, {"prefix", json::Value("##")}, {"cleanup", json::Value(true)}});
  parts.members = {{"normalizer", std::move(normalizer)},
                   {"pre_tokenizer", json::Value(json::Object{{"type", json::Value("BertPreTokenizer")}})},
                   {"decoder", decoder},
                   {"model", std::move(model)}};
  return parts;
}

} // namespace rapt::gguf
