// Runs a model's task on texts of the command line or lines of a file.
#include "lib/Generation/CommandLine/TextTask.h"
#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/MapFiles.h"
#include "lib/Generation/CommandLine/Pieces.h"
#include "lib/Generation/CommandLine/SentencePrompts.h"
#include "lib/Generation/CommandLine/Similarity.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Support/Npy.h"
#include <algorithm>

namespace rapt::run {

Outcome TextTask::plan(TextRow row, std::vector<TextRow> &rows) const {
  rows.push_back(std::move(row));
  return {};
}

Outcome TextTask::tokenText(int32_t id, std::string &content) const {
  return text.writer.decode({id}, content, RAPT_DECODE_KEEP_SPECIAL);
}

namespace {

class TextJob final : public Job {
public:
  TextJob(const Options &options, Model given, TextTaskMaker make)
      : Job(options, std::move(given)), task(make(options, model, text, labels)) {}
  Outcome prepare() override;
  Outcome run() override;
  Status finish() override;

private:
  Outcome readRows();
  Outcome chooseSimilarity();
  Outcome checkLength(const TextRow &row) const;
  Outcome encodeTexts(std::vector<std::string> texts);
  Outcome runGroup(std::span<const TextRow> group);
  Outcome drawAttention(const TextRow &row, const std::vector<RowOutput> &outputs, size_t index);
  Outcome printResult(json::Value result);
  Status writeOutputs(const std::vector<RowOutput> &outputs) const;
  /// That of the name, which is one of `names`.
  const RowOutput &output(const std::vector<RowOutput> &outputs, const std::string &name) const {
    return outputs[size_t(std::find(names.begin(), names.end(), name) - names.begin())];
  }

