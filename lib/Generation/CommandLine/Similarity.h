//===- Similarity.h - How similar the vectors of texts are ------------------------===//
#pragma once
#include "lib/Generation/CommandLine/Model.h"
#include "lib/Generation/CommandLine/ResultSink.h"

namespace rapt::run {

/// The similarity that the model's config_sentence_transformers.json names: cosine (also where it names none), dot,
/// euclidean or manhattan.
Expected<std::string> similarityOf(const Model &model);

/// A row for each vector with its similarity to each, larger for more similar ones: distances are negative.
json::Array similarities(std::string_view name, const json::Array &vectors);

/// Prints them: lines of numbers, or an object.
Status printSimilarities(const ResultSink &sink, std::string_view name, const json::Array &rows);

} // namespace rapt::run
