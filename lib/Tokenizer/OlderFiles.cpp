//===- OlderFiles.cpp - Directories without tokenizer.json ------------------===//
//
// vocab.txt makes a BERT's tokenizer; what its class does by default is written
// out here. OlderBytePairs.cpp reads vocab.json with merges.txt.
//
//===----------------------------------------------------------------------===//
#include "lib/Tokenizer/BertNormalizer.h"
#include "lib/Tokenizer/TokenizerReader.h"
#include "lib/Tokenizer/WordPieceDecoder.h"
#include "lib/Tokenizer/WordPieceModel.h"
#include <algorithm>

namespace rapt {

/// Classes whose words come from SentencePiece models, of which the importer makes a tokenizer.json.
static bool hasSentencePieceVocabulary(std::string_view name) {
  return name == "MarianTokenizer" || name == "M2M100Tokenizer";
}

Status TokenizerReader::readOlderFiles() {
  if (files.vocabulary.empty() && files.merges.empty() && !files.wordPieces.empty())
    return readWordPieces();
  const json::Value *className = configuration.find("tokenizer_class");
  const std::string *given = className ? className->asString() : nullptr;
  bool isMarian =
      !given && files.merges.empty() && configuration.find("source_lang") && configuration.find("target_lang");
  std::string name = given ? *given : isMarian ? "MarianTokenizer" : "";
  if (hasSentencePieceVocabulary(name))
    return Error{"tokenizer_config.json: the vocab.json of '" + name +
                 "' belongs to SentencePiece models, which are missing; add them (source.spm and target.spm of Marian, "
                 "sentencepiece.bpe.model of M2M-100)"};
  if (files.vocabulary.empty() || files.merges.empty())
    return Error{"tokenizer.json: is missing, and so is " +
                 std::string(files.vocabulary.empty() ? "vocab.json" : "merges.txt") +
                 "; save the tokenizer again with a version of transformers that writes tokenizer.json"};
  return readBytePairs();
}

/// The tokens of added_tokens.json, in the order of their ids.
Expected<std::vector<AddedToken>> TokenizerReader::listAddedTokensFile() const {
  std::vector<AddedToken> tokens;
  if (files.addedTokens.empty())
    return tokens;
  RAPT_ASSIGN_OR_RETURN(json::Value root, parseFile(files.addedTokens, "added_tokens.json"));
  for (const auto &[content, id] : *root.asObject()) {
    AddedToken &token = tokens.emplace_back();
    token.content = content;
    if (!id.asInteger() || *id.asInteger() < 0 || *id.asInteger() >= Vocabulary::idLimit)
      return Error{"added_tokens.json: the id of token '" + json::printable(content) + "' is not an id"};
    token.id = int32_t(*id.asInteger());
  }
  std::stable_sort(tokens.begin(), tokens.end(), [](const auto &a, const auto &b) { return a.id < b.id; });
  return tokens;
}

Status TokenizerReader::readAddedTokensFile() {
  RAPT_ASSIGN_OR_RETURN(const std::vector<AddedToken> tokens, listAddedTokensFile());
  for (const AddedToken &token : tokens)
    RAPT_RETURN_IF_ERROR(addToken(token, "added_tokens.json"));
  return {};
}

/// Tokens that tokenizer.json lacks get the next ids, whatever the file says, unless tokenizer_config.json has
/// added_tokens_decoder.
Status TokenizerReader::readAddedTokensBeside() {
  const json::Value *decoder = configuration.find("added_tokens_decoder");
  if (files.tokenizerJson.empty() || (decoder && !decoder->isNull()))
    return {};
  RAPT_ASSIGN_OR_RETURN(std::vector<AddedToken> tokens, listAddedTokensFile());
  int32_t next = nextId();
  for (AddedToken &token : tokens) {
    if (addedByContent.contains(token.content))
      continue;
    const std::optional<int32_t> known = tokenizer->model->vocabulary().find(token.content);
    token.id = known ? *known : next++;
    token.special =
        std::ranges::any_of(roles, [&](const char *role) { return specialTokenText(role) == token.content; });
    token.normalized = !token.special;
    RAPT_RETURN_IF_ERROR(addToken(std::move(token), "added_tokens.json"));
  }
  return {};
}

// Roles of BERT's special tokens, and what they are called where the configuration does not say.
static constexpr std::string_view bertTokens[][2] = {{"unk_token", "[UNK]"},
                                                     {"sep_token", "[SEP]"},
                                                     {"pad_token", "[PAD]"},
                                                     {"cls_token", "[CLS]"},
                                                     {"mask_token", "[MASK]"}};

/// Classes of transformers that are BERT's tokenizer under another name.
static bool isBertClass(std::string_view name) {
  if (name.ends_with("Fast"))
    name.remove_suffix(4);
  static constexpr std::string_view names[] = {"BertTokenizer",       "DistilBertTokenizer", "ElectraTokenizer",
                                               "MobileBertTokenizer", "ConvBertTokenizer",   "SqueezeBertTokenizer",
                                               "LxmertTokenizer",     "LayoutLMTokenizer"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

/// [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with types 0 and 1.
static Framing frameBert(int32_t cls, int32_t sep) {
  using Kind = FramePart::Kind;
  Framing framing;
  framing.single = {{Kind::Special, cls, 0}, {Kind::First, -1, 0}, {Kind::Special, sep, 0}};
  framing.pair = framing.single;
  framing.pair.insert(framing.pair.end(), {{Kind::Second, -1, 1}, {Kind::Special, sep, 1}});
  return framing;
}

Status TokenizerReader::readWordPieces() {
  RAPT_RETURN_IF_ERROR(checkContent(files.wordPieces, "vocab.txt"));
  const json::Value *className = configuration.find("tokenizer_class");
  if (className && className->isString() && !isBertClass(*className->asString()))
    return Error{"tokenizer_config.json: vocab.txt can be read for BertTokenizer, not for '" +
                 json::printable(*className->asString()) + "'; save the tokenizer again as a fast one"};
  if (!flag("do_basic_tokenize", true))
    return Error{"tokenizer_config.json: do_basic_tokenize is false, which is not supported with vocab.txt; save the "
                 "tokenizer again as a fast one"};
  RAPT_ASSIGN_OR_RETURN(Vocabulary vocabulary, WordPieceModel::readLines(files.wordPieces, "vocab.txt"));
  WordPieceOptions options;
  options.unknownToken = specialTokenText("unk_token").value_or(options.unknownToken);
  RAPT_ASSIGN_OR_RETURN(tokenizer->model, WordPieceModel::create(std::move(vocabulary), options, "vocab.txt"));
  BertNormalizerOptions rewriting;
  rewriting.lowercase = flag("do_lower_case", true);
  rewriting.stripAccents = flag("strip_accents", rewriting.lowercase);
  rewriting.spaceHan = flag("tokenize_chinese_chars", true);
  tokenizer->normalizers.push_back(makeBertNormalizer(rewriting));
  tokenizer->preTokenizers.push_back(makeBertSplit());
  tokenizer->decoder.stages.push_back(makeWordPieceStage("##", /*cleanup=*/true));
  for (const auto &[role, name] : bertTokens) {
    AddedToken token;
    token.content = specialTokenText(role).value_or(std::string(name));
    token.special = true, token.normalized = false;
    bool needed = role == "cls_token" || role == "sep_token";
    if (!needed && !tokenizer->model->vocabulary().find(token.content))
      continue;
    RAPT_RETURN_IF_ERROR(addToken(std::move(token), "vocab.txt"));
  }
  auto idOf = [&](std::string_view role, const char *name) {
    return *tokenizer->tokenId(specialTokenText(role).value_or(name));
  };
  tokenizer->around = frameBert(idOf("cls_token", "[CLS]"), idOf("sep_token", "[SEP]"));
  return readAddedTokensFile();
}

/// Names the tokens that the classes of the older files take for roles that the configuration leaves out.
void TokenizerReader::nameOlderDefaults() {
  SpecialTokenIds &ids = tokenizer->specials;
  auto setDefault = [&](std::optional<int32_t> &id, std::string_view token) {
    if (!id)
      id = tokenizer->tokenId(token);
  };
  if (!files.tokenizerJson.empty())
    return;
  if (!files.vocabulary.empty()) {
    if (const auto &single = tokenizer->around.single; single.size() == 3) {
      ids.begin = ids.begin.value_or(single.front().id);
      ids.end = ids.end.value_or(single.back().id);
      setDefault(ids.unknown, "<unk>");
      setDefault(ids.padding, "<pad>");
      setDefault(ids.mask, "<mask>");
    }
    for (std::optional<int32_t> *id : {&ids.begin, &ids.end, &ids.unknown})
      setDefault(*id, "<|endoftext|>");
    return;
  }
  setDefault(ids.unknown, "[UNK]");
  setDefault(ids.padding, "[PAD]");
}

} // namespace rapt
