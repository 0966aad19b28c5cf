//===- TokenizerParts.cpp -----------------------------------------------------------===//
#include "lib/Formats/GGUF/TokenizerParts.h"
#include "lib/Formats/SentencePiece/TokenizerStages.h"

namespace rapt::gguf {

Expected<std::optional<int64_t>> readFlagged(const Metadata &metadata, const TokenTable &tokens, std::string_view flag,
                                             std::string_view role, bool otherwise) {
  RAPT_ASSIGN_OR_RETURN(const std::optional<bool> given, metadata.boolean(tokenizerKey(flag)));
  if (!given.value_or(otherwise))
    return std::optional<int64_t>();
  const std::optional<int64_t> id = tokens.role(role);
  if (!id && given)
    return metadata.fail(tokenizerKey(flag), "is true, but no token is the " + std::string(role));
  return id;
}

json::Value writeAddedTokens(const TokenTable &tokens, const TokenizerParts &parts) {
  json::Array list;
  for (size_t id = 0; id < tokens.size(); ++id)
    if (tokens.isAdded(id))
      list.push_back(sentencepiece::addedToken(
          int64_t(id), tokens.texts()[id], tokens.kind(id) != PieceKind::UserDefined,
          parts.takeSpacesBefore.contains(int64_t(id)), parts.takeSpacesBehind.contains(int64_t(id))));
  return json::Value(std::move(list));
}

json::Value writeFrame(const TokenTable &tokens, const Frame &frame) {
  json::Object special;
  auto append = [&](json::Array &parts, std::optional<int64_t> id, bool isSecond) {
    if (!id)
      return;
    const std::string &text = tokens.text(*id);
    parts.push_back(sentencepiece::framePart(text, /*isText=*/false, isSecond && frame.secondType == 1));
    json::setMember(special, text, sentencepiece::frameToken(text, *id));
  };
  auto appendText = [&](json::Array &parts, const char *name, std::optional<int64_t> begin, bool isSecond) {
    append(parts, begin, isSecond);
    parts.push_back(sentencepiece::framePart(name, /*isText=*/true, isSecond && frame.secondType == 1));
    append(parts, frame.end, isSecond);
  };
  json::Array single, pair;
  appendText(single, "A", frame.begin, false);
  appendText(pair, "A", frame.begin, false);
  append(pair, frame.separator, false);
  appendText(pair, "B", frame.beginsSecond ? frame.begin : std::nullopt, true);
  return json::Value(json::Object{{"type", json::Value("TemplateProcessing")},
                                  {"single", json::Value(std::move(single))},
                                  {"pair", json::Value(std::move(pair))},
                                  {"special_tokens", json::Value(std::move(special))}});
}

} // namespace rapt::gguf
