//===- TensorReader.h - Where the packer gets tensor bytes ---------------------===//
//
// The packer streams a model's tensors without knowing their file format: the
// safetensors reader and the random weights of a seed implement this.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/CodeBlock.h"
#include "lib/Artifact/Parameter.h"
#include "lib/Support/Expected.h"
#include <cstddef>
#include <span>
#include <string_view>

namespace rapt::artifact {

/// Element type and shape of a source tensor, row-major.
struct TensorInfo {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  const BlockSource *blocks = nullptr; ///< of a quantized matrix, whose numbers are read as f32
};

/// A set of named tensors in dense row-major order, little-endian.
class TensorReader {
public:
  virtual ~TensorReader() = default;

  /// The tensor's type and shape, or null when there is none of that name. The pointer lives as long as the reader.
  /// Only tensors whose dtype is one of DType need be found.
  virtual const TensorInfo *find(std::string_view name) const = 0;

  /// Fills `out` with the bytes [byteOffset, byteOffset + out.size()) of the tensor's data. Called from several threads
  /// at once. Offsets and sizes are multiples of the element size. A short read is an error that names file, tensor and
  /// numbers.
  virtual Status read(std::string_view name, uint64_t byteOffset, std::span<std::byte> out) const = 0;

  /// The same of the bytes of a quantized matrix's blocks, as its BlockSource reads them.
  virtual Status readBlocks(std::string_view name, uint64_t, std::span<std::byte>) const {
    return Error{"tensor '" + std::string(name) + "' has no blocks"};
  }
};

} // namespace rapt::artifact
