//===- TokenizerReader.cpp -------------------------------------------------===//
#include "lib/Tokenizer/TokenizerReader.h"
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
  if (Status status = checkContent(content, name); !status)
    return status.error();
  Expected<json::Value> value = json::parse(content);
  if (!value)
    return Error{name + ": " + value.error().message};
  if (!value->isObject())
    return Error{name + ": is not a JSON object"};
  return value;
}

Status TokenizerReader::readConfiguration() {
  auto read = [](std::string_view content, const std::string &name, json::Value &value) -> Status {
    if (content.empty())
      return {};
    Expected<json::Value> parsed = parseFile(content, name);
    if (!parsed)
      return parsed.error();
    value = std::move(*parsed);
    return {};
  };
  if (Status status = read(files.tokenizerConfig, "tokenizer_config.json", configuration); !status)
    return status;
  return read(files.specialTokensMap, "special_tokens_map.json", specialTokensMap);
}

bool TokenizerReader::flag(std::string_view key, bool otherwise) const {
  const json::Value *value = configuration.find(key);
  return value ? value->asBool().value_or(otherwise) : otherwise;
}

/// The text of "bos_token" and its like: a string, or an object with "content".
std::optional<std::string> TokenizerReader::specialTokenText(std::string_view role) const {
  for (const json::Value *file : {&configuration, &specialTokensMap}) {
    const json::Value *value = file->find(role);
    if (value && value->isObject())
      value = value->find("content");
    if (value && value->isString())
      return *value->asString();
  }
  return std::nullopt;
}

Status TokenizerReader::addToken(AddedToken token, const std::string &where) {
  if (token.content.empty())
    return {};
  auto fail = [&](const std::string &what) {
    return Error{where + ": token '" + json::printable(token.content) + "' " + what};
  };
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
    Expected<AddedToken> token = readAddedToken((*entries)[index], where);
    if (!token)
      return token.error();
    if (Status status = addToken(std::move(*token), where); !status)
      return status;
  }
  return {};
}

Status TokenizerReader::readTokenizerJson() {
  Expected<json::Value> root = parseFile(files.tokenizerJson, "tokenizer.json");
  if (!root)
    return root.error();
  JsonFields fields(*root, "tokenizer.json");
  const std::string file = "tokenizer.json: ";
  Expected<NormalizerList> normalizers = readNormalizers(fields.value("normalizer"), file + "normalizer");
  if (!normalizers)
    return normalizers.error();
  tokenizer->normalizers = std::move(*normalizers);
  Expected<PreTokenizerList> preTokenizers = readPreTokenizers(fields.value("pre_tokenizer"), file + "pre_tokenizer");
  if (!preTokenizers)
    return preTokenizers.error();
  tokenizer->preTokenizers = std::move(*preTokenizers);
  Expected<std::unique_ptr<Model>> model = readModel(fields.value("model"), file + "model");
  if (!model)
    return model.error();
  tokenizer->model = std::move(*model);
  if (Status status = readAddedTokens(fields.value("added_tokens")); !status)
    return status;
  Expected<Decoder> decoder = readDecoder(fields.value("decoder"), file + "decoder");
  if (!decoder)
    return decoder.error();
  tokenizer->decoder = std::move(*decoder);
  auto isToken = [&](int32_t id) { return tokenizer->model->vocabulary().token(id) || addedIds.count(id); };
  Expected<Framing> framing = readPostProcessor(fields.value("post_processor"), isToken, file + "post_processor");
  if (!framing)
    return framing.error();
  tokenizer->around = std::move(*framing);
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
    Expected<AddedToken> token = readAddedToken(value, where);
    if (!token)
      return token.error();
    if (key.empty() || key.size() > 8 || key.find_first_not_of("0123456789") != std::string::npos ||
        std::stol(key) >= Vocabulary::idLimit)
      return Error{where + ": the key is not an id"};
    token->id = int32_t(std::stol(key));
    if (addedByContent.count(token->content))
      continue;
    if (Status status = addToken(std::move(*token), where); !status)
      return status;
  }
  return {};
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
  for (std::string_view role :
       {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"}) {
    std::optional<int32_t> id = find(role);
    if (!id)
      continue;
    auto entry =
        std::find_if(tokenizer->added.begin(), tokenizer->added.end(), [&](const auto &e) { return e->id == *id; });
    if (entry != tokenizer->added.end()) {
      (*entry)->special = true;
      continue;
    }
    AddedToken token;
    token.content = *specialTokenText(role);
    token.special = true, token.normalized = false;
    if (Status status = addToken(std::move(token), "tokenizer_config.json: " + std::string(role)); !status)
      return status;
  }
  return {};
}

/// The LLaMA classes of transformers replace the post-processor by add_bos_token and add_eos_token. GPT-2's obeys
/// add_bos_token only where it builds the tokenizer from the older files.
Status TokenizerReader::applyClassRules() {
  const json::Value *value = configuration.find("tokenizer_class");
  std::string_view name = value && value->isString() ? std::string_view(*value->asString()) : std::string_view();
  bool isLlama = name.starts_with("LlamaTokenizer") || name.starts_with("CodeLlamaTokenizer") ||
                 name.starts_with("GemmaTokenizer");
  bool olderBytePairs =
      files.tokenizerJson.empty() && !files.vocabulary.empty() && tokenizer->around.single.size() == 1;
  if (!isLlama && !olderBytePairs)
    return {};
  bool addBegin = flag("add_bos_token", isLlama), addEnd = isLlama && flag("add_eos_token", false);
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

Status TokenizerReader::finish() {
  auto &added = tokenizer->added;
  std::sort(added.begin(), added.end(), [](const auto &a, const auto &b) { return a->id < b->id; });
  tokenizer->size = tokenizer->model->vocabulary().size();
  for (const auto &token : added) {
    tokenizer->size = std::max(tokenizer->size, token->id + 1);
    if (!token->normalized) {
      tokenizer->plainFinder.add(token->content, *token);
      continue;
    }
    Expected<std::string> pattern = normalize(tokenizer->normalizers, token->content);
    if (!pattern)
      return Error{"tokenizer.json: added token '" + json::printable(token->content) + "': " + pattern.error().message};
    tokenizer->normalizedFinder.add(*pattern, *token);
  }
  return {};
}

Expected<std::unique_ptr<Tokenizer>> TokenizerReader::read() {
  for (auto step :
       {&TokenizerReader::readConfiguration,
        files.tokenizerJson.empty() ? &TokenizerReader::readOlderFiles : &TokenizerReader::readTokenizerJson,
        &TokenizerReader::readAddedTokensDecoder, &TokenizerReader::nameSpecialTokens,
        &TokenizerReader::applyClassRules, &TokenizerReader::finish})
    if (Status status = (this->*step)(); !status)
      return status.error();
  return std::move(tokenizer);
}

Expected<std::unique_ptr<Tokenizer>> Tokenizer::create(const TokenizerFiles &files) {
  return TokenizerReader(files).read();
}

} // namespace rapt
