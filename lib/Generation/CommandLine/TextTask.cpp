// Runs a model's task on texts of the command line or lines of a file.
#include "lib/Generation/CommandLine/TextTask.h"
#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Generation/CommandLine/Command.h"
#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/MapFiles.h"
#include "lib/Generation/CommandLine/Pieces.h"
#include "lib/Generation/CommandLine/SentencePrompts.h"
#include "lib/Generation/CommandLine/Similarity.h"
#include "lib/Support/Npy.h"
#include <algorithm>

namespace rapt::run {

Outcome TextTask::plan(TextRow row, std::vector<TextRow> &rows) const {
  rows.push_back(std::move(row));
  return {};
}

Outcome TextTask::tokenText(int32_t id, std::string &content) const {
  return decode(text.writer, {id}, content, RAPT_DECODE_KEEP_SPECIAL);
}

namespace {

constexpr struct {
  std::string_view name;
  std::unique_ptr<TextTask> (*make)(const Options &, const Model &, const Text &, const Labels &);
} tasks[] = {{"fill-mask", makeFillMask},
             {"text-classification", makeTextClassification},
             {"token-classification", makeTokenClassification},
             {"question-answering", makeQuestionAnswering},
             {"feature-extraction", makeFeatureExtraction}};

} // namespace

bool isTextTask(std::string_view name) {
  return std::any_of(std::begin(tasks), std::end(tasks), [&](const auto &task) { return task.name == name; });
}

namespace {

class TaskRun {
public:
  TaskRun(const Options &options, Model model) : options(options), model(std::move(model)) {}
  Outcome prepare();
  Outcome run();
  Status finish() const;

private:
  Outcome checkOptions() const;
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

  const Options &options;
  Model model;
  Text text;
  Labels labels;
  std::unique_ptr<TextTask> task;
  std::vector<std::string> tensors, names;
  SentenceTexts sentences;
  std::vector<TextRow> rows;
  std::vector<json::Value> pending; ///< of the rows of one text
  AttentionMaps maps;
  size_t texts = 0, printed = 0;
  json::Array results; ///< for --json and --similarity
  std::string similarity;
};

Outcome TaskRun::checkOptions() const {
  const std::string name = std::string(model.info.name) + ": " + model.info.task;
  auto refuse = [&](const char *option, const char *what) {
    return Outcome{RAPT_INVALID, name + " has no use for " + option + ", which belongs to " + what};
  };
  const std::string_view task = model.info.task;
  if (options.question && task != "question-answering")
    return refuse("--question", "question-answering");
  if (!options.question && task == "question-answering")
    return {RAPT_INVALID, name + " needs --question beside the text that has the answer"};
  if (options.promptName && task != "feature-extraction")
    return refuse("--prompt-name", "feature-extraction");
  if (options.similarity && task != "feature-extraction")
    return refuse("--similarity", "feature-extraction");
  if (options.logprobs)
    return refuse("--logprobs", "models that generate text");
  if (options.pair && task != "text-classification" && task != "feature-extraction")
    return refuse("--pair", "text-classification and feature-extraction");
  if (options.tokens && task != "text-classification" && task != "feature-extraction" && task != "fill-mask")
    return {RAPT_INVALID, name + " needs a text: --prompt or --file"};
  if (options.maxNewTokens || options.beams || !options.stops.empty() || options.temperature || options.chat)
    return {RAPT_INVALID, name + " writes no text: -n, --beams, --stop, --temperature and --chat have no meaning"};
  return {};
}

Outcome TaskRun::checkLength(const TextRow &row) const {
  const int64_t most = model.info.max_positions, length = int64_t(row.ids.size());
  if (most == 0 || length <= most)
    return {};
  return {RAPT_TOO_LONG, "the text has " + counted(uint64_t(length), "token") + "; the model's positions hold " +
                             std::to_string(most)};
}

Outcome TaskRun::encodeTexts(std::vector<std::string> given) {
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

Outcome TaskRun::readRows() {
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

Outcome TaskRun::prepare() {
  RAPT_RETURN_IF_ERROR(checkOptions());
  RAPT_RETURN_IF_ERROR(openText(model, !options.tokens, text));
  RAPT_RETURN_IF_ERROR(openLabels(model, labels));
  Expected<std::vector<std::string>> found = forwardTensors(model);
  if (!found)
    return {RAPT_BAD_FILE, found.error().message};
  tensors = std::move(*found);
  for (const auto &known : tasks)
    if (known.name == model.info.task)
      task = known.make(options, model, text, labels);
  names = task->outputs();
  for (const auto &[name, file] : options.outputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  RAPT_RETURN_IF_ERROR(AttentionMaps::open(options, model, maps));
  maps.request(names);
  if (!options.tokens && std::string_view(model.info.task) == "feature-extraction")
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
       (texts == 1 ? " of " : " of together ") + counted(tokens, "token"));
  return {};
}

Outcome TaskRun::chooseSimilarity() {
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

/// Prints the result of one text, or keeps it for the one object at the end.
Outcome TaskRun::printResult(json::Value result) {
  if (options.json || options.similarity) {
    results.push_back(std::move(result));
    return {};
  }
  Status status = printGenerated((printed++ && texts > 1 ? "\n" : "") + task->show(result));
  return status ? Outcome{} : Outcome{RAPT_IO, status.error().message};
}

Status TaskRun::writeOutputs(const std::vector<RowOutput> &outputs) const {
  for (const auto &[name, file] : options.outputs) {
    const RowOutput &tensor = output(outputs, name);
    RAPT_RETURN_IF_ERROR(writeNpy(file, NpyType::F32, tensor.shape, std::as_bytes(std::span(tensor.data))));
  }
  return {};
}

/// Rows of several have their number in the files' names.
Outcome TaskRun::drawAttention(const TextRow &row, const std::vector<RowOutput> &outputs, size_t index) {
  std::vector<std::string> labels;
  RAPT_RETURN_IF_ERROR(piecesOf(text.writer, row.ids, labels));
  const std::string before = rows.size() > 1 ? mapPrefix(mapOfRow, size_t(&row - rows.data())) : "";
  for (const std::string &name : maps.names())
    RAPT_RETURN_IF_ERROR(maps.write(before, name, output(outputs, name), index,
                                    maps.isOfRows(name) ? std::vector<std::string>{"text"} : labels, labels));
  return {};
}

Outcome TaskRun::runGroup(std::span<const TextRow> group) {
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
  Status status = writeOutputs(outputs);
  return status ? Outcome{} : Outcome{RAPT_IO, status.error().message};
}

Outcome TaskRun::run() {
  const std::span<const TextRow> all = rows;
  if (!options.outputs.empty()) // a file holds all rows
    return runGroup(all);
  const int64_t columns = std::string_view(model.info.task) == "fill-mask" ? model.info.vocabulary : model.info.hidden;
  for (size_t first = 0; first < all.size();) {
    size_t count = maps.isWanted() ? 1 : rowsTogether(all.subspan(first), columns);
    RAPT_RETURN_IF_ERROR(runGroup(all.subspan(first, count)));
    first += count;
  }
  return {};
}

Status TaskRun::finish() const {
  if (options.similarity)
    return printSimilarities(options, similarity, similarities(similarity, results));
  return printResults(options, model, results);
}

} // namespace

int runTextTask(const Options &options, Model model) {
  TaskRun run(options, std::move(model));
  return perform(run);
}

} // namespace rapt::run
