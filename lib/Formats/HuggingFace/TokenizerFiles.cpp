//===- TokenizerFiles.cpp ---------------------------------------------------------------===//
#include "lib/Formats/HuggingFace/TokenizerFiles.h"
#include "lib/Formats/HuggingFace/ByteTokenizer.h"
#include "lib/Formats/HuggingFace/Download.h"
#include "lib/Formats/SentencePiece/TokenizerFile.h"
#include "lib/Support/File.h"
#include <algorithm>

namespace rapt::huggingface {

static constexpr uint64_t mostModelBytes = uint64_t(64) << 20;
static constexpr const char *names[] = {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "spm.model",
                                        "source.spm",      "target.spm",   "target_vocab.json"};
static constexpr size_t targetFiles = 2; // the last ones are Marian's of the target

std::span<const char *const> sentencePieceNames() { return names; }

namespace {

class Completion {
public:
  Completion(const std::string &directory, SideFiles &files, std::vector<std::string> &notes)
      : directory(directory), files(files), notes(notes),
        beside{parsed("tokenizer_config.json"), parsed("special_tokens_map.json"), parsed("added_tokens.json"), {}} {}
  Status run(const std::string &modelType);

private:
  /// A file as JSON; null where there is none, or where it is none, which is reported where the tokenizer is read.
  json::Value parsed(std::string_view name) const {
    auto file = files.find(name);
    Expected<json::Value> value = file == files.end() ? json::Value() : json::parse(file->second);
    return value ? std::move(*value) : json::Value();
  }
  std::string path(std::string_view name) const { return directory + "/" + std::string(name); }
  void giveUp(std::string_view name, const std::string &why) {
    notes.push_back(shownPath(path(name)) + ": " + why + "; the compiled model will take and give ids only");
  }
  /// Nothing where the tokenizer cannot be made, which is reported.
  Expected<std::optional<sentencepiece::TokenizerFile>> make(const sentencepiece::TokenizerClass &form,
                                                             const char *name, json::Value vocabulary);

  const std::string &directory;
  SideFiles &files;
  std::vector<std::string> &notes;
  const sentencepiece::FilesBeside beside; // without a vocabulary
};

Expected<std::optional<sentencepiece::TokenizerFile>> Completion::make(const sentencepiece::TokenizerClass &form,
                                                                       const char *name, json::Value vocabulary) {
  RAPT_ASSIGN_OR_RETURN(std::string bytes, readDownloaded(path(name), mostModelBytes));
  sentencepiece::FilesBeside all = beside;
  all.vocabulary = std::move(vocabulary);
  Expected<sentencepiece::Model> model = sentencepiece::readModel(bytes);
  Expected<sentencepiece::TokenizerFile> made = model ? sentencepiece::makeTokenizer(form, *model, all) : model.error();
  if (made)
    return std::optional(std::move(*made));
  giveUp(name, made.error().message);
  return std::optional<sentencepiece::TokenizerFile>();
}

Status Completion::run(const std::string &modelType) {
  const json::Value &configuration = beside.configuration;
  auto textOf = [](const json::Value *value) { return value && value->isString() ? *value->asString() : ""; };
  const std::string name = textOf(configuration.find("tokenizer_class")),
                    codes = textOf(configuration.find("language_codes"));
  if (name == "ByT5Tokenizer") {
    const json::Value *extra = configuration.find("extra_ids");
    files.emplace("tokenizer.json",
                  makeByteTokenizer(std::clamp<int64_t>(extra ? extra->asInteger().value_or(125) : 125, 0, 1 << 16)));
    return {};
  }
  const auto end = std::end(names) - targetFiles;
  auto file = std::find_if(std::begin(names), end, [&](const char *entry) { return entryExists(path(entry)); });
  const sentencepiece::TokenizerClass *form = sentencepiece::findTokenizerClass(name, modelType);
  const bool hasOlderFiles = files.contains("vocab.json") || files.contains("vocab.txt");
  if (file == end || (hasOlderFiles && !(form && form->hasVocabulary)))
    return {};
  if (!form) {
    giveUp(*file,
           "no tokenizer is made of it for " + json::printable(name.empty() ? modelType : name, 60) +
               "; AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) writes the tokenizer.json that is read");
    return {};
  }
  form = sentencepiece::withLanguages(*form, codes);
  if (!form) {
    giveUp(*file, "language_codes is " + json::printable(codes, 60) + ", must be m2m100 or wmt21");
    return {};
  }
  RAPT_ASSIGN_OR_RETURN(auto source, make(*form, *file, parsed("vocab.json")));
  if (!source)
    return {};
  const json::Value *separate = configuration.find("separate_vocabs");
  if (separate && separate->asBool().value_or(false)) {
    RAPT_ASSIGN_OR_RETURN(std::string text, readDownloaded(path("target_vocab.json"), mostModelBytes));
    Expected<json::Value> vocabulary = json::parse(text);
    RAPT_ASSIGN_OR_RETURN(auto target, make(*form, "target.spm", vocabulary ? std::move(*vocabulary) : json::Value()));
    if (!target)
      return {};
    files.insert_or_assign("target_tokenizer.json", std::move(target->tokenizer));
  }
  files.insert_or_assign("tokenizer.json", std::move(source->tokenizer));
  files.insert_or_assign("special_tokens_map.json", std::move(source->specialTokensMap));
  // Both are in the new file.
  files.erase("vocab.json");
  files.erase("added_tokens.json");
  return {};
}

} // namespace

Status completeTokenizer(const std::string &directory, const std::string &modelType, SideFiles &files,
                         std::vector<std::string> &notes) {
  return files.contains("tokenizer.json") ? Status() : Completion(directory, files, notes).run(modelType);
}

} // namespace rapt::huggingface
