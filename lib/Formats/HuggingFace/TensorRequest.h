//===- TensorRequest.h - Tensors that a family needs ------------------------===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include "lib/Formats/HuggingFace/TensorTable.h"

namespace rapt::huggingface {

/// The purpose of a tensor, which decides the distribution of seeded random values (docs/RandomWeights.md).
struct Init {
  enum Kind : uint8_t { Weight, Embedding, NormWeight, Bias } kind;
  int64_t fanIn = 1; ///< of a Weight: its values have the variance 1 / fanIn

  /// `fanIn` terms are summed for one output.
  static Init weight(int64_t fanIn) { return {Weight, fanIn}; }
  /// The same where the outputs are queries of `channels` a head and attention does not scale their scores.
  static Init unscaledQuery(int64_t fanIn, int64_t channels) { return {Weight, fanIn * channels}; }
  static Init embedding() { return {Embedding}; }
  static Init normWeight() { return {NormWeight}; }
  static Init bias() { return {Bias}; }
};

/// A tensor that a family needs, in the checkpoint's own orientation.
struct TensorRequest {
  std::string name; ///< canonical; the name of a random tensor
  std::vector<int64_t> shape;
  Init init;
  bool isConv1D = false; ///< a weight [in, out], as the layer Conv1D of transformers has it; torch's are [out, in]
  std::vector<std::string> alternatives = {}; ///< other names that checkpoints use, tried in order
};

/// A request that was met.
struct ResolvedTensor {
  std::string name; ///< in the checkpoint
  artifact::DType dtype;
  std::vector<int64_t> shape;
  const BlockFormat *blocks = nullptr; ///< of a quantized matrix, whose numbers are read as f32
};

/// Looks all requests up. Every missing, misshaped or wrongly typed tensor is in the one error, with file, expected and
/// actual shape.
Expected<std::vector<ResolvedTensor>> resolveTensors(const TensorTable &table, std::span<const TensorRequest> requests);

/// Names of the table that no request met and no pattern ignores. `*` in a pattern stands for any text.
std::vector<std::string> findExtraTensors(const TensorTable &table, std::span<const ResolvedTensor> used,
                                          std::span<const std::string_view> ignored);

/// Reads the floating-point tensors of a checkpoint. Keeps the files open; the table need not outlive it.
std::unique_ptr<artifact::TensorReader> openSafeTensors(const TensorTable &table);

} // namespace rapt::huggingface
