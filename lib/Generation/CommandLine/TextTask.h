//===- TextTask.h - Tasks of models without a cache -------------------------------===//
//
// The tasks of docs/Semantics.md whose entry is forward. Each makes JSON of a
// row's outputs; the command prints that, or lines made from it.
//
//===----------------------------------------------------------------------===//
#pragma once
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

/// Whether a task of docs/Semantics.md is one of these.
bool isTextTask(std::string_view name);

std::unique_ptr<TextTask> makeFillMask(const Options &, const Model &, const Text &, const Labels &);
std::unique_ptr<TextTask> makeTextClassification(const Options &, const Model &, const Text &, const Labels &);
std::unique_ptr<TextTask> makeTokenClassification(const Options &, const Model &, const Text &, const Labels &);
std::unique_ptr<TextTask> makeQuestionAnswering(const Options &, const Model &, const Text &, const Labels &);
std::unique_ptr<TextTask> makeFeatureExtraction(const Options &, const Model &, const Text &, const Labels &);

} // namespace rapt::run
