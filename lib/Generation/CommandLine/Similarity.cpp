//===- Similarity.cpp -------------------------------------------------------------===//
#include "lib/Generation/CommandLine/Similarity.h"
#include "lib/Support/Spelling.h"
#include <cmath>
#include <cstdio>
#include <span>

namespace rapt::run {
namespace {

using Vector = std::vector<double>;

double dot(const Vector &a, const Vector &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += a[i] * b[i];
  return sum;
}

/// As sentence-transformers, a vector of length 0 is similar to none.
double cosine(const Vector &a, const Vector &b) {
  constexpr double least = 1e-12;
  return dot(a, b) / (std::max(std::sqrt(dot(a, a)), least) * std::max(std::sqrt(dot(b, b)), least));
}

double euclidean(const Vector &a, const Vector &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return -std::sqrt(sum);
}

double manhattan(const Vector &a, const Vector &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += std::abs(a[i] - b[i]);
  return -sum;
}

constexpr struct {
  std::string_view name;
  double (*compute)(const Vector &, const Vector &);
} known[] = {{"cosine", cosine}, {"dot", dot}, {"euclidean", euclidean}, {"manhattan", manhattan}};

} // namespace

Expected<std::string> similarityOf(const Model &model) {
  size_t bytes = 0;
  const char *content = static_cast<const char *>(rapt_module_section(model.module.get(), "sentences.json", &bytes));
  if (!content)
    return std::string(known[0].name);
  const Expected<json::Value> section = json::parse({content, bytes});
  const json::Value *found = section ? section->find("similarity_fn_name") : nullptr;
  const std::string name = found && found->asString() ? *found->asString() : std::string(known[0].name);
  std::vector<std::string_view> names;
  for (const auto &one : known) {
    if (one.name == name)
      return name;
    names.push_back(one.name);
  }
  return Error{std::string(model.info.name) + ": config_sentence_transformers.json names the similarity \"" +
               json::printable(name, 80) + "\"; expected " + listChoices(names)};
}

json::Array similarities(std::string_view name, const json::Array &vectors) {
  std::vector<Vector> all;
  for (const json::Value &vector : vectors)
    for (Vector &numbers = all.emplace_back(); const json::Value &number : *vector.asArray())
      numbers.push_back(*number.asNumber());
  auto *compute = known[0].compute;
  for (const auto &one : known)
    if (one.name == name)
      compute = one.compute;
  json::Array rows;
  for (const Vector &a : all) {
    json::Array row;
    for (const Vector &b : all)
      row.emplace_back(compute(a, b));
    rows.emplace_back(std::move(row));
  }
  return rows;
}

Status printSimilarities(const ResultSink &sink, std::string_view name, const json::Array &rows) {
  std::string lines;
  for (const json::Value &row : rows) {
    for (const json::Value &number : *row.asArray()) {
      char text[32];
      snprintf(text, sizeof text, "%.4f", *number.asNumber());
      lines += (lines.empty() || lines.back() == '\n' ? "" : "\t") + std::string(text);
    }
    lines += "\n";
  }
  json::Object object{{"similarity", json::Value(std::string(name))}, {"results", json::Value(rows)}};
  return sink.end(json::Value(std::move(object)), lines);
}

} // namespace rapt::run
