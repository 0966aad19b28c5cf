//===- TextTask.h - Tasks of models without a cache -------------------------------===//
//
// The tasks of docs/Semantics.md whose entry is forward. Each makes JSON of a
// row's outputs; the command prints that, or lines made from it.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Job.h"
#include "lib/Generation/CommandLine/Labels.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Support/Json.h"

namespace rapt::run {

class TextTask {
public:
  TextTask(const Options &options, const Model &model, const Text &text, const Labels &labels)
      : options(options), model(model), text(text), labels(labels) {}
  virtual ~TextTask() = default;

  /// The outputs of forward that `judge` takes, the widest first.
  virtual std::vector<std::string> outputs() const = 0;
  /// Appends the rows that the model reads for one of the user's texts, which has its ids.
  virtual Outcome plan(TextRow row, std::vector<TextRow> &rows) const;
  /// The model's judgment of row `index` of the outputs.
  virtual Outcome judge(const TextRow &row, size_t index, std::span<const RowOutput> outputs,
                        json::Value &result) const = 0;
  /// Numbers of a token in the outputs that are held at a time.
  virtual int64_t columns() const { return model.info.hidden; }
  /// One result from those of a text's rows, of which there is one at least.
  virtual json::Value join(std::vector<json::Value> results) const { return std::move(results.front()); }
  /// Lines, each with its newline.
  virtual std::string show(const json::Value &result) const = 0;

protected:
  /// Results wanted of a list: --top-k, else `usual`.
  size_t wanted(size_t usual) const { return wantedResults(options, usual); }
  /// The text of one token, special or not.
  Outcome tokenText(int32_t id, std::string &content) const;

  const Options &options;
  const Model &model;
  const Text &text;
  const Labels &labels;
};

using TextTaskMaker = std::unique_ptr<TextTask> (*)(const Options &, const Model &, const Text &, const Labels &);

/// The job of a task: reads texts, runs them together and prints what the task finds.
std::unique_ptr<Job> makeTextJob(const Options &options, Model model, TextTaskMaker make);
template <typename Task> std::unique_ptr<Job> makeTextJob(const Options &options, Model model) {
  return makeTextJob(options, std::move(model),
                     [](auto &...all) -> std::unique_ptr<TextTask> { return std::make_unique<Task>(all...); });
}

} // namespace rapt::run
