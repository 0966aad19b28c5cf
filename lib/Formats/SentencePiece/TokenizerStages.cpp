//===- TokenizerStages.cpp ------------------------------------------------------------===//
#include "lib/Formats/SentencePiece/TokenizerStages.h"
#include "lib/Formats/SentencePiece/TokenizerModels.h"
#include "lib/Support/Base64.h"

namespace rapt::sentencepiece {

static constexpr int mostSpaces = 64; // that are dropped before a text, which had none when it was cut
// Python's string.punctuation, and what str.split takes for spaces.
static constexpr const char *punctuation = R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~])", *blanks = "\\s+";

static json::Value text(std::string_view value) { return json::Value(std::string(value)); }

static json::Value stage(const char *type, json::Object members = {}) {
  members.insert(members.begin(), {"type", text(type)});
  return json::Value(std::move(members));
}

static json::Value replace(const char *kind, std::string_view pattern, std::string_view content) {
  return stage("Replace", {{"pattern", json::Value(json::Object{{kind, text(pattern)}})}, {"content", text(content)}});
}

static json::Value metaspace(const char *scheme, bool split) {
  return stage("Metaspace",
               {{"replacement", text(spaceMark)}, {"prepend_scheme", text(scheme)}, {"split", json::Value(split)}});
}

json::Value addedToken(int64_t id, const std::string &content, bool isSpecial, bool spacesBefore, bool spacesBehind) {
  return json::Value(json::Object{{"id", json::Value(id)},
                                  {"content", json::Value(content)},
                                  {"single_word", json::Value(false)},
                                  {"lstrip", json::Value(spacesBefore)},
                                  {"rstrip", json::Value(spacesBehind)},
                                  {"normalized", json::Value(false)},
                                  {"special", json::Value(isSpecial)}});
}

json::Value framePart(const std::string &name, bool isText, bool isSecond) {
  json::Object part{{"id", json::Value(name)}, {"type_id", json::Value(int(isSecond))}};
  return json::Value(json::Object{{isText ? "Sequence" : "SpecialToken", json::Value(std::move(part))}});
}

json::Value frameToken(const std::string &token, int64_t id) {
  return json::Value(json::Object{{"id", json::Value(token)},
                                  {"ids", json::Value(json::Array{json::Value(id)})},
                                  {"tokens", json::Value(json::Array{json::Value(token)})}});
}

json::Array Stages::normalizers(const Model &model) const {
  json::Array list;
  if (rewriting == Rewriting::Albert) {
    list = {replace("String", "``", "\""), replace("String", "''", "\"")};
    if (!keepsAccents)
      list.insert(list.end(), {stage("NFKD"), stage("StripAccents")});
  }
  if (rewriting != Rewriting::None && lowersCase)
    list.push_back(stage("Lowercase"));
  if (rewriting == Rewriting::Siglip)
    list.insert(list.end(), {replace("Regex", punctuation, ""), replace("Regex", blanks, " ")});
  if (rewriting == Rewriting::DebertaV2 || rewriting == Rewriting::Siglip)
    list.push_back(stage("Strip", {{"strip_left", json::Value(true)}, {"strip_right", json::Value(true)}}));
  if (!model.characterMap.empty())
    list.push_back(stage("Precompiled", {{"precompiled_charsmap", json::Value(encodeBase64(model.characterMap))},
                                         {"longest_match", json::Value(true)}}));
  if (model.removesExtraSpaces)
    list.insert(list.end(), {replace("Regex", "^ +| +$", ""), replace("Regex", " {2,}", " ")});
  if (addsPrefix && !prefixesFirstOnly)
    list.push_back(stage("Prepend", {{"prepend", text(spaceMark)}}));
  list.push_back(replace("String", " ", spaceMark));
  return list;
}

json::Value Stages::preTokenizer() const {
  json::Array list;
  if (splitsPunctuation)
    list.push_back(stage("Punctuation", {{"behavior", text("Isolated")}}));
  if (addsPrefix && prefixesFirstOnly)
    list.push_back(metaspace("first", splitsWords));
  else if (splitsWords)
    list.push_back(metaspace("never", true));
  return list.empty() ? json::Value() : stage("Sequence", {{"pretokenizers", json::Value(std::move(list))}});
}

json::Value Stages::decoder(const Model &model) const {
  json::Array list{replace("String", spaceMark, " ")};
  if (model.byteFallback)
    list.push_back(stage("ByteFallback"));
  list.push_back(stage("Fuse"));
  if (const int spaces = model.removesExtraSpaces ? mostSpaces : int(addsPrefix))
    list.push_back(stage("Strip", {{"content", text(" ")}, {"start", json::Value(spaces)}, {"stop", json::Value(0)}}));
  return stage("Sequence", {{"decoders", json::Value(std::move(list))}});
}

void Stages::append(const Model &model, json::Object &file) const {
  file.emplace_back("normalizer", stage("Sequence", {{"normalizers", json::Value(normalizers(model))}}));
  file.emplace_back("pre_tokenizer", preTokenizer());
  file.emplace_back("decoder", decoder(model));
}

} // namespace rapt::sentencepiece
