//===- Adapter.h - Low-rank changes of a checkpoint's tensors ---------------===//
//
// An adapter (Hu et al. 2021, "LoRA") adds scale * B A to some matrices of a base model. Its
// directory is as the peft library writes it: adapter_config.json and
// adapter_model.safetensors. Changes are added when the tensors are read.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include "lib/Import/Formats/HuggingFace/AdapterFacts.h"
#include "lib/Import/Formats/HuggingFace/TensorTable.h"

namespace rapt::huggingface {

/// An adapter's directory, and the factor of what it adds.
struct AdapterSource {
  std::string directory;
  double weight = 1;
};

/// The change of a tensor [rows, columns]: left [rows, rank] times right [rank, columns], both row-major.
struct LowRankChange {
  int64_t rows = 0, columns = 0, rank = 0;
  std::vector<float> left, right; ///< `left` has the scale
};

/// Changes by the name of the tensor in the base model's checkpoint; several are added up.
using LowRankChanges = std::map<std::string, std::vector<LowRankChange>, std::less<>>;

/// Reads an adapter for the checkpoint `table`, in which tensors that the adapter has whole take the place of those of
/// the same name; those of a head that `facts` have are added, and tables with their rows are larger ones. Every other
/// tensor of the adapter has to fit one of the checkpoint; methods other than LoRA, and keys of the configuration that
/// are not understood, are errors.
Status addAdapter(const AdapterSource &source, TensorTable &table, LowRankChanges &changes,
                  const AdapterFacts &facts = {});

/// Reads an adapter that changes nothing of the checkpoint `table`: a program computes its changes beside the weights.
/// Whole tensors and changes of embeddings, which only a merge can apply, are errors as well.
Expected<LowRankChanges> readChanges(const AdapterSource &source, const TensorTable &table);

/// The tensors of `base` with the changes, rounded to the type that the checkpoint has them in.
std::unique_ptr<artifact::TensorReader> withChanges(std::unique_ptr<artifact::TensorReader> base,
                                                    std::shared_ptr<const LowRankChanges> changes);

} // namespace rapt::huggingface