  Text text;
  Labels labels;
  std::unique_ptr<TextTask> task;
  std::vector<std::string> tensors, names;
  SentenceTexts sentences;
  std::vector<TextRow> rows;
  std::vector<json::Value> pending; ///< of the rows of one text
  AttentionMaps maps;
  size_t texts = 0;
  json::Array vectors; ///< for --similarity
  std::string similarity;
};

Outcome TextJob::checkLength(const TextRow &row) const {
  const int64_t most = model.info.max_positions, length = int64_t(row.ids.size());
  if (most == 0 || length <= most)
    return {};
  return {RAPT_TOO_LONG, "the text has " + counted(uint64_t(length), "token") + "; the model's positions hold " +
                             std::to_string(most)};
}

Outcome TextJob::encodeTexts(std::vector<std::string> given) {
  texts = given.size();
  for (size_t i = 0; i < given.size(); ++i) {
    TextRow row;
    row.origin = i;
    row.text = options.question ? *options.question : sentences.prompt + given[i];
    if (options.question)
      row.second = std::move(given[i]);
    else
      row.second = options.pair;
    Outcome outcome = encodeRow(model, text, row);
    if (outcome)
      outcome = task->plan(std::move(row), rows);
    if (outcome)
      outcome = checkLength(rows.back());
    if (!outcome && (options.promptFile || texts > 1))
      outcome.message = (options.promptFile ? "line " : "prompt ") + std::to_string(i + 1) + ": " + outcome.message;
    RAPT_RETURN_IF_ERROR(outcome);
  }
  return {};
}

Outcome TextJob::readRows() {
  if (options.tokens) {
    RAPT_RETURN_IF_ERROR(checkIds(model, *options.tokens));
    TextRow row;
    row.ids = *options.tokens;
    row.types.resize(row.ids.size());
    row.spans.resize(row.ids.size());
    texts = 1;
    return task->plan(std::move(row), rows);
  }
  if (!options.promptFile)
    return encodeTexts(options.prompts);
  Expected<std::string> content = readPromptFile(options);
  if (!content)
    return {RAPT_IO, content.error().message};
  std::vector<std::string> lines = linesOf(*content);
  if (lines.empty())
    return {RAPT_INVALID, json::printable(*options.promptFile) + " is empty: a line is a text"};
  return encodeTexts(std::move(lines));
}

Outcome TextJob::prepare() {
  RAPT_RETURN_IF_ERROR(openText(model, !options.tokens, text));
  RAPT_RETURN_IF_ERROR(openLabels(model, labels));
  Expected<std::vector<std::string>> found = tensorsOf(model, "forward");
  if (!found)
    return {RAPT_BAD_FILE, found.error().message};
  tensors = std::move(*found);
  names = task->outputs();
  for (const auto &[name, file] : options.outputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  RAPT_RETURN_IF_ERROR(AttentionMaps::open(options, model, maps));
  maps.request(names);
  if (!options.tokens && findTask(model.info.task)->takes("prompt-name"))
    RAPT_RETURN_IF_ERROR(readSentenceTexts(options, model, sentences));
  RAPT_RETURN_IF_ERROR(readRows());
  RAPT_RETURN_IF_ERROR(chooseSimilarity());
  RAPT_RETURN_IF_ERROR(makeContext(options, 0, model));
  size_t tokens = 0, longer = 0;
  for (const TextRow &row : rows) {
    tokens += row.ids.size();
    longer += sentences.mostTokens && row.ids.size() > sentences.mostTokens;
  }
  if (longer)
    note(counted(longer, "text") + (longer == 1 ? " has" : " have") + " more than " +
         std::to_string(sentences.mostTokens) +
         " tokens, at which sentence-transformers cuts them (max_seq_length); they are read whole");
  note(std::string(model.info.name) + ": " + model.info.task + ", " + counted(texts, "text") +
       (texts == 1 ? " of " : ", ") + counted(tokens, "token") + (texts == 1 ? "" : " in all"));
  return {};
}

Outcome TextJob::chooseSimilarity() {
  if (!options.similarity)
    return {};
  if (texts < 2)
    return {RAPT_INVALID, "--similarity compares texts, but one is given; each -p is a text, and each line of a file"};
  Expected<std::string> found = similarityOf(model);
  if (!found)
    return {RAPT_UNSUPPORTED, found.error().message};
  similarity = *found;
  return {};
}

/// Prints the result of one text, or keeps it to be compared with the others.
Outcome TextJob::printResult(json::Value result) {
  if (options.similarity) {
    vectors.push_back(std::move(result));
    return {};
  }
  const std::string lines = options.json ? "" : task->show(result);
  return sink.add(std::move(result), lines);
}

Status TextJob::writeOutputs(const std::vector<RowOutput> &outputs) const {
  for (const auto &[name, file] : options.outputs) {
    const RowOutput &tensor = output(outputs, name);
    RAPT_RETURN_IF_ERROR(writeNpy(file, NpyType::F32, tensor.shape, std::as_bytes(std::span(tensor.data))));
  }
  return {};
}

/// Rows of several have their number in the files' names.
Outcome TextJob::drawAttention(const TextRow &row, const std::vector<RowOutput> &outputs, size_t index) {
  std::vector<std::string> labels;
  RAPT_RETURN_IF_ERROR(piecesOf(text.writer, row.ids, labels));
  const std::string before = rows.size() > 1 ? mapPrefix(mapOfRow, size_t(&row - rows.data())) : "";
  for (const std::string &name : maps.names())
    RAPT_RETURN_IF_ERROR(maps.write(before, name, output(outputs, name), index,
                                    maps.isOfRows(name) ? std::vector<std::string>{"text"} : labels, labels));
  return {};
}

Outcome TextJob::runGroup(std::span<const TextRow> group) {
  std::vector<RowOutput> outputs;
  RAPT_RETURN_IF_ERROR(runRows(model, tensors, group, names, outputs));
  for (size_t i = 0; i < group.size(); ++i) {
    RAPT_RETURN_IF_ERROR(task->judge(group[i], i, outputs, pending.emplace_back()));
    if (maps.isWanted())
      RAPT_RETURN_IF_ERROR(drawAttention(group[i], outputs, i));
    const TextRow *next = &group[i] + 1;
    if (next < rows.data() + rows.size() && next->origin == group[i].origin)
      continue;
    Outcome outcome = printResult(task->join(std::move(pending)));
    pending.clear();
    RAPT_RETURN_IF_ERROR(outcome);
  }
  return outcomeOf(writeOutputs(outputs));
}

Outcome TextJob::run() {
  const std::span<const TextRow> all = rows;
  if (!options.outputs.empty()) // a file holds all rows
    return runGroup(all);
  for (size_t first = 0; first < all.size();) {
    size_t count = maps.isWanted() ? 1 : rowsTogether(all.subspan(first), task->columns());
    RAPT_RETURN_IF_ERROR(runGroup(all.subspan(first, count)));
    first += count;
  }
  return {};
}

Status TextJob::finish() {
  return options.similarity ? printSimilarities(sink, similarity, similarities(similarity, vectors))
                            : sink.endTask(model.info.task);
}

} // namespace

std::unique_ptr<Job> makeTextJob(const Options &options, Model model, TextTaskMaker make) {
  return std::make_unique<TextJob>(options, std::move(model), make);
}

} // namespace rapt::run
