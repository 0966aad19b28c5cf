//===- TokenizerFile.cpp -----------------------------------------------------------===//
#include "lib/Formats/SentencePiece/TokenizerFile.h"
#include "lib/Formats/SentencePiece/TokenizerModels.h"
#include "lib/Formats/SentencePiece/TokenizerStages.h"
#include "lib/Support/Words.h"
#include <algorithm>
#include <map>
#include <set>

namespace rapt::sentencepiece {
namespace {

constexpr int64_t mostIds = int64_t(1) << 24, mostExtraIds = 1 << 16;

/// Makes the file of one tokenizer.
class Maker {
public:
  Maker(const TokenizerClass &form, const Model &model, const FilesBeside &beside)
      : form(form), model(model), beside(beside) {}
  Expected<TokenizerFile> run();

private:
  struct Entry {
    std::string text;
    double score = 0;
    PieceKind kind = PieceKind::Control;
  };

  Error fail(const std::string &what) const { return Error{std::string(form.name) + ": " + what}; }
  const json::Value *given(std::string_view key) const { return beside.configuration.find(key); }
  bool flag(std::string_view key, bool otherwise) const {
    const json::Value *value = given(key);
    return value ? value->asBool().value_or(otherwise) : otherwise;
  }

  void nameRoles();
  void listEntries();
  Status numberTokens();
  Status readAddedTokens();
  Status addSpecialTokens();
  std::string languageToken() const;
  Expected<json::Value> frame() const;
  json::Value makeModel() const;
  json::Value unigram() const;
  json::Value bytePairs() const;
  json::Value addedTokens() const;

