//===- OlderBytePairs.cpp - vocab.json with merges.txt ----------------------===//
//
// The classes of transformers that write these two files, with what each does
// by default: GPT-2, RoBERTa and BART, Qwen2, CLIP.
//
//===----------------------------------------------------------------------===//
#include "lib/Support/WordPatterns.h"
#include "lib/Tokenizer/BytePairModel.h"
#include "lib/Tokenizer/TokenizerReader.h"
#include <algorithm>
#include <array>

namespace rapt {

/// A class of transformers.
struct BytePairClass {
  std::string_view name;
  std::string_view normalizer, preTokenizer; ///< As in tokenizer.json; without a pre-tokenizer GPT-2's.
  std::string_view wordSuffix, unknown;
  /// cls A sep, and cls A sep sep B sep; empty where nothing stands around a text.
  std::string_view cls, sep;
  /// Tokens that are special where the vocabulary has them.
  std::array<std::string_view, 5> special;
};

static constexpr std::string_view qwenNormalizer = R"({"type": "NFC"})";
static const std::string qwenWords =
    R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex": )" +
    json::write(json::Value(std::string(qwenWordPattern))) +
    R"(}}, {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})";
static constexpr std::string_view clipNormalizer =
    R"({"type": "Sequence", "normalizers": [{"type": "NFC"},
      {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]})";
static constexpr std::string_view clipWords =
    R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "behavior": "Removed", "invert": true, "pattern": {"Regex":
        "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"}},
      {"type": "ByteLevel", "add_prefix_space": false}]})";
static constexpr std::string_view endOfText = "<|endoftext|>";
static constexpr std::array<std::string_view, 5> robertaTokens = {"<s>", "</s>", "<unk>", "<pad>", "<mask>"};

static const BytePairClass classes[] = {
    {"GPT2Tokenizer", "", "", "", "", "", "", {endOfText}},
    {"CodeGenTokenizer", "", "", "", "", "", "", {endOfText}},
    {"RobertaTokenizer", "", "", "", "", "<s>", "</s>", robertaTokens},
    {"BartTokenizer", "", "", "", "", "<s>", "</s>", robertaTokens},
    {"Qwen2Tokenizer", qwenNormalizer, qwenWords, "", "", "", "", {endOfText}},
    {"CLIPTokenizer",
     clipNormalizer,
     clipWords,
     "</w>",
     endOfText,
     "<|startoftext|>",
     endOfText,
     {"<|startoftext|>", endOfText}},
};

/// The class of a configuration; where it names none, the vocabulary tells RoBERTa's from GPT-2's. Null for others.
static const BytePairClass *findClass(const std::string *given, const Vocabulary &vocabulary) {
  std::string_view name = given ? std::string_view(*given) : "GPT2Tokenizer";
  if (name.ends_with("Fast"))
    name.remove_suffix(4);
  if (!given && vocabulary.find("<s>") && vocabulary.find("</s>") && vocabulary.find("<mask>"))
    name = "RobertaTokenizer";
  auto found =
      std::find_if(std::begin(classes), std::end(classes), [&](const auto &entry) { return entry.name == name; });
  return found == std::end(classes) ? nullptr : found;
}

/// cls A sep, and cls A sep sep B sep, all of type 0.
static Framing frameRoberta(int32_t cls, int32_t sep) {
  using Kind = FramePart::Kind;
  Framing framing;
  framing.single = {{Kind::Special, cls, 0}, {Kind::First, -1, 0}, {Kind::Special, sep, 0}};
  framing.pair = framing.single;
  framing.pair.insert(framing.pair.end(), {{Kind::Special, sep, 0}, {Kind::Second, -1, 0}, {Kind::Special, sep, 0}});
  return framing;
}

Status TokenizerReader::readBytePairs() {
  RAPT_ASSIGN_OR_RETURN(json::Value root, parseFile(files.vocabulary, "vocab.json"));
  RAPT_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::fromJson(root, "vocab.json"));
  const json::Value *className = configuration.find("tokenizer_class");
  const std::string *given = className ? className->asString() : nullptr;
  const BytePairClass *form = findClass(given, vocabulary);
  if (!form)
    return Error{"tokenizer_config.json: without tokenizer.json GPT2Tokenizer, CodeGenTokenizer, RobertaTokenizer, "
                 "BartTokenizer, Qwen2Tokenizer and CLIPTokenizer can be read, not '" +
                 json::printable(*given) + "'; save the tokenizer again as a fast one"};
  RAPT_ASSIGN_OR_RETURN(auto merges, BytePairModel::readMergeLines(files.merges, "merges.txt"));
  BytePairOptions options;
  options.wordSuffix = form->wordSuffix;
  if (!form->unknown.empty())
    options.unknownToken = form->unknown;
  RAPT_ASSIGN_OR_RETURN(tokenizer->model,
                        BytePairModel::create(std::move(vocabulary), merges, std::move(options), "merges.txt"));
  return addBytePairStages(*form);
}

Status TokenizerReader::addBytePairStages(const BytePairClass &form) {
  if (!form.normalizer.empty())
    tokenizer->normalizers = std::move(*readNormalizers(*json::parse(form.normalizer), "normalizer"));
  if (form.preTokenizer.empty())
    tokenizer->preTokenizers.push_back(makeByteLevel(flag("add_prefix_space", false), /*usePattern=*/true));
  else
    tokenizer->preTokenizers = std::move(*readPreTokenizers(*json::parse(form.preTokenizer), "pre_tokenizer"));
  tokenizer->decoder = makeByteLevelDecoder();
  for (std::string_view content : form.special) {
    AddedToken token;
    token.content = content;
    token.special = true, token.normalized = false;
    token.stripLeft = content == "<mask>";
    if (tokenizer->model->vocabulary().find(content))
      RAPT_RETURN_IF_ERROR(addToken(std::move(token), "vocab.json"));
  }
  if (!form.cls.empty()) {
    std::string cls = specialTokenText("cls_token").value_or(std::string(form.cls));
    std::string sep = specialTokenText("sep_token").value_or(std::string(form.sep));
    std::optional<int32_t> begin = tokenizer->tokenId(cls), end = tokenizer->tokenId(sep);
    if (!begin || !end)
      return Error{"vocab.json: has no token '" + json::printable(begin ? sep : cls) + "', which stands around a text"};
    tokenizer->around = frameRoberta(*begin, *end);
  }
  return readAddedTokensFile();
}

} // namespace rapt
