// --vector: what a model says about vectors of numbers.
#include "lib/Generation/CommandLine/AttentionMaps.h"
#include "lib/Generation/CommandLine/Command.h"
#include "lib/Generation/CommandLine/Labels.h"
#include "lib/Generation/CommandLine/Rows.h"
#include "lib/Support/Json.h"
#include <algorithm>
#include <cstdio>

namespace rapt::run {

bool isVectorTask(std::string_view name) { return name.starts_with("tabular-"); }

namespace {

class VectorRun {
public:
  VectorRun(const Options &options, Model model) : options(options), model(std::move(model)) {}
  Outcome prepare();
  Outcome run();
  Status finish() const;

private:
  Outcome printResult(std::span<const float> output);
  Outcome drawAttention(const std::vector<RowOutput> &outputs, size_t row, size_t vector);
  bool classifies() const { return std::string_view(model.info.task) == "tabular-classification"; }

  const Options &options;
  Model model;
  Labels labels;
  AttentionMaps maps;
  std::vector<std::string> names; ///< of the outputs
  size_t printed = 0;
  json::Array results; ///< for --json
};

Outcome VectorRun::prepare() {
  const std::string name = std::string(model.info.name) + ": " + model.info.task;
  if (!isVectorTask(model.info.task))
    return {RAPT_INVALID, name + " takes no vectors"};
  if (options.maxNewTokens || options.beams || !options.stops.empty() || options.temperature)
    return {RAPT_INVALID, name + " writes no text: -n, --beams, --stop and --temperature have no meaning"};
  if (options.logprobs || options.similarity)
    return {RAPT_INVALID, name + " has no use for --logprobs and --similarity"};
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
  json::Array list;
  std::string lines;
  if (classifies()) {
    list = bestLabels(options, labels, output);
    lines = (printed > 0 ? "\n" : "") + labelLines(list);
  } else {
    for (float number : output) {
      char text[32];
      snprintf(text, sizeof text, "%.6g", double(number));
      list.emplace_back(double(number));
      lines += (lines.empty() ? "" : " ") + std::string(text);
    }
    lines += "\n";
  }
  ++printed;
  if (options.json) {
    results.emplace_back(std::move(list));
    return {};
  }
  Status status = printGenerated(lines);
  return status ? Outcome{} : Outcome{RAPT_IO, status.error().message};
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

Status VectorRun::finish() const { return printResults(options, model, results); }

} // namespace

int runVectors(const Options &options) {
  Model model;
  if (Outcome outcome = openModule(options, model); !outcome)
    return fail(outcome.message, Failure(outcome).code);
  VectorRun run(options, std::move(model));
  return perform(run);
}

} // namespace rapt::run
