#include "lib/Generation/CommandLine/Labels.h"
#include "lib/Generation/CommandLine/Console.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace rapt::run {

static constexpr size_t mostClasses = size_t(1) << 20;

Expected<Labels> Labels::read(std::string_view content) {
  Labels labels;
  if (content.empty())
    return labels;
  RAPT_ASSIGN_OR_RETURN(json::Value root, withContext("labels.json", json::parse(content)));
  if (const json::Value *problem = root.find("problem_type"); problem && problem->asString())
    labels.problem = *problem->asString();
  if (const json::Value *activation = root.find("activation"); activation && activation->asString())
    labels.activation = *activation->asString();
  const json::Value *names = root.find("id2label");
  if (!names || !names->asObject())
    return labels;
  for (const auto &[key, value] : *names->asObject()) {
    size_t index = 0;
    auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    if (error != std::errc() || end != key.data() + key.size() || index >= mostClasses || !value.asString())
      return Error{"id2label: '" + json::printable(key, 60) + "' is not the number of a class with a name"};
    if (index >= labels.names.size())
      labels.names.resize(index + 1);
    labels.names[index] = *value.asString();
  }
  return labels;
}

std::string Labels::name(size_t index) const {
  return index < names.size() && !names[index].empty() ? names[index] : "LABEL_" + std::to_string(index);
}

Scoring Labels::scoring(size_t classes) const {
  if (problem == "regression" || (classes == 1 && activation == "Identity"))
    return Scoring::None;
  return problem == "multi_label_classification" || classes == 1 ? Scoring::Sigmoid : Scoring::Softmax;
}

Outcome openLabels(const Model &model, Labels &labels) {
  size_t bytes = 0;
  const void *content = rapt_module_section(model.module.get(), "labels.json", &bytes);
  Expected<Labels> read = Labels::read({static_cast<const char *>(content), bytes});
  if (!read)
    return {RAPT_BAD_FILE, read.error().message};
  labels = std::move(*read);
  return {};
}

std::vector<double> score(std::span<const float> logits, Scoring scoring) {
  std::vector<double> scores(logits.begin(), logits.end());
  if (scoring == Scoring::Sigmoid)
    for (double &s : scores)
      s = 1 / (1 + std::exp(-s));
  if (scoring != Scoring::Softmax || scores.empty())
    return scores;
  const double most = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (double &s : scores)
    sum += s = std::exp(s - most);
  for (double &s : scores)
    s /= sum;
  return scores;
}

std::vector<size_t> largest(std::span<const double> scores, size_t most) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  most = std::min(most, order.size());
  auto isBetter = [&](size_t a, size_t b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); };
  std::partial_sort(order.begin(), order.begin() + ptrdiff_t(most), order.end(), isBetter);
  order.resize(most);
  return order;
}

std::string shownScore(double score) {
  char text[32];
  snprintf(text, sizeof text, "%.4f", score);
  return text;
}

json::Array bestLabels(const Options &options, const Labels &labels, std::span<const float> logits) {
  constexpr size_t usual = 5;
  const std::vector<double> scores = score(logits, labels.scoring(logits.size()));
  json::Array list;
  for (size_t best : largest(scores, wantedResults(options, usual)))
    list.emplace_back(json::Object{{"label", json::Value(labels.name(best))}, {"score", json::Value(scores[best])}});
  return list;
}

std::string labelLines(const json::Array &best) {
  std::string lines;
  for (const json::Value &one : best)
    lines += shownScore(*one.find("score")->asNumber()) + "\t" + *one.find("label")->asString() + "\n";
  return lines;
}

} // namespace rapt::run
