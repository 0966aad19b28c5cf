//===- OlderFiles.cpp - Directories without tokenizer.json ------------------===//
//
// vocab.json with merges.txt make a GPT-2's tokenizer, vocab.txt makes a BERT's;
// what their classes do by default is written out here.
//
//===----------------------------------------------------------------------===//
#include "lib/Tokenizer/BertNormalizer.h"
#include "lib/Tokenizer/BytePairModel.h"
#include "lib/Tokenizer/TokenizerReader.h"
#include "lib/Tokenizer/WordPieceDecoder.h"
#include "lib/Tokenizer/WordPieceModel.h"
#include <algorithm>

namespace rapt {

Status TokenizerReader::readOlderFiles() {
  if (files.vocabulary.empty() && files.merges.empty() && !files.wordPieces.empty())
    return readWordPieces();
  if (files.vocabulary.empty() || files.merges.empty())
    return Error{"tokenizer.json: is missing, and so is " +
                 std::string(files.vocabulary.empty() ? "vocab.json" : "merges.txt") +
                 "; save the tokenizer again with a version of transformers that writes tokenizer.json"};
  const json::Value *className = configuration.find("tokenizer_class");
  if (className && className->isString() && !className->asString()->starts_with("GPT2Tokenizer"))
    return Error{"tokenizer_config.json: without tokenizer.json only GPT2Tokenizer can be read, not '" +
                 json::printable(*className->asString()) + "'; save the tokenizer again as a fast one"};
  Expected<json::Value> root = parseFile(files.vocabulary, "vocab.json");
  if (!root)
    return root.error();
  Expected<Vocabulary> vocabulary = Vocabulary::fromJson(*root, "vocab.json");
  if (!vocabulary)
    return vocabulary.error();
  auto merges = BytePairModel::readMergeLines(files.merges, "merges.txt");
  if (!merges)
    return merges.error();
  Expected<std::unique_ptr<Model>> model = BytePairModel::create(std::move(*vocabulary), *merges, {}, "merges.txt");
  if (!model)
    return model.error();
  tokenizer->model = std::move(*model);
  tokenizer->preTokenizers.push_back(makeByteLevel(flag("add_prefix_space", false), /*usePattern=*/true));
  tokenizer->decoder = makeByteLevelDecoder();
  AddedToken endOfText;
  endOfText.content = "<|endoftext|>";
  endOfText.special = true, endOfText.normalized = false;
  if (tokenizer->model->vocabulary().find(endOfText.content))
    if (Status status = addToken(endOfText, "vocab.json"); !status)
      return status;
  return readAddedTokensFile();
}

Status TokenizerReader::readAddedTokensFile() {
  if (files.addedTokens.empty())
    return {};
  Expected<json::Value> root = parseFile(files.addedTokens, "added_tokens.json");
  if (!root)
    return root.error();
  for (const auto &[content, id] : *root->asObject()) {
    AddedToken token;
    token.content = content;
    if (!id.asInteger() || *id.asInteger() < 0 || *id.asInteger() >= Vocabulary::idLimit)
      return Error{"added_tokens.json: the id of token '" + json::printable(content) + "' is not an id"};
    token.id = int32_t(*id.asInteger());
    if (Status status = addToken(token, "added_tokens.json"); !status)
      return status;
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
  if (Status status = checkContent(files.wordPieces, "vocab.txt"); !status)
    return status;
  const json::Value *className = configuration.find("tokenizer_class");
  if (className && className->isString() && !isBertClass(*className->asString()))
    return Error{"tokenizer_config.json: vocab.txt can be read for BertTokenizer, not for '" +
                 json::printable(*className->asString()) + "'; save the tokenizer again as a fast one"};
  if (!flag("do_basic_tokenize", true))
    return Error{"tokenizer_config.json: do_basic_tokenize is false, which is not supported with vocab.txt; save the "
                 "tokenizer again as a fast one"};
  Expected<Vocabulary> vocabulary = WordPieceModel::readLines(files.wordPieces, "vocab.txt");
  if (!vocabulary)
    return vocabulary.error();
  WordPieceOptions options;
  options.unknownToken = specialTokenText("unk_token").value_or(options.unknownToken);
  Expected<std::unique_ptr<Model>> model = WordPieceModel::create(std::move(*vocabulary), options, "vocab.txt");
  if (!model)
    return model.error();
  tokenizer->model = std::move(*model);
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
    if (Status status = addToken(std::move(token), "vocab.txt"); !status)
      return status;
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
    for (std::optional<int32_t> *id : {&ids.begin, &ids.end, &ids.unknown})
      setDefault(*id, "<|endoftext|>");
    return;
  }
  setDefault(ids.unknown, "[UNK]");
  setDefault(ids.padding, "[PAD]");
}

} // namespace rapt
