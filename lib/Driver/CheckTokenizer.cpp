//===- CheckTokenizer.cpp - Do tokenizers and model belong together? ---------------===//
#include "lib/Driver/CheckTokenizer.h"
#include "lib/Generation/ChatTemplate.h"
#include "lib/Generation/GenerationConfig.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Tokenizer.h"

using namespace rapt;

namespace {

class Check {
public:
  Check(const std::vector<artifact::Section> &sections, const ModelFacts &model) : sections(sections), model(model) {}
  driver::TokenizerCheck run();

private:
  std::string_view content(std::string_view name) const;
  /// Holds one tokenizer, told by `file`, against the rows of its embedding and, where it writes, the ids that end a
  /// text. `prefix` goes before the reader's names of the files.
  void hold(const TokenizerFiles &files, const std::string &prefix, const char *file, int64_t rows, bool writes);

  /// Tells how the model reads texts.
  void describeTexts(const Tokenizer &tokenizer);
  void holdAll();

  const std::vector<artifact::Section> &sections;
  const ModelFacts &model;
  std::vector<std::string> warnings;
  bool isReadable = true;
  ExampleTexts texts;
};

std::string_view Check::content(std::string_view name) const {
  for (const artifact::Section &section : sections)
    if (section.name == name)
      return section.bytes;
  return {};
}

void Check::hold(const TokenizerFiles &files, const std::string &prefix, const char *file, int64_t rows, bool writes) {
  Expected<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(files);
  if (!tokenizer) {
    isReadable = false;
    warnings.push_back(prefix + tokenizer.error().message + "; the model will take and give ids only");
    return;
  }
  if (prefix.empty())
    describeTexts(**tokenizer);
  const int64_t ids = (*tokenizer)->vocabularySize();
  int64_t first = ids;
  for (int64_t id = rows; id < ids && first == ids; ++id)
    if ((*tokenizer)->tokenBytes(int32_t(id)))
      first = id;
  if (first < ids)
    warnings.push_back(prefix + file + ": has ids up to " + std::to_string(ids - 1) + ", the embedding has " +
                       std::to_string(rows) + " rows; text with the id " + std::to_string(first) + " (\"" +
                       json::printable(*(*tokenizer)->tokenBytes(int32_t(first)), 60) +
                       (prefix.empty() ? "\") or a later one is refused" : "\") or a later one is never made"));
  for (int64_t id : model.endTokens)
    if (writes && id < rows && !(*tokenizer)->tokenBytes(int32_t(id)))
      warnings.push_back(prefix + file + ": has no token for the end-of-text id " + std::to_string(id) +
                         " of the configuration; it may belong to another model");
}

void Check::describeTexts(const Tokenizer &tokenizer) {
  if (const std::optional<int32_t> id = tokenizer.specialIds().mask)
    texts.mask = tokenizer.tokenBytes(*id).value_or("");
  const auto prompt = renderMessage(exampleMessage, content("chat_template.jinja"), content("tokenizer_config.json"));
  std::vector<TextPart> parts;
  if (prompt)
    for (const ChatPiece &piece : *prompt)
      parts.push_back({piece.text, piece.fromUser});
  EncodeOptions options;
  options.addSpecialTokens = false;
  if (const auto ids = tokenizer.encodeParts(parts, options))
    texts.chatTokens = int64_t(ids->size());
}

driver::TokenizerCheck Check::run() {
  driver::TokenizerCheck check;
  holdAll();
  check.warnings = std::move(warnings);
  check.chatProblem = findChatProblem(content("chat_template.jinja"), content("tokenizer_config.json"));
  check.isReadable = isReadable;
  check.texts = std::move(texts);
  return check;
}

void Check::holdAll() {
  if (std::string_view generation = content("generation_config.json"); !generation.empty())
    if (auto config = readGenerationConfig(generation); !config)
      warnings.push_back(config.error().message + "; rapt-run will refuse to generate");
  TokenizerFiles files{content("tokenizer.json"),
                       content("tokenizer_config.json"),
                       content("special_tokens_map.json"),
                       content("added_tokens.json"),
                       content("vocab.json"),
                       content("merges.txt"),
                       content("vocab.txt")};
  if (files.tokenizerJson.empty() && files.vocabulary.empty() && files.merges.empty() && files.wordPieces.empty())
    return;
  const char *file = !files.tokenizerJson.empty() ? "tokenizer.json"
                     : files.wordPieces.empty()   ? "vocab.json"
                                                  : "vocab.txt";
  const bool isSeparate = model.sourceVocabulary != 0;
  hold(files, "", file, isSeparate ? model.sourceVocabulary : model.vocabulary, !isSeparate);
  TokenizerFiles target{content("target_tokenizer.json"), content("target_tokenizer_config.json")};
  if (isSeparate && target.tokenizerJson.empty())
    warnings.push_back("target_tokenizer.json: is missing, and the target has a vocabulary of its own; the model will "
                       "take and give ids only");
  else if (isSeparate)
    hold(target, "target_", "tokenizer.json", model.vocabulary, true);
  else if (!target.tokenizerJson.empty())
    warnings.push_back("target_tokenizer.json: is not used: the model has one vocabulary");
}

} // namespace

driver::TokenizerCheck driver::checkTokenizer(const std::vector<artifact::Section> &sections, const ModelFacts &model) {
  return Check(sections, model).run();
}
