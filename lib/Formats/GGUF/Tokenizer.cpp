//===- Tokenizer.cpp - The files of a tokenizer ----------------------------------===//
#include "lib/Formats/GGUF/Tokenizer.h"
#include "lib/Formats/GGUF/TokenizerConfig.h"
#include "lib/Formats/GGUF/TokenizerParts.h"
#include "lib/Support/Spelling.h"
#include <algorithm>

namespace rapt::gguf {

static constexpr std::string_view wholeKey = "tokenizer.huggingface.json";

/// A kind of tokenizer.
struct TokenizerKind {
  std::string_view name;       ///< tokenizer.ggml.model
  std::string_view usualRoles; ///< see TokenTable
  decltype(&makeBytePairs) make;
};

static constexpr TokenizerKind kinds[] = {
#define RAPT_TOKENIZER_KIND(NAME, ROLES, MAKE) {NAME, ROLES, MAKE},
#include "lib/Formats/GGUF/TokenizerKinds.def"
};

/// The kind that the file names; null where it says that it has no tokenizer.
static Expected<const TokenizerKind *> findKind(const Metadata &metadata) {
  const std::string key = tokenizerKey("model");
  RAPT_ASSIGN_OR_RETURN(const std::optional<std::string> name, metadata.text(key));
  if (!name || *name == "none" || *name == "no_vocab")
    return static_cast<const TokenizerKind *>(nullptr);
  auto kind = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto &entry) { return entry.name == *name; });
  if (kind == std::end(kinds)) {
    std::vector<std::string_view> known;
    std::ranges::transform(kinds, std::back_inserter(known), &TokenizerKind::name);
    return metadata.fail(key, "\"" + json::printable(*name, 60) + "\" is not supported; expected " +
                                  listChoices(known) + otherTokenizer);
  }
  return kind;
}

static Expected<std::optional<TokenTable>> readTokens(const Metadata &metadata, bool checksTexts) {
  const Value *name = metadata.find(tokenizerKey("model"));
  std::string_view usualRoles;
  for (const TokenizerKind &kind : kinds)
    if (name && name->asText() && *name->asText() == kind.name)
      usualRoles = kind.usualRoles;
  return TokenTable::read(metadata, usualRoles, checksTexts);
}

static Expected<std::string> makeTokenizer(const Metadata &metadata, const TokenizerKind &kind,
                                           const TokenTable &tokens, std::vector<std::string> &notes) {
  RAPT_ASSIGN_OR_RETURN(TokenizerParts parts, kind.make(metadata, tokens, notes));
  json::Object file{{"version", json::Value("1.0")}, {"added_tokens", writeAddedTokens(tokens, parts)}};
  for (auto &member : parts.members)
    file.push_back(std::move(member));
  file.emplace_back("post_processor", writeFrame(tokens, parts.frame));
  return json::write(json::Value(std::move(file)));
}

/// Nothing where there is none.
static Expected<std::optional<std::string>> findTokenizer(const Metadata &metadata, const TokenTable *tokens,
                                                          std::vector<std::string> &notes) {
  RAPT_ASSIGN_OR_RETURN(std::optional<std::string> whole, metadata.text(wholeKey));
  if (whole)
    return whole;
  RAPT_ASSIGN_OR_RETURN(const TokenizerKind *kind, findKind(metadata));
  if (!kind)
    return std::optional<std::string>();
  if (!tokens)
    return metadata.fail(tokenizerKey("tokens"), "is missing or empty");
  RAPT_ASSIGN_OR_RETURN(std::string made, makeTokenizer(metadata, *kind, *tokens, notes));
  return std::optional(std::move(made));
}

Expected<huggingface::SideFiles> tokenizerFiles(const Metadata &metadata, std::vector<std::string> &notes) {
  RAPT_ASSIGN_OR_RETURN(const std::optional<TokenTable> table, readTokens(metadata, /*checksTexts=*/true));
  const TokenTable *tokens = table ? &*table : nullptr;
  RAPT_ASSIGN_OR_RETURN(std::optional<std::string> tokenizer, findTokenizer(metadata, tokens, notes));
  huggingface::SideFiles files;
  if (tokenizer)
    files.emplace("tokenizer.json", std::move(*tokenizer));
  RAPT_ASSIGN_OR_RETURN(std::string configuration, writeTokenizerConfig(metadata, tokens));
  RAPT_ASSIGN_OR_RETURN(std::string generation, writeGenerationConfig(metadata, tokens, notes));
  files.emplace("tokenizer_config.json", std::move(configuration));
  files.emplace("generation_config.json", std::move(generation));
  return files;
}

Expected<std::string> generationFile(const Metadata &metadata, std::vector<std::string> &notes) {
  RAPT_ASSIGN_OR_RETURN(const std::optional<TokenTable> tokens, readTokens(metadata, /*checksTexts=*/false));
  return writeGenerationConfig(metadata, tokens ? &*tokens : nullptr, notes);
}

} // namespace rapt::gguf
