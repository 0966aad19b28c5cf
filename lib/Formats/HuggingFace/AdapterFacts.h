//===- AdapterFacts.h - Facts that adapters change besides weights --------===//
//
// An adapter of a classifier is mostly trained on a base model without one: the adapter's file
// has the head whole, and its configuration says the class of the model. One that was trained
// with new tokens has the larger tables whole, and its directory the tokenizer.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Support/Expected.h"
#include "lib/Support/Json.h"
#include <string>
#include <vector>

namespace rapt::huggingface {

struct AdapterSource;

/// Facts of the model with its adapters, where the base model has others.
struct AdapterFacts {
  std::string head;       ///< end of the name of the class with their head: "ForSequenceClassification"
  int64_t labels = 0;     ///< rows of the classifier; 0: those of the base model
  int64_t vocabulary = 0; ///< rows of the table of embeddings; 0: those of the base model

  bool any() const { return !head.empty() || labels || vocabulary; }
};

/// The facts of the adapters: the head is that of `task_type`, or of the class in `auto_mapping`. `config` is the base
/// model's, whose classes are `architectures`. An error where two adapters differ, and for a class that computes
/// something else than the base model. Faults of files that addAdapter() finds are left to it.
Expected<AdapterFacts> readAdapterFacts(const std::vector<AdapterSource> &adapters, const json::Value &config,
                                        const std::vector<std::string> &architectures);

/// `config` with these facts.
json::Value withFacts(const json::Value &config, const AdapterFacts &facts);

/// The directory of the tokenizer: that of the last adapter that has one, else `base`.
std::string tokenizerDirectory(const std::vector<AdapterSource> &adapters, const std::string &base);

} // namespace rapt::huggingface
