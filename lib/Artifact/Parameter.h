//===- Parameter.h - A parameter as the weight packer writes it ---------------===//
//
// The compiler decides names, layouts and offsets; the packer only follows. This
// struct is the whole interface between the IR (attn.parameter) and the packer,
// free of MLIR so that packing can be tested alone.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Quantization.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::artifact {

enum class DType : uint8_t { F32, BF16, F16 };
inline uint64_t sizeOf(DType t) { return t == DType::F32 ? 4 : 2; }

/// One tensor of the checkpoint that becomes (part of) a parameter.
struct Source {
  /// Name in the checkpoint; "{layer}" stands for firstLayer + i of a stacked parameter.
  std::string name;
  /// The checkpoint stores [N, K] (nn.Linear) where the parameter is [K, N].
  bool transpose = false;
  /// Rows [beginRow, endRow) of the checkpoint's tensor.
  int64_t beginRow = 0, endRow = allRows;

  static constexpr int64_t allRows = -1;
};

/// Name of the source's tensor in layer number `layer`.
std::string sourceName(const Source &source, int64_t layer);

/// How a parameter's logical [rows, columns] (or [columns]) is laid out in the weight file.
/// Columns come in groups of `columnGroup`, each padded with zeros to a multiple of 32; rows in groups of `rowGroup`,
/// each padded with zeros to a multiple of 32 (without row groups the rows are padded to a multiple of k). 0 means one
/// group: the whole extent.
struct Layout {
  enum Kind : uint8_t {
    RowMajor, ///< [rows][columnsPadded]
    Panels,   ///< [columnsPadded/32][rowsPadded/k][32][k], k = 1 (f32) or 2 (bf16, f16)
              ///< of a quantized parameter [columnsPadded/32][groups] of codes, scales and zeros, k = 4 (8 bits) or 8
  };
  Kind kind = RowMajor;
  int64_t columnGroup = 0;
  int64_t rowGroup = 0; ///< each row group is padded to a multiple of 32 when set
  int64_t k = 1;
};

/// One parameter, possibly stacked over layers.
struct Parameter {
  std::string name;
  DType storage = DType::F32;  ///< F32 of a quantized parameter
  std::vector<int64_t> shape;  ///< logical, of one layer: [rows, columns] or [columns]
  int64_t layers = 1;          ///< layers stacked; 1 when not stacked
  int64_t firstLayer = 0;      ///< the number that {layer} takes first
  std::vector<Source> sources; ///< concatenated along columns, in order
  Layout layout;
  Quantization quantization = {}; ///< of a matrix in panels
  // Decided by the compiler, checked by the packer:
  uint64_t offset = 0;      ///< bytes from the start of the "weights" section, multiple of 64
  uint64_t layerStride = 0; ///< bytes from one layer to the next, multiple of 64
};

/// The shape of a tensor as a source of a matrix with `rows` rows, or `rows` columns before it is transposed: a tensor
/// of more than two dims (the kernel of a convolution) counts as a matrix, cut between two dims where that fits. Others
/// keep their shape.
std::vector<int64_t> matrixShape(const std::vector<int64_t> &shape, int64_t rows, bool transpose);
/// The shape of a tensor as a source of a vector: a matrix of one row counts as its row.
std::vector<int64_t> vectorShape(const std::vector<int64_t> &shape);

/// Names of all source tensors of `parameters`, layers expanded, each once, sorted.
std::vector<std::string> sourceTensors(const std::vector<Parameter> &parameters);

/// Extents after padding, and bytes of one layer. Shapes are at most rank 2; asserts on rank 0 or > 2.
struct PackedExtents {
  int64_t rows, columns;
  uint64_t bytes;
};
PackedExtents packedExtents(const Parameter &parameter);

/// Places the parameters one after another: sets `offset` and `layerStride` (both multiples of 64; a stacked
/// parameter's layers lie one after another). Returns the bytes of the whole section. Numbers too large to represent
/// saturate, which the packer refuses.
uint64_t assignOffsets(std::vector<Parameter> &parameters);

} // namespace rapt::artifact
