// The stretch of a text that answers a question, as Hugging Face's pipeline finds it: the span of at most 15 tokens
// whose first and last token are the likeliest, both in the text, widened to whole words. A text that is too long is
// read in windows.
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Generation/CommandLine/TextTask.h"
#include <algorithm>
#include <cmath>

namespace rapt::run {
namespace {

constexpr size_t longestAnswer = 15;  // tokens
constexpr size_t defaultWindow = 384; // tokens, the question's among them
constexpr size_t defaultOverlap = 128;

class QuestionAnswering final : public TextTask {
public:
  using TextTask::TextTask;
  std::vector<std::string> outputs() const override { return {"start_logits", "end_logits"}; }
  Outcome plan(TextRow row, std::vector<TextRow> &rows) const override;
  Outcome judge(const TextRow &row, size_t index, std::span<const RowOutput> outputs,
                json::Value &result) const override;
  json::Value join(std::vector<json::Value> results) const override;
  std::string show(const json::Value &result) const override;
};

bool isOfText(const rapt_token_span &span) { return span.source == 2; }

/// The row with only `count` tokens of its text, from the `first`-th on. `begin` is where its text begins, of `all`.
TextRow window(const TextRow &row, size_t begin, size_t all, size_t first, size_t count) {
  TextRow part = row;
  auto cut = [&](auto &list) {
    auto at = [&](size_t i) { return list.begin() + ptrdiff_t(i); };
    list.erase(at(begin + first + count), at(begin + all));
    list.erase(at(begin), at(begin + first));
  };
  cut(part.ids);
  cut(part.types);
  cut(part.spans);
  return part;
}

Outcome QuestionAnswering::plan(TextRow row, std::vector<TextRow> &rows) const {
  const auto first = std::find_if(row.spans.begin(), row.spans.end(), isOfText);
  const size_t begin = size_t(first - row.spans.begin());
  const size_t all = size_t(std::count_if(first, row.spans.end(), isOfText));
  if (all == 0)
    return {RAPT_INVALID, "the text that has the answer is empty"};
  const size_t limit = std::min(defaultWindow, size_t(model.info.max_positions));
  const size_t overlap = std::min(defaultOverlap, limit / 2), around = row.ids.size() - all;
  if (row.ids.size() <= limit) {
    rows.push_back(std::move(row));
    return {};
  }
  if (around + overlap >= limit)
    return {RAPT_TOO_LONG, "the question takes " + std::to_string(around) + " of " + std::to_string(limit) +
                               " tokens, which leaves too few for the text"};
  const size_t most = limit - around;
  for (size_t at = 0;; at += most - overlap) {
    rows.push_back(window(row, begin, all, at, std::min(most, all - at)));
    if (at + most >= all)
      return {};
  }
}

/// Probabilities among the tokens of the text and the first token of all, which stands for no answer; that one is 0.
std::vector<double> probabilities(const TextRow &row, std::span<const float> logits) {
  std::vector<double> result(row.ids.size());
  double most = -INFINITY, sum = 0;
  auto counts = [&](size_t i) { return i == 0 || isOfText(row.spans[i]); };
  for (size_t i = 0; i < result.size(); ++i)
    most = counts(i) ? std::max(most, double(logits[i])) : most;
  for (size_t i = 0; i < result.size(); ++i)
    if (counts(i))
      sum += result[i] = std::exp(double(logits[i]) - most);
  for (double &p : result)
    p /= sum;
  result[0] = 0;
  return result;
}

Outcome QuestionAnswering::judge(const TextRow &row, size_t index, std::span<const RowOutput> outputs,
                                 json::Value &result) const {
  const std::vector<double> starts = probabilities(row, outputs[0].row(index));
  const std::vector<double> ends = probabilities(row, outputs[1].row(index));
  double best = -1;
  size_t first = 0, last = 0;
  for (size_t i = 0; i < starts.size(); ++i)
    for (size_t j = i; isOfText(row.spans[i]) && j < std::min(ends.size(), i + longestAnswer); ++j)
      if (isOfText(row.spans[j]) && starts[i] * ends[j] > best)
        best = starts[i] * ends[j], first = i, last = j;
  size_t begin = row.spans[first].begin, end = row.spans[last].end;
  for (const rapt_token_span &span : row.spans) {
    if (isOfText(span) && span.word == row.spans[first].word)
      begin = std::min(begin, span.begin);
    if (isOfText(span) && span.word == row.spans[last].word)
      end = std::max(end, span.end);
  }
  result = json::Value(json::Object{{"score", json::Value(best)},
                                    {"start", json::Value(uint64_t(begin))},
                                    {"end", json::Value(uint64_t(end))},
                                    {"answer", json::Value(row.second->substr(begin, end - begin))}});
  return {};
}

json::Value QuestionAnswering::join(std::vector<json::Value> results) const {
  auto score = [](const json::Value &value) { return *value.find("score")->asNumber(); };
  return *std::max_element(results.begin(), results.end(),
                           [&](const json::Value &a, const json::Value &b) { return score(a) < score(b); });
}

std::string QuestionAnswering::show(const json::Value &result) const {
  return shownScore(*result.find("score")->asNumber()) + "\t" + std::to_string(*result.find("start")->asInteger()) +
         "-" + std::to_string(*result.find("end")->asInteger()) + "\t" + *result.find("answer")->asString() + "\n";
}

} // namespace

std::unique_ptr<Job> makeQuestionAnswering(const Options &options, Model model) {
  return makeTextJob<QuestionAnswering>(options, std::move(model));
}

} // namespace rapt::run
