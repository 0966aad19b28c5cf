//===- AdapterTask.h - The head that an adapter was trained with ------------===//
//
// An adapter of a classifier is mostly trained on a base model without one: the adapter's file
// has the head whole, and its configuration says the class of the model.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Import/Formats/HuggingFace/Adapter.h"
#include <optional>

namespace rapt::huggingface {

/// A head that the base model does not have.
struct AdapterTask {
  std::string architecture; ///< the class of the model with the head, such as "BertForSequenceClassification"
  int64_t labels = 0;       ///< rows of the classifier; 0 where the adapter has none
};

/// The head of the adapters by their `task_type`, or the class in `auto_mapping`; none where the base model's classes
/// `architectures` have it, or no adapter has a classifier or spans. An error where two adapters have different ones.
/// Faults of files that addAdapter() finds are left to it.
Expected<std::optional<AdapterTask>> readAdapterTask(const std::vector<AdapterSource> &adapters,
                                                     const std::vector<std::string> &architectures);

} // namespace rapt::huggingface
