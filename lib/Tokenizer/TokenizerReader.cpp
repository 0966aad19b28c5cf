//===- TokenizerReader.cpp -------------------------------------------------===//
#include "lib/Tokenizer/TokenizerReader.h"
#include "lib/Support/Words.h"
#include "lib/Tokenizer/CleanUp.h"
#include "lib/Tokenizer/JsonFields.h"
#include <algorithm>

namespace rapt {

Status TokenizerReader::checkContent(std::string_view content, const std::string &name) {
  if (content.starts_with("version https://git-lfs"))
    return Error{name + ": is a Git LFS pointer, not the file itself; run `git lfs pull` in the model's directory"};
  if (content.starts_with("<!") || content.starts_with("<html"))
    return Error{name + ": is an HTML page, not " + (name.ends_with(".json") ? "JSON" : "text") +
                 "; the download failed"};
  return {};
}

Expected<json::Value> TokenizerReader::parseFile(std::string_view content, const std::string &name) {
  RAPT_RETURN_IF_ERROR(checkContent(content, name));
  RAPT_ASSIGN_OR_RETURN(json::Value value, withContext(name, json::parse(content)));
  if (!value.isObject())
    return Error{name + ": is not a JSON object"};
  return value;
}

Status TokenizerReader::readConfiguration() {
  auto read = [](std::string_view content, const std::string &name, json::Value &value) -> Status {
    if (content.empty())
      return {};
    RAPT_ASSIGN_OR_RETURN(value, parseFile(content, name));
    return {};
  };
  RAPT_RETURN_IF_ERROR(read(files.tokenizerConfig, "tokenizer_config.json", configuration));
  const json::Value *name = configuration.find("tokenizer_class");
  rules = &rulesOfClass(name && name->isString() ? std::string_view(*name->asString()) : std::string_view());
  tokenizer->splitsSpecialTokens = flag("split_special_tokens", false);
  return read(files.specialTokensMap, "special_tokens_map.json", specialTokensMap);
}

bool TokenizerReader::flag(std::string_view key, bool otherwise) const {
  const json::Value *value = configuration.find(key);
  return value ? value->asBool().value_or(otherwise) : otherwise;
}

/// The value that the configuration, or else special_tokens_map.json, has for "bos_token" and its like; null where it
/// is neither a string nor an object with "content".
const json::Value *TokenizerReader::specialToken(std::string_view role) const {
  for (const json::Value *file : {&configuration, &specialTokensMap}) {
    const json::Value *value = file->find(role), *content = value ? value->find("content") : nullptr;
    if (value && (value->isString() || (content && content->isString())))
      return value;
  }
  return nullptr;
}

/// The text of "bos_token" and its like, which may be the class's.
std::optional<std::string> TokenizerReader::specialTokenText(std::string_view role) const {
  if (const json::Value *value = specialToken(role))
    return *(value->isString() ? value : value->find("content"))->asString();
  if (!files.tokenizerJson.empty())
    for (std::string_view usual : words(rules->roles))
      if (usual.starts_with(role))
        return std::string(usual.substr(role.size() + 1));
  return std::nullopt;
}

Status TokenizerReader::addToken(AddedToken token, const std::string &where) {
  if (token.content.empty())
    return {};
  auto fail = [&](const std::string &what) {
    return Error{where + ": token '" + json::printable(token.content) + "' " + what};
  };
  if (token.content.size() > AddedToken::longest)
    return fail("has " + std::to_string(token.content.size()) + " bytes; the limit is " +
                std::to_string(AddedToken::longest));
  const Vocabulary &vocabulary = tokenizer->model->vocabulary();
  std::optional<int32_t> known = vocabulary.find(token.content);
  if (token.id < 0) {
    if (!known)
      return fail("has no id");
    token.id = *known;
  }
  if (known && *known != token.id)
    return fail("has id " + std::to_string(token.id) + ", but " + std::to_string(*known) +
                " in the model's vocabulary");
  if (auto other = vocabulary.token(token.id); other && *other != token.content)
    return fail("has id " + std::to_string(token.id) + ", which token '" + json::printable(*other) + "' has too");
  auto sameContent = addedByContent.find(token.content);
  if (sameContent != addedByContent.end())
    return sameContent->second == token.id
               ? Status()
               : fail("has id " + std::to_string(token.id) + " and also id " + std::to_string(sameContent->second));
  if (!addedIds.insert(token.id).second)
    return fail("has id " + std::to_string(token.id) + ", which another added token has too");
  addedByContent.emplace(token.content, token.id);
  tokenizer->added.push_back(std::make_unique<AddedToken>(std::move(token)));
  return {};
}

Status TokenizerReader::readAddedTokens(const json::Value &list) {
  if (list.isNull())
    return {};
  const json::Array *entries = list.asArray();
  if (!entries)
    return Error{"tokenizer.json: added_tokens: is not a list"};
  if (entries->size() > 100'000)
    return Error{"tokenizer.json: added_tokens: has " + std::to_string(entries->size()) +
                 " entries; the limit is 100000"};
  for (size_t index = 0; index < entries->size(); ++index) {
    std::string where = "tokenizer.json: added_tokens[" + std::to_string(index) + "]";
    RAPT_ASSIGN_OR_RETURN(AddedToken token, readAddedToken((*entries)[index], where));
    RAPT_RETURN_IF_ERROR(addToken(std::move(token), where));
  }
  return {};
}

Status TokenizerReader::readTokenizerJson() {
  RAPT_ASSIGN_OR_RETURN(json::Value root, parseFile(files.tokenizerJson, "tokenizer.json"));
  JsonFields fields(root, "tokenizer.json");
  const std::string file = "tokenizer.json: ";
  const json::Value *normalizer = &fields.value("normalizer"), *preTokenizer = &fields.value("pre_tokenizer");
  const json::Value flagged = rules->obeysBertFlags ? withBertFlags(*normalizer, configuration) : *normalizer;
  RAPT_ASSIGN_OR_RETURN(tokenizer->normalizers, readNormalizers(flagged, file + "normalizer"));
  const json::Value spaced = rules->obeysPrefixSpace ? withPrefixSpace(*preTokenizer, configuration) : *preTokenizer;
  RAPT_ASSIGN_OR_RETURN(tokenizer->preTokenizers, readPreTokenizers(spaced, file + "pre_tokenizer"));
  RAPT_ASSIGN_OR_RETURN(tokenizer->model, readModel(fields.value("model"), file + "model"));
  RAPT_RETURN_IF_ERROR(readAddedTokens(fields.value("added_tokens")));
  RAPT_ASSIGN_OR_RETURN(tokenizer->decoder, readDecoder(fields.value("decoder"), file + "decoder"));
  auto isToken = [&](int32_t id) { return tokenizer->model->vocabulary().token(id) || addedIds.count(id); };
  RAPT_ASSIGN_OR_RETURN(tokenizer->around,
                        readPostProcessor(fields.value("post_processor"), isToken, file + "post_processor"));
  // Truncation and padding shape training batches; text is never cut here.
  return fields.finish({"version", "truncation", "padding"});
}

/// {"50256": {"content": "<|endoftext|>", ...}, ...}: tokens that the configuration adds to those of tokenizer.json.
Status TokenizerReader::readAddedTokensDecoder() {
  const json::Value *table = configuration.find("added_tokens_decoder");
  if (!table || !table->isObject())
    return {};
  for (const auto &[key, value] : *table->asObject()) {
    std::string where = "tokenizer_config.json: added_tokens_decoder." + json::printable(key, 20);
    RAPT_ASSIGN_OR_RETURN(AddedToken token, readAddedToken(value, where));
    if (key.empty() || key.size() > 8 || key.find_first_not_of("0123456789") != std::string::npos ||
        std::stol(key) >= Vocabulary::idLimit)
      return Error{where + ": the key is not an id"};
    token.id = int32_t(std::stol(key));
    if (changeAdded(token))
      continue;
    RAPT_RETURN_IF_ERROR(addToken(std::move(token), where));
  }
  return {};
}

/// Gives an added token of the same text the properties of `token`, but its id; false where there is none. A special
/// token stays special.
bool TokenizerReader::changeAdded(const AddedToken &token) {
  auto found = std::find_if(tokenizer->added.begin(), tokenizer->added.end(),
                            [&](const auto &entry) { return entry->content == token.content; });
  if (found == tokenizer->added.end())
    return false;
  const int32_t id = (*found)->id;
  const bool special = (*found)->special || token.special;
  **found = token;
  (*found)->id = id, (*found)->special = special;
  return true;
}

/// additional_special_tokens, which version 5 calls extra_special_tokens: texts or added tokens, in a list or by name.
/// A token without an id gets the next one.
Status TokenizerReader::addMoreSpecialTokens() {
  for (const json::Value *file : {&configuration, &specialTokensMap})
    for (const char *key : {"additional_special_tokens", "extra_special_tokens"}) {
      const json::Value *given = file->find(key);
      json::Array tokens = given && given->isArray() ? *given->asArray() : json::Array();
      for (const auto &[name, value] : given && given->isObject() ? *given->asObject() : json::Object())
        tokens.push_back(value);
      for (const json::Value &entry : tokens)
        RAPT_RETURN_IF_ERROR(addSpecialToken(entry, key));
    }
  return {};
}

Status TokenizerReader::addSpecialToken(const json::Value &entry, const char *key) {
  const std::string where = std::string("tokenizer_config.json: ") + key;
  AddedToken token;
  if (entry.isObject()) {
    RAPT_ASSIGN_OR_RETURN(token, readAddedToken(entry, where));
  } else if (entry.isString()) {
    token.content = *entry.asString();
    token.normalized = false;
  }
  token.special = true;
  if (token.content.empty() || (entry.isObject() ? changeAdded(token) : makeSpecial(token.content)))
    return {};
  token.id = tokenizer->model->vocabulary().find(token.content).value_or(nextId());
  return addToken(std::move(token), where);
}

/// Behind the vocabulary and all added tokens.
int32_t TokenizerReader::nextId() const {
  int32_t next = tokenizer->model->vocabulary().size();
  for (const auto &other : tokenizer->added)
    next = std::max(next, other->id + 1);
  return next;
}

/// Whether there is an added token of that text, which is special from now on.
bool TokenizerReader::makeSpecial(std::string_view content) {
  auto entry = std::find_if(tokenizer->added.begin(), tokenizer->added.end(),
                            [&](const auto &other) { return other->content == content; });
  if (entry == tokenizer->added.end())
    return false;
  (*entry)->special = true;
  return true;
}

Status TokenizerReader::nameSpecialTokens() {
  auto find = [&](std::string_view role) -> std::optional<int32_t> {
    std::optional<std::string> text = specialTokenText(role);
    return text ? tokenizer->tokenId(*text) : std::nullopt;
  };
  SpecialTokenIds &ids = tokenizer->specials;
  ids = {find("bos_token"), find("eos_token"), find("unk_token"), find("pad_token"), find("mask_token")};
  nameOlderDefaults();
  // A token that has a role is special even where only the configuration says so.
  for (const char *role : roles) {
    if (!find(role))
      continue;
    const json::Value *given = specialToken(role);
    RAPT_RETURN_IF_ERROR(addSpecialToken(given ? *given : json::Value(*specialTokenText(role)), role));
  }
  return addMoreSpecialTokens();
}

/// add_bos_token and add_eos_token decide what stands around a text of a tokenizer.json where one of them is given,
/// unless the class frames texts itself. GPT-2's obey add_bos_token with the older files, too.
Status TokenizerReader::applyClassRules() {
  auto isGiven = [&](std::string_view key) {
    const json::Value *value = configuration.find(key);
    return value && value->asBool();
  };
  const bool obeysFlags = files.tokenizerJson.empty()
                              ? !files.vocabulary.empty() && tokenizer->around.single.size() == 1
                              : !rules->framesTexts && (isGiven("add_bos_token") || isGiven("add_eos_token"));
  if (!obeysFlags && !rules->ignoresPostProcessor)
    return {};
  // A class without the token leaves it out; one that always begins a text with it cannot.
  auto isAdded = [&](const char *key, const char *role, bool otherwise) {
    return flag(key, otherwise) && (specialTokenText(role) || rules->beginsTexts || files.tokenizerJson.empty());
  };
  const bool addBegin = isAdded("add_bos_token", "bos_token", rules->beginsTexts),
             addEnd = !files.tokenizerJson.empty() && isAdded("add_eos_token", "eos_token", false);
  const SpecialTokenIds &ids = tokenizer->specials;
  if ((addBegin && !ids.begin) || (addEnd && !ids.end))
    return Error{std::string("tokenizer_config.json: ") + (addBegin && !ids.begin ? "add_bos_token" : "add_eos_token") +
                 " is true, but " + (addBegin && !ids.begin ? "bos_token" : "eos_token") +
                 " is no token of the vocabulary"};
  Framing &around = tokenizer->around;
  around = {{}, {}};
  auto appendText = [&](std::vector<FramePart> &parts, FramePart::Kind text, int32_t type) {
    if (addBegin)
      parts.push_back({FramePart::Kind::Special, *ids.begin, type});
    parts.push_back({text, -1, type});
    if (addEnd)
      parts.push_back({FramePart::Kind::Special, *ids.end, type});
  };
  appendText(around.single, FramePart::Kind::First, 0);
  appendText(around.pair, FramePart::Kind::First, 0);
  appendText(around.pair, FramePart::Kind::Second, 1);
  return {};
}

/// Whether the text that is written loses blanks. Tokenizers of byte pairs do not, whose blanks are those of the text,
/// unless the key says so that has a warning for its name.
bool TokenizerReader::cleansUp() const {
  return flag("clean_up_tokenization_spaces", false) &&
         (!tokenizer->model->isOfBytePairs() || rules->cleansBytePairs ||
          flag("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output", false));
}

Status TokenizerReader::finish() {
  if (cleansUp())
    addCleanUp(tokenizer->decoder);
  auto &added = tokenizer->added;
  std::sort(added.begin(), added.end(), [](const auto &a, const auto &b) { return a->id < b->id; });
  tokenizer->size = tokenizer->model->vocabulary().size();
  for (const auto &token : added) {
    tokenizer->size = std::max(tokenizer->size, token->id + 1);
    token->pattern = token->content;
    if (token->normalized) {
      RAPT_ASSIGN_OR_RETURN(token->pattern,
                            withContext("tokenizer.json: added token '" + json::printable(token->content) + "'",
                                        normalize(tokenizer->normalizers, token->content)));
    }
    if (token->pattern.size() > AddedToken::longest)
      return Error{"tokenizer.json: added token '" + json::printable(token->content, 60) + "': has " +
                   std::to_string(token->pattern.size()) + " bytes when it is normalized; the limit is " +
                   std::to_string(AddedToken::longest)};
    (token->normalized ? tokenizer->normalizedFinder : tokenizer->plainFinder).add(*token);
  }
  return {};
}

Expected<std::unique_ptr<Tokenizer>> TokenizerReader::read() {
  for (auto step :
       {&TokenizerReader::readConfiguration,
        files.tokenizerJson.empty() ? &TokenizerReader::readOlderFiles : &TokenizerReader::readTokenizerJson,
        &TokenizerReader::readAddedTokensDecoder, &TokenizerReader::readAddedTokensBeside,
        &TokenizerReader::nameSpecialTokens, &TokenizerReader::applyClassRules, &TokenizerReader::finish})
    RAPT_RETURN_IF_ERROR((this->*step)());
  return std::move(tokenizer);
}

Expected<std::unique_ptr<Tokenizer>> Tokenizer::create(const TokenizerFiles &files) {
  return TokenizerReader(files).read();
}

} // namespace rapt
