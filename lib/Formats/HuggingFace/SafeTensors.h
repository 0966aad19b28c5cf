//===- SafeTensors.h - The header of one safetensors file ------------------===//
//
// A safetensors file is an 8-byte little-endian length N, N bytes of JSON naming
// every tensor, and the data. Reading checks all of it against the file's size;
// data is never mapped, so that a file that shrinks gives an error, not SIGBUS.
// Format: https://huggingface.co/docs/safetensors
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/CodeBlock.h"
#include "lib/Artifact/Parameter.h"
#include "lib/Support/Expected.h"
#include "lib/Support/File.h"
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace rapt::huggingface {

/// How a file's numbers follow from a directory's number w.
enum class Made : uint8_t {
  Same,
  OnePlus,            ///< 1 + w
  NegativeExponential ///< -e^w
};

/// One tensor of a file. Rank 0 and zero-size tensors are legal; data need not be aligned.
struct StoredTensor {
  std::string name;
  std::string dtype; ///< as the file writes it: "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;
  uint64_t offset = 0; ///< of the data, from the start of the file
  uint64_t bytes = 0;
  std::shared_ptr<const InputFile> file;
  /// The scales of a tensor whose `dtype` is "MXFP4" or "F8_E4M3", and whose data are codes: two tensors of the file.
  std::shared_ptr<const StoredTensor> scales = {};
  std::array<int64_t, 2> block = {};               ///< rows and columns that share a scale of 8-bit floats
  artifact::DType decoded = artifact::DType::BF16; ///< the type that codes are read as
  /// For each row, the one of the file that it is; null: they lie in order. Of a vector, a row is an element.
  std::shared_ptr<const std::vector<int64_t>> rows = {};
  Made made = Made::Same; ///< where it is not, the tensor is read as f32
  /// How the rows of a quantized matrix are blocks; null of others. Their numbers are read as f32, with `scales` as
  /// `decoded`.
  const artifact::BlockSource *blocks = nullptr;

  /// The element type when Rapt can compute with it.
  std::optional<artifact::DType> type() const;
};

/// "F32", "F16" or "BF16".
const char *safeTensorsName(artifact::DType type);

/// "[2, 3]", long shapes cut, for messages.
std::string shownShape(const std::vector<int64_t> &shape);

/// Reads and checks the header. Tensors come in the order of their data. The error names file, tensor and numbers.
/// Headers above 100,000,000 bytes are refused, as by the format's own library.
Expected<std::vector<StoredTensor>> readSafeTensors(std::shared_ptr<const InputFile> file);

} // namespace rapt::huggingface
