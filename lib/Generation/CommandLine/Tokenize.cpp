// --tokenize: the ids that the model reads of a text, each with its own text.
#include "lib/Drawing/Label.h"
#include "lib/Generation/CommandLine/Command.h"
#include "lib/Generation/CommandLine/Pieces.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Generation/CommandLine/SentencePrompts.h"
#include "lib/Generation/CommandLine/TextTask.h"

namespace rapt::run {
namespace {

class Tokenization {
public:
  explicit Tokenization(const Options &options) : options(options) {}
  Outcome prepare();
  Outcome run();
  Status finish() const;

private:
  bool readsRows() const { return isTextTask(model.info.task) || isPairTask(model.info.task); }
  Outcome readTexts();
  Outcome encodeOne(const std::string &content, Ids &ids) const;

  const Options &options;
  Model model;
  Text text;
  std::vector<std::string> texts;
  std::vector<Ids> all;
  std::vector<std::vector<std::string>> pieces; ///< of `all`
};

/// Models that judge read a text a line of a file, others all of it.
Outcome Tokenization::readTexts() {
  texts = options.prompts;
  if (!options.promptFile)
    return {};
  Expected<std::string> content = readPromptFile(options);
  if (!content)
    return {RAPT_IO, content.error().message};
  texts = readsRows() ? linesOf(*content) : std::vector<std::string>{*content};
  return {};
}

Outcome Tokenization::prepare() {
  RAPT_RETURN_IF_ERROR(openModule(options, model));
  if (options.chat && readsRows())
    return {RAPT_INVALID, std::string(model.info.name) + ": " + model.info.task + " has no use for --chat"};
  RAPT_RETURN_IF_ERROR(openText(model, true, text));
  if (!options.tokens)
    return readTexts();
  all.push_back(*options.tokens);
  return checkIds(model, *options.tokens);
}

Outcome Tokenization::encodeOne(const std::string &content, Ids &ids) const {
  if (options.chat)
    return encodeChat(model, text, options.system ? &*options.system : nullptr, content, 0, ids);
  if (!readsRows())
    return encode(model, text, content, ids);
  TextRow row;
  SentenceTexts usual;
  if (std::string_view(model.info.task) == "feature-extraction")
    RAPT_RETURN_IF_ERROR(readSentenceTexts(options, model, usual));
  row.text = options.question ? *options.question : usual.prompt + content;
  row.second = options.question ? std::optional(content) : options.pair;
  Outcome outcome = encodeRow(model, text, row);
  ids = std::move(row.ids);
  return outcome;
}

Outcome Tokenization::run() {
  for (const std::string &one : texts)
    RAPT_RETURN_IF_ERROR(encodeOne(one, all.emplace_back()));
  for (const Ids &ids : all)
    RAPT_RETURN_IF_ERROR(piecesOf(text.tokenizer.get(), ids, pieces.emplace_back()));
  return {};
}

Status Tokenization::finish() const {
  std::string lines;
  json::Array list;
  for (size_t i = 0; i < all.size(); ++i) {
    json::Array ids, own;
    lines += i ? "\n" : "";
    for (size_t at = 0; at < all[i].size(); ++at) {
      lines += std::to_string(all[i][at]) + "\t" + drawing::label(pieces[i][at]) + "\n";
      ids.emplace_back(int64_t(all[i][at]));
      own.push_back(jsonOfPiece(pieces[i][at]));
    }
    list.emplace_back(json::Object{{"tokens", json::Value(std::move(ids))}, {"pieces", json::Value(std::move(own))}});
  }
  if (!options.json)
    return print(lines);
  const json::Value whole = list.size() == 1 ? list[0] : json::Value(json::Object{{"sequences", json::Value(list)}});
  return print(json::write(whole) + "\n");
}

} // namespace

int runTokenize(const Options &options) {
  Tokenization tokenization(options);
  return perform(tokenization);
}

} // namespace rapt::run
