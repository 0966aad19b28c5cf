// --vector: what a model says about vectors of numbers.
#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Generation/CommandLine/Labels.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Generation/CommandLine/Tasks.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cstdio>

namespace rapt::run {

namespace {

class VectorRun final : public Job {
public:
  using Job::Job;
  Outcome prepare() override;
  Outcome run() override;
  Status finish() override;

private:
  Outcome printResult(std::span<const float> output);
  Outcome drawAttention(const std::vector<RowOutput> &outputs, size_t row, size_t vector);
  bool classifies() const { return std::string_view(model.info.task) == "tabular-classification"; }

  Labels labels;
  AttentionMaps maps;
  std::vector<std::string> names; ///< of the outputs
};

Outcome VectorRun::prepare() {
  const size_t first = options.vectors[0].size();
  for (size_t i = 1; i < options.vectors.size(); ++i)
    if (const size_t size = options.vectors[i].size(); size != first)
      return {RAPT_INVALID, "vector " + std::to_string(i + 1) + " has " + counted(size, "number") + ", the first one " +
                                std::to_string(first)};
  RAPT_RETURN_IF_ERROR(openLabels(model, labels));
  RAPT_RETURN_IF_ERROR(AttentionMaps::open(options, model, maps));
  names = {classifies() ? "logits" : "outputs"};
  maps.request(names);
  return makeContext(options, 0, model);
}

/// The keys are stored in the model, and have numbers. Files of one of several vectors have its number in their names.
Outcome VectorRun::drawAttention(const std::vector<RowOutput> &outputs, size_t row, size_t vector) {
  for (size_t i = 1; i < outputs.size(); ++i) {
    std::vector<std::string> keys;
    for (int64_t key = 0; key < outputs[i].shape.back(); ++key)
      keys.push_back(std::to_string(key));
    const std::string before = options.vectors.size() > 1 ? "row" + std::to_string(vector) + "-" : "";
    RAPT_RETURN_IF_ERROR(maps.write(before, names[i], outputs[i], row, {"vector"}, keys));
  }
  return {};
}

Outcome VectorRun::printResult(std::span<const float> output) {
  if (classifies()) {
    json::Array best = bestLabels(options, labels, output);
    const std::string lines = labelLines(best);
    return sink.add(json::Value(std::move(best)), lines);
  }
  json::Array numbers;
  std::string line;
  for (float number : output) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", double(number));
    numbers.emplace_back(double(number));
    line += (line.empty() ? "" : " ") + std::string(text);
  }
  return sink.add(json::Value(std::move(numbers)), line + "\n", ResultSink::Place::NextLine);
}

Outcome VectorRun::run() {
  const size_t most = size_t(std::max<int64_t>(model.info.max_rows, 1)), columns = options.vectors[0].size();
  for (size_t first = 0; first < options.vectors.size(); first += most) {
    const size_t rows = std::min(most, options.vectors.size() - first);
    std::vector<float> numbers;
    for (size_t i = 0; i < rows; ++i)
      numbers.insert(numbers.end(), options.vectors[first + i].begin(), options.vectors[first + i].end());
    const std::vector<int64_t> shape = {int64_t(rows), int64_t(columns)};
    std::vector<RowOutput> outputs;
    RAPT_RETURN_IF_ERROR(runTensors(model, {"inputs"}, {tensorOf(shape, numbers.data())}, names, outputs));
    for (size_t i = 0; i < rows; ++i) {
      RAPT_RETURN_IF_ERROR(printResult(outputs[0].row(i)));
      if (maps.isWanted())
        RAPT_RETURN_IF_ERROR(drawAttention(outputs, i, first + i));
    }
  }
  return {};
}

Status VectorRun::finish() { return sink.endTask(model.info.task); }

} // namespace

std::unique_ptr<Job> makeVectors(const Options &options, Model model) {
  return std::make_unique<VectorRun>(options, std::move(model));
}

} // namespace rapt::run
