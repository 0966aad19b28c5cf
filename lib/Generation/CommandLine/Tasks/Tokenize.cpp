// --tokenize: the ids that the model reads of a text, each with its own text.
#include "lib/Drawing/Label.h"
#include "lib/Generation/CommandLine/Pieces.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Generation/CommandLine/SentencePrompts.h"
#include "lib/Generation/CommandLine/Tasks.h"

namespace rapt::run {
namespace {

class Tokenization final : public Job {
public:
  using Job::Job;
  Outcome prepare() override;
  Outcome run() override;
  Status finish() override;

private:
  /// Whether the model's task is one of `is`.
  bool hasTask(bool (*is)(const Task &)) const {
    const Task *task = findTask(model.info.task);
    return task && is(*task);
  }
  bool readsRows() const {
    return hasTask([](const Task &task) { return task.readsLines; });
  }
  Outcome readTexts();
  Outcome encodeOne(const std::string &content, Ids &ids) const;

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
  texts = readsRows() ? linesOf(*content) : std::vector<std::string>{withoutLastNewline(std::move(*content))};
  return {};
}

Outcome Tokenization::prepare() {
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
    return encodeChat(model, text, options.system ? &*options.system : nullptr, content, {}, ids);
  if (!readsRows())
    return encode(model, text, content, ids);
  TextRow row;
  SentenceTexts usual;
  if (hasTask([](const Task &task) { return task.takes("prompt-name"); }))
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
    RAPT_RETURN_IF_ERROR(piecesOf(text.tokenizer, ids, pieces.emplace_back()));
  return {};
}

Status Tokenization::finish() {
  for (size_t i = 0; i < all.size(); ++i) {
    json::Array ids, own;
    std::string lines;
    for (size_t at = 0; at < all[i].size(); ++at) {
      lines += std::to_string(all[i][at]) + "\t" + drawing::label(pieces[i][at]) + "\n";
      ids.emplace_back(int64_t(all[i][at]));
      own.push_back(jsonOfPiece(pieces[i][at]));
    }
    json::Object one{{"tokens", json::Value(std::move(ids))}, {"pieces", json::Value(std::move(own))}};
    if (Outcome outcome = sink.add(json::Value(std::move(one)), lines); !outcome)
      return Error{outcome.message};
  }
  return sink.endList("sequences");
}

} // namespace

std::unique_ptr<Job> makeTokenization(const Options &options, Model model) {
  return std::make_unique<Tokenization>(options, std::move(model));
}

} // namespace rapt::run
