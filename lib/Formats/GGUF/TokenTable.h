//===- TokenTable.h - The tokens of a GGUF file ------------------------------===//
#pragma once
#include "lib/Formats/GGUF/Metadata.h"
#include "lib/Formats/SentencePiece/SentencePieceModel.h"
#include <map>
#include <optional>
#include <unordered_map>

namespace rapt::gguf {

/// The numbers of token types are those of SentencePiece.
using sentencepiece::PieceKind;

/// "tokenizer.ggml.NAME".
std::string tokenizerKey(std::string_view name);

/// What to do about a tokenizer that cannot be read.
inline constexpr const char *otherTokenizer = "; give the folder of the original's tokenizer by --tokenizer=DIR";

/// The tokens by their ids, with their types and the roles that some of them have. It refers to the metadata.
class TokenTable {
public:
  /// `usualRoles` has texts of control tokens for roles that no key names: "bos_token=<s> eos_token=</s>". An absent
  /// key never means an id. Texts are not checked where another tokenizer is used, and only ids matter. Nothing where
  /// the file has no tokens. Errors: a text that is empty, twice there or not
  /// UTF-8, a type that is none or a byte's token of another form than <0x0A>, lists of different lengths, an id of no
  /// token.
  static Expected<std::optional<TokenTable>> read(const Metadata &metadata, std::string_view usualRoles,
                                                  bool checksTexts = true);

  const Value::Texts &texts() const { return *list; }
  size_t size() const { return list->size(); }
  const std::string &text(int64_t id) const { return (*list)[size_t(id)]; }
  /// Normal where the file has no types.
  PieceKind kind(size_t id) const { return kinds.empty() ? PieceKind::Normal : kinds[id]; }
  bool hasKinds() const { return !kinds.empty(); }
  /// Whether a text may be cut at the token before anything else: control tokens, and those of users.
  bool isAdded(size_t id) const {
    return kind(id) == PieceKind::Unknown || kind(id) == PieceKind::Control || kind(id) == PieceKind::UserDefined;
  }
  std::optional<int64_t> find(std::string_view text) const;

  /// By the names of tokenizer_config.json: "bos_token".
  const std::map<std::string_view, int64_t> &roles() const { return idOfRole; }
  std::optional<int64_t> role(std::string_view name) const;
  void setRole(std::string_view name, int64_t id) { idOfRole.insert_or_assign(name, id); }

private:
  Status readKinds(const Metadata &metadata);
  Status checkText(const Metadata &metadata, size_t id) const;
  Status index(const Metadata &metadata, bool checksTexts);
  Status readRoles(const Metadata &metadata);
  void addUsualRoles(std::string_view usual);

  const Value::Texts *list = nullptr;
  std::vector<PieceKind> kinds;
  std::unordered_map<std::string_view, int64_t> idOf;
  std::map<std::string_view, int64_t> idOfRole;
};

/// The id that a key has. Errors: none of a token.
Expected<std::optional<int64_t>> readTokenId(const Metadata &metadata, const std::string &key, size_t tokens);

} // namespace rapt::gguf
