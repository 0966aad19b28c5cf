//===- TokenTable.cpp - The tokens of a GGUF file --------------------------------===//
#include "lib/Formats/GGUF/TokenTable.h"
#include "lib/Support/Json.h"
#include "lib/Support/Words.h"

namespace rapt::gguf {

std::string tokenizerKey(std::string_view name) { return "tokenizer.ggml." + std::string(name); }

/// Keys of roles, and what tokenizer_config.json calls them. Every file spells the separator so.
static constexpr std::string_view roleKeys[][2] = {
    {"bos_token_id", "bos_token"},       {"eos_token_id", "eos_token"},     {"unknown_token_id", "unk_token"},
    {"seperator_token_id", "sep_token"}, {"padding_token_id", "pad_token"}, {"cls_token_id", "cls_token"},
    {"mask_token_id", "mask_token"},
};

static std::string shownToken(int64_t id, std::string_view text) {
  return "token " + std::to_string(id) + " ('" + json::printable(text, 60) + "')";
}

Expected<std::optional<int64_t>> readTokenId(const Metadata &metadata, const std::string &key, size_t tokens) {
  RAPT_ASSIGN_OR_RETURN(const std::optional<int64_t> id, metadata.integer(key));
  if (id && (*id < 0 || uint64_t(*id) >= tokens))
    return metadata.fail(key, "id " + std::to_string(*id) + ", but there are " + std::to_string(tokens) + " tokens");
  return id;
}

std::optional<int64_t> TokenTable::find(std::string_view text) const {
  auto found = idOf.find(text);
  return found == idOf.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int64_t> TokenTable::role(std::string_view name) const {
  auto found = idOfRole.find(name);
  return found == idOfRole.end() ? std::nullopt : std::optional(found->second);
}

/// "<0x0A>".
static bool isByteToken(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>') &&
         text.find_first_not_of("0123456789ABCDEF", 3) == 5;
}

Status TokenTable::readKinds(const Metadata &metadata) {
  const std::string key = tokenizerKey("token_type");
  RAPT_ASSIGN_OR_RETURN(const auto types, metadata.integers(key));
  if (!types)
    return {};
  if (types->size() != size())
    return metadata.fail(key,
                         "has " + std::to_string(types->size()) + " types of " + std::to_string(size()) + " tokens");
  kinds.reserve(size());
  for (size_t id = 0; id < size(); ++id) {
    const int64_t type = (*types)[id];
    if (type < 0 || type > int64_t(PieceKind::Byte))
      return metadata.fail(key, shownToken(int64_t(id), text(int64_t(id))) + " is of type " + std::to_string(type) +
                                    ", which is none");
    kinds.push_back(type == 0 ? PieceKind::Normal : PieceKind(type)); // 0: undefined
  }
  return {};
}

Status TokenTable::checkText(const Metadata &metadata, size_t id) const {
  const std::string &text = (*list)[id];
  auto fail = [&](const std::string &what) {
    return metadata.fail(tokenizerKey("tokens"), shownToken(int64_t(id), text) + what + otherTokenizer);
  };
  if (text.empty() || !json::isUtf8(text))
    return fail(text.empty() ? " is empty" : " is not valid UTF-8");
  if (kind(id) == PieceKind::Byte && !isByteToken(text))
    return fail(" is a byte's, which are spelled <0x00> to <0xFF>");
  const int64_t first = idOf.at(text);
  return first == int64_t(id) ? Status() : fail(" is token " + std::to_string(first) + ", too");
}

Status TokenTable::index(const Metadata &metadata, bool checksTexts) {
  idOf.reserve(size());
  for (size_t id = 0; id < size(); ++id) {
    idOf.emplace((*list)[id], int64_t(id));
    if (checksTexts)
      RAPT_RETURN_IF_ERROR(checkText(metadata, id));
  }
  return {};
}

/// A role other than the two that every writer sets with care is believed of a special token only: a padding_token_id
/// of 0 can be that of "!", which would never be written again.
Status TokenTable::readRoles(const Metadata &metadata) {
  for (const auto &[key, role] : roleKeys) {
    RAPT_ASSIGN_OR_RETURN(const std::optional<int64_t> id, readTokenId(metadata, tokenizerKey(key), size()));
    const bool isBelieved = role == "bos_token" || role == "eos_token" || !hasKinds();
    if (id && (isBelieved || isAdded(size_t(*id))))
      idOfRole.emplace(role, *id);
  }
  return {};
}

void TokenTable::addUsualRoles(std::string_view usual) {
  for (std::string_view entry : words(usual)) {
    const size_t cut = entry.find('=');
    const std::optional<int64_t> id = find(entry.substr(cut + 1));
    if (id && (isAdded(size_t(*id)) || !hasKinds()))
      idOfRole.emplace(entry.substr(0, cut), *id);
  }
}

Expected<std::optional<TokenTable>> TokenTable::read(const Metadata &metadata, std::string_view usualRoles,
                                                     bool checksTexts) {
  TokenTable table;
  RAPT_ASSIGN_OR_RETURN(table.list, metadata.texts(tokenizerKey("tokens")));
  if (!table.list || table.list->empty())
    return std::optional<TokenTable>();
  RAPT_RETURN_IF_ERROR(table.readKinds(metadata));
  RAPT_RETURN_IF_ERROR(table.index(metadata, checksTexts));
  RAPT_RETURN_IF_ERROR(table.readRoles(metadata));
  table.addUsualRoles(usualRoles);
  return std::optional(std::move(table));
}

} // namespace rapt::gguf
