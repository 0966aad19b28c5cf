//===- Labels.h - From logits to names and probabilities ------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include "lib/Support/Json.h"
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rapt::run {

/// The meaning of the logits of classes.
enum class Scoring {
  Softmax, ///< one of the classes
  Sigmoid, ///< each class for itself
  None     ///< a number that is estimated
};

/// The members of a config that a model's classes have, kept as the section labels.json of the weight file.
class Labels {
public:
  /// `content` may be empty: classes without names. Errors: no JSON, or members of another form.
  static Expected<Labels> read(std::string_view content);

  /// "LABEL_3" where the config has no name.
  std::string name(size_t index) const;
  /// As Hugging Face's pipelines decide: by problem_type; else one class stands for itself, several exclude each other.
  /// The score of a reranker whose configuration says so is its logit.
  Scoring scoring(size_t classes) const;

private:
  std::vector<std::string> names;
  std::string problem, activation;
};

/// Those of the module's section, or none.
Outcome openLabels(const Model &model, Labels &labels);

/// The scores of logits, in double.
std::vector<double> score(std::span<const float> logits, Scoring scoring);

/// Indices of the `most` largest, largest first; of equal ones the lower index.
std::vector<size_t> largest(std::span<const double> scores, size_t most);

/// How many results are to be shown: --top-k, where 0 means all; else the usual number.
inline size_t wantedResults(const Options &options, size_t usual) {
  return options.topK ? (*options.topK ? size_t(*options.topK) : SIZE_MAX) : usual;
}

/// "0.9876", as results show scores.
std::string shownScore(double score);

/// The best classes of a model's output, [{"label", "score"}, ...], best first: 5, or --top-k.
json::Array bestLabels(const Options &options, const Labels &labels, std::span<const float> logits);
/// Those as lines of a score and a label.
std::string labelLines(const json::Array &best);

} // namespace rapt::run
