//===- AdapterTensors.h - Narrow matrices of adapters as tensors -------------===//
//
// A program that chooses among adapters reads the two narrow matrices of each change, beside
// the weights. They are tensors here, of one rank for all adapters: rows and columns behind an
// adapter's own rank are zeros.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Formats/HuggingFace/Adapter.h"

namespace rapt::huggingface {

/// An adapter that is chosen by its name when the program runs.
struct NamedAdapter {
  std::string name;
  AdapterSource source;
  LowRankChanges changes = {};
};

/// The most adapters of one program, and the most bytes of a name.
inline constexpr size_t mostNamedAdapters = 64, mostAdapterNameBytes = 63;

/// Whether an adapter can have the name: letters, digits, '.', '_' and '-', the first one no '.' or '-'.
bool isAdapterName(std::string_view name);

/// One of the two narrow matrices of a change of a matmul's weight W: y = x W^T + (x A^T) B^T.
struct AdapterTensor {
  artifact::TensorInfo info;             ///< [rank, in] of A, [out, rank] of B
  const LowRankChange *change = nullptr; ///< of W [out, in]; null: zeros
  bool isFirst = false;                  ///< A
};

/// By name.
using AdapterTensors = std::map<std::string, AdapterTensor, std::less<>>;

/// The tensors of `base` and the adapters', whose changes must outlive the reader.
std::unique_ptr<artifact::TensorReader> withAdapters(std::unique_ptr<artifact::TensorReader> base,
                                                     std::shared_ptr<const AdapterTensors> tensors);

} // namespace rapt::huggingface
