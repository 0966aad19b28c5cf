//===- Adapter.h - Low-rank changes of a checkpoint's tensors ---------------===//
//
// An adapter (Hu et al. 2021, "LoRA") adds scale * B A to some matrices of a base model. Its
// directory is as the peft library writes it: adapter_config.json and
// adapter_model.safetensors. Changes are added when the tensors are read. Some adapters belong to
// the base model without a part of it (PrincipalPart.h), which is a change as well.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include "lib/Formats/HuggingFace/AdapterFacts.h"
#include "lib/Formats/HuggingFace/ConfigReader.h"
#include "lib/Formats/HuggingFace/TensorTable.h"
#include <set>

namespace rapt::huggingface {

/// An adapter's directory, and the factor of what it adds.
struct AdapterSource {
  std::string directory;
  double weight = 1;
  std::shared_ptr<UnknownKeys> unknown = nullptr; ///< of the model
};

/// The change of a matrix [rows, columns]: left [rows, rank] times right [rank, columns], both row-major.
struct LowRankChange {
  int64_t rows = 0, columns = 0, rank = 0;
  std::vector<float> left, right; ///< `left` has the scale
  /// The matrix is in the checkpoint's orientation. Otherwise it is [out, in], and the tensor may be [in, out]: which
  /// one depends on the kind of the layer (TensorRequest::isConv1D), which fan_in_fan_out does not decide in peft
  /// either.
  bool isAsStored = false;
  std::string origin = {}; ///< file and tensors, for messages
};

/// Changes by the name of the tensor in the base model's checkpoint; several are added up. The name is that of the
/// adapter's module where the checkpoint has no such tensor: a head that is tied to the table has none.
using LowRankChanges = std::map<std::string, std::vector<LowRankChange>, std::less<>>;

/// Effects of adapters on a checkpoint, besides the tensors of its table that they replace.
struct MergedAdapters {
  LowRankChanges changes;
  /// Whole tensors that the checkpoint does not have: of a new head, or of one that was tied.
  std::set<std::string, std::less<>> added;
  /// Tensors of the checkpoint whose modules the adapters have copies of (modules_to_save): a head that was tied to
  /// such a table still has the original.
  std::map<std::string, StoredTensor, std::less<>> originals;
  std::vector<std::string> notes; ///< one line each, for the user
};

/// Reads an adapter for the checkpoint `table`, in which tensors that the adapter has whole take the place of those of
/// the same name; others are added, and tables with the rows of `facts` are larger ones. Methods other than LoRA, and
/// keys of the configuration that are not understood, are errors.
Status addAdapter(const AdapterSource &source, TensorTable &table, MergedAdapters &merged,
                  const AdapterFacts &facts = {});

/// Reads an adapter that changes nothing of the checkpoint `table`: a program computes its changes beside the weights.
/// Whole tensors and changes of embeddings, which only a merge can apply, are errors as well. `notes` gets lines for
/// the user.
Expected<LowRankChanges> readChanges(const AdapterSource &source, const TensorTable &table,
                                     std::vector<std::string> &notes);

void transpose(LowRankChange &change);

/// Turns the changes of a tensor of this shape, [in, out] where `isConv1D`, into the orientation of the checkpoint, or
/// into [out, in]. An error where one does not fit.
Status orientChanges(std::vector<LowRankChange> &changes, const std::string &tensor, const std::vector<int64_t> &shape,
                     bool isConv1D, bool asStored);

/// The sum of changes of one matrix, which has the sum of their ranks.
LowRankChange joinChanges(std::vector<LowRankChange> changes);

/// The tensors of `base` with the changes, rounded to the type that the checkpoint has them in.
std::unique_ptr<artifact::TensorReader> withChanges(std::unique_ptr<artifact::TensorReader> base,
                                                    std::shared_ptr<const LowRankChanges> changes);

} // namespace rapt::huggingface
