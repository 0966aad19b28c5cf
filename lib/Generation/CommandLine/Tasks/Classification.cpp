// Labels of texts and of their tokens, and vectors that stand for texts.
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Generation/CommandLine/TextTask.h"
#include <cstdio>

namespace rapt::run {
namespace {

class TextClassification final : public TextTask {
public:
  using TextTask::TextTask;
  std::vector<std::string> outputs() const override { return {"logits"}; }
  Outcome judge(const TextRow &, size_t index, std::span<const RowOutput> outputs, json::Value &result) const override {
    result = json::Value(bestLabels(options, labels, outputs[0].row(index)));
    return {};
  }
  std::string show(const json::Value &result) const override { return labelLines(*result.asArray()); }
};

class TokenClassification final : public TextTask {
public:
  using TextTask::TextTask;
  std::vector<std::string> outputs() const override { return {"logits"}; }
  Outcome judge(const TextRow &row, size_t index, std::span<const RowOutput> outputs,
                json::Value &result) const override;
  std::string show(const json::Value &result) const override;
};

/// As Hugging Face's pipeline without aggregation: special tokens, and those that are "O", are left out.
Outcome TokenClassification::judge(const TextRow &row, size_t index, std::span<const RowOutput> outputs,
                                   json::Value &result) const {
  json::Array list;
  for (size_t i = 0; i < row.ids.size(); ++i) {
    if (row.spans[i].source == 0)
      continue;
    std::vector<double> scores = score(outputs[0].token(index, i), Scoring::Softmax);
    const size_t best = largest(scores, 1)[0];
    if (labels.name(best) == "O")
      continue;
    std::string word;
    RAPT_RETURN_IF_ERROR(tokenText(row.ids[i], word));
    list.emplace_back(json::Object{{"entity", json::Value(labels.name(best))},
                                   {"score", json::Value(scores[best])},
                                   {"index", json::Value(uint64_t(i))},
                                   {"word", json::Value(word)},
                                   {"start", json::Value(uint64_t(row.spans[i].begin))},
                                   {"end", json::Value(uint64_t(row.spans[i].end))}});
  }
  result = json::Value(std::move(list));
  return {};
}

std::string TokenClassification::show(const json::Value &result) const {
  std::string lines;
  for (const json::Value &one : *result.asArray())
    lines += shownScore(*one.find("score")->asNumber()) + "\t" + *one.find("entity")->asString() + "\t" +
             std::to_string(*one.find("start")->asInteger()) + "-" + std::to_string(*one.find("end")->asInteger()) +
             "\t" + *one.find("word")->asString() + "\n";
  return lines;
}

class FeatureExtraction final : public TextTask {
public:
  using TextTask::TextTask;
  std::vector<std::string> outputs() const override { return {"sentence_embedding"}; }
  Outcome judge(const TextRow &, size_t index, std::span<const RowOutput> outputs, json::Value &result) const override {
    json::Array numbers;
    for (float number : outputs[0].row(index))
      numbers.emplace_back(double(number));
    result = json::Value(std::move(numbers));
    return {};
  }
  std::string show(const json::Value &result) const override {
    std::string line;
    for (const json::Value &number : *result.asArray()) {
      char text[32];
      snprintf(text, sizeof text, "%.6g", *number.asNumber());
      line += (line.empty() ? "" : " ") + std::string(text);
    }
    return line + "\n";
  }
};

} // namespace

std::unique_ptr<Job> makeTextClassification(const Options &options, Model model) {
  return makeTextJob<TextClassification>(options, std::move(model));
}
std::unique_ptr<Job> makeTokenClassification(const Options &options, Model model) {
  return makeTextJob<TokenClassification>(options, std::move(model));
}
std::unique_ptr<Job> makeFeatureExtraction(const Options &options, Model model) {
  return makeTextJob<FeatureExtraction>(options, std::move(model));
}

} // namespace rapt::run