  const TokenizerClass &form;
  const Model &model;
  const FilesBeside &beside;
  std::map<std::string, std::string> roles; // "mask" -> "<mask>"
  std::vector<Entry> entries;               // what a text is cut into; by id where there is no vocabulary
  std::map<std::string, int64_t> ids;
  std::map<int64_t, std::pair<std::string, bool>> added; // by id: the text, and whether it is special
  int64_t size = 0;                                      // one more than the largest id
};

/// The class's roles, then what the files say.
void Maker::nameRoles() {
  for (std::string_view role : words(form.roles))
    roles[std::string(role.substr(0, role.find('=')))] = role.substr(role.find('=') + 1);
  for (const json::Value *file : {&beside.specialTokensMap, &beside.configuration})
    for (const char *name : {"bos", "eos", "unk", "sep", "pad", "cls", "mask"}) {
      const json::Value *value = file->find(std::string(name) + "_token");
      if (value && value->isObject())
        value = value->find("content");
      if (value && value->isString())
        roles[name] = *value->asString();
    }
}

void Maker::listEntries() {
  for (std::string_view token : words(form.before))
    entries.push_back({std::string(token)});
  for (int i = 2; i <= form.lastUnknown; ++i)
    entries.push_back({"<unk_" + std::to_string(i) + ">", -100});
  const std::vector<double> scores = scoresOf(model);
  for (size_t i = form.replaced; i < model.pieces.size(); ++i)
    entries.push_back({model.pieces[i].text, scores[i], model.pieces[i].kind});
  if (form.hasVocabulary)
    return;
  for (std::string_view language : words(form.languages))
    entries.push_back({std::string(language)});
  for (std::string_view token : words(form.behind))
    entries.push_back({std::string(token)});
  if (!form.hasExtraIds)
    return;
  const json::Value *count = given("extra_ids");
  for (int64_t i = std::clamp<int64_t>(count ? count->asInteger().value_or(100) : 100, 0, mostExtraIds); i-- > 0;)
    entries.push_back({"<extra_id_" + std::to_string(i) + ">"});
}

Status Maker::numberTokens() {
  auto add = [&](const std::string &token, int64_t id) -> Status {
    if (id < 0 || id >= mostIds)
      return fail("token '" + json::printable(token) + "' has id " + std::to_string(id));
    ids.emplace(token, id);
    size = std::max(size, id + 1);
    return {};
  };
  if (!form.hasVocabulary) {
    for (const Entry &entry : entries)
      RAPT_RETURN_IF_ERROR(add(entry.text, size));
    return {};
  }
  const json::Object *members = beside.vocabulary.asObject();
  if (!members)
    return fail("vocab.json, which gives pieces their ids, is missing or no object");
  for (const auto &[token, id] : *members)
    RAPT_RETURN_IF_ERROR(add(token, id.asInteger().value_or(-1)));
  for (std::string_view language : words(form.languages)) {
    std::string token = std::string(form.languageMark).append(language).append(form.languageMark);
    RAPT_RETURN_IF_ERROR(add(token, size));
  }
  return {};
}

/// added_tokens.json: {token: id}.
Status Maker::readAddedTokens() {
  const json::Object *members = beside.addedTokens.asObject();
  if (!members)
    return {};
  for (const auto &[token, value] : *members) {
    const int64_t id = value.asInteger().value_or(-1);
    if (id < 0 || id >= mostIds)
      return fail("added_tokens.json: the id of token '" + json::printable(token) + "' is not an id");
    ids.emplace(token, id);
    size = std::max(size, id + 1);
    added[id] = {token, false};
  }
  return {};
}

/// Tokens that are cut out of a text before the model sees it. One of a role that has no id yet gets the next.
Status Maker::addSpecialTokens() {
  if (!ids.contains(roles["unk"]))
    return fail("unknown text has no token '" + json::printable(roles["unk"]) + "'");
  std::set<std::string> special;
  for (const Entry &entry : entries)
    if (entry.kind == PieceKind::Control || entry.kind == PieceKind::Unknown)
      special.insert(entry.text);
  // Byte pairs merge no piece of the user's.
  for (const Entry &entry : entries)
    if (entry.kind == PieceKind::UserDefined && model.algorithm == Algorithm::BytePairs && ids.contains(entry.text))
      added[ids[entry.text]] = {entry.text, false};
  for (const char *name : {"bos", "eos", "unk", "sep", "pad", "cls", "mask"})
    if (auto role = roles.find(name); role != roles.end() && !role->second.empty()) {
      if (ids.emplace(role->second, size).second)
        ++size;
      special.insert(role->second);
    }
  for (std::string_view language : words(form.languages))
    special.insert(std::string(form.languageMark).append(language).append(form.languageMark));
  for (const json::Value *file : {&beside.specialTokensMap, &beside.configuration})
    if (const json::Value *more = file->find("additional_special_tokens"); more && more->isArray())
      for (const json::Value &token : *more->asArray()) {
        const json::Value *content = token.isObject() ? token.find("content") : &token;
        if (content && content->isString())
          special.insert(*content->asString());
      }
  for (const std::string &token : special)
    if (auto id = ids.find(token); id != ids.end() && !token.empty())
      added[id->second] = {token, true};
  // The languages that a text of a translator may begin with.
  if (form.hasVocabulary)
    for (const auto &[token, id] : ids)
      if (token.starts_with(">>") && token.ends_with("<<"))
        added[id] = {token, false};
  return {};
}

std::string Maker::languageToken() const {
  const json::Value *language = given("src_lang");
  const std::string name = language && language->isString() ? *language->asString() : std::string(form.language);
  return std::string(form.languageMark).append(name).append(form.languageMark);
}

Expected<json::Value> Maker::frame() const {
  json::Array single, pair;
  json::Object tokens;
  for (auto [parts, list] : {std::pair(form.single, &single), std::pair(form.pair, &pair)})
    for (std::string_view part : words(parts)) {
      const bool isSecond = part.starts_with("1:");
      std::string token(isSecond ? part.substr(2) : part);
      const bool isText = token == "A" || token == "B";
      if (token == "$language")
        token = languageToken();
      list->push_back(framePart(token, isText, isSecond));
      auto id = ids.find(token);
      if (!isText && id == ids.end())
        return fail("token '" + json::printable(token) + "', which is put around a text, has no id");
      if (!isText &&
          std::none_of(tokens.begin(), tokens.end(), [&](const auto &entry) { return entry.first == token; }))
        tokens.emplace_back(token, frameToken(token, id->second));
    }
  return json::Value(json::Object{{"type", json::Value("TemplateProcessing")},
                                  {"single", json::Value(std::move(single))},
                                  {"pair", json::Value(std::move(pair))},
                                  {"special_tokens", json::Value(std::move(tokens))}});
}

json::Value Maker::unigram() const {
  json::Array list;
  int64_t unknown = -1;
  for (const Entry &entry : entries) {
    const bool isCut = entry.kind == PieceKind::Normal || entry.kind == PieceKind::UserDefined;
    if (form.hasVocabulary && !isCut)
      continue; // the ids are elsewhere
    if (entry.text == roles.at("unk"))
      unknown = int64_t(list.size());
    // Albert's numbers and their commas are no pieces: "9," is "9" and ",".
    const bool isNumber = form.rewriting == Rewriting::Albert && entry.text.size() > 1 && entry.text.back() == ',' &&
                          entry.text[entry.text.size() - 2] >= '0' && entry.text[entry.text.size() - 2] <= '9';
    const json::Value score = isCut ? json::Value(entry.score - (isNumber ? 100 : 0)) : json::Value();
    list.push_back(json::Value(json::Array{json::Value(entry.text), score}));
  }
  return unigramModel(std::move(list), form.hasVocabulary ? ids.at(roles.at("unk")) : unknown, model.byteFallback);
}

json::Value Maker::bytePairs() const {
  json::Object vocabulary;
  std::string unknown = roles.at("unk");
  for (const Entry &entry : entries) {
    vocabulary.emplace_back(entry.text, json::Value(int64_t(vocabulary.size())));
    if (entry.kind == PieceKind::Unknown)
      unknown = entry.text;
  }
  return bytePairModel(std::move(vocabulary), json::Value(unknown), model.byteFallback, mergesOf(model));
}

json::Value Maker::makeModel() const {
  json::Value made = model.algorithm == Algorithm::Unigram ? unigram() : bytePairs();
  if (!form.hasVocabulary)
    return made;
  json::Object members = *made.asObject(), numbers;
  for (const auto &[token, id] : ids)
    numbers.emplace_back(token, json::Value(id));
  members.emplace_back("ids", json::Value(std::move(numbers)));
  return json::Value(std::move(members));
}

json::Value Maker::addedTokens() const {
  auto mask = roles.find("mask");
  json::Array list;
  for (const auto &[id, token] : added) {
    const bool takesSpace = form.maskTakesSpace && mask != roles.end() && token.first == mask->second;
    list.push_back(addedToken(id, token.first, token.second, takesSpace));
  }
  return json::Value(std::move(list));
}

Expected<TokenizerFile> Maker::run() {
  nameRoles();
  listEntries();
  for (Status (Maker::*step)() : {&Maker::numberTokens, &Maker::readAddedTokens, &Maker::addSpecialTokens})
    RAPT_RETURN_IF_ERROR((this->*step)());
  RAPT_ASSIGN_OR_RETURN(json::Value around, frame());
  Stages stages;
  stages.rewriting = form.rewriting;
  stages.lowersCase = flag("do_lower_case", form.rewriting != Rewriting::DebertaV2);
  stages.keepsAccents = flag("keep_accents", false);
  stages.splitsPunctuation = form.rewriting == Rewriting::DebertaV2 && flag("split_by_punct", false);
  stages.addsPrefix = model.addsPrefix && flag("add_prefix_space", true);
  stages.prefixesFirstOnly = form.hasLegacyFlag && !flag("legacy", true);
  stages.splitsWords = !hasPiecesOverSpaces(model);
  json::Object file{{"version", json::Value("1.0")}, {"added_tokens", addedTokens()}};
  stages.append(model, file);
  file.emplace_back("post_processor", std::move(around));
  file.emplace_back("model", makeModel());
  json::Object map;
  for (const auto &[name, token] : roles)
    map.emplace_back(name + "_token", json::Value(token));
  return TokenizerFile{json::write(json::Value(std::move(file))), json::write(json::Value(std::move(map)))};
}

} // namespace

Expected<TokenizerFile> makeTokenizer(const TokenizerClass &form, const Model &model, const FilesBeside &beside) {
  return Maker(form, model, beside).run();
}

} // namespace rapt::sentencepiece
