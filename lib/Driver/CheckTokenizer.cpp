//===- CheckTokenizer.cpp - Do tokenizer and model belong together? ---------------===//
#include "lib/Driver/CheckTokenizer.h"
#include "lib/Support/Json.h"
#include "lib/Tokenizer/Tokenizer.h"

using namespace rapt;

std::vector<std::string> driver::checkTokenizer(const std::vector<artifact::Section> &sections,
                                                const artifact::Manifest::Model &model) {
  auto content = [&](std::string_view name) {
    for (const artifact::Section &section : sections)
      if (section.name == name)
        return std::string_view(section.bytes);
    return std::string_view();
  };
  TokenizerFiles files{content("tokenizer.json"),
                       content("tokenizer_config.json"),
                       content("special_tokens_map.json"),
                       content("added_tokens.json"),
                       content("vocab.json"),
                       content("merges.txt"),
                       content("vocab.txt")};
  if (files.tokenizerJson.empty() && (files.vocabulary.empty() || files.merges.empty()) && files.wordPieces.empty())
    return {};
  Expected<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::create(files);
  if (!tokenizer)
    return {tokenizer.error().message + "; the model will take and give ids only"};
  std::vector<std::string> warnings;
  const char *file = !files.tokenizerJson.empty() ? "tokenizer.json"
                     : !files.vocabulary.empty()  ? "vocab.json"
                                                  : "vocab.txt";
  const int64_t ids = (*tokenizer)->vocabularySize();
  int64_t first = ids;
  for (int64_t id = model.vocabulary; id < ids && first == ids; ++id)
    if ((*tokenizer)->tokenBytes(int32_t(id)))
      first = id;
  if (first < ids)
    warnings.push_back(std::string(file) + ": has ids up to " + std::to_string(ids - 1) + ", the embedding has " +
                       std::to_string(model.vocabulary) + " rows; text with the id " + std::to_string(first) + " (\"" +
                       json::printable(*(*tokenizer)->tokenBytes(int32_t(first)), 60) +
                       "\") or a later one is refused");
  for (int64_t id : model.eos)
    if (id < model.vocabulary && !(*tokenizer)->tokenBytes(int32_t(id)))
      warnings.push_back(std::string(file) + ": has no token for the end-of-text id " + std::to_string(id) +
                         " of the configuration; it may belong to another model");
  return warnings;
}
