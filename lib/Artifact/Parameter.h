//===- Parameter.h - A parameter as the weight packer writes it ---------------===//
//
// The compiler decides names, layouts and offsets; the packer only follows. This
// struct is the whole interface between the IR (attn.parameter) and the packer,
// free of MLIR so that packing can be tested alone.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Quantization.h"
#include "lib/Artifact/Source.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rapt::artifact {

/// How a parameter is laid out in the weight file as [rows, columns]: the last dim is the columns, those before are the
/// rows. A single element is not padded.
/// Columns come in groups of `columnGroup`, each padded with zeros to a multiple of 32; rows in groups of `rowGroup`,
/// each padded with zeros to a multiple of 32 (without row groups the rows are padded to a multiple of k). 0 means one
/// group: the whole extent.
struct Layout {
  enum Kind : uint8_t {
    RowMajor, ///< [rows][columnsPadded]; of a quantized parameter [rows][groups] of codes along the row, a scale and a
              ///< zero
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
  DType storage = DType::F32;             ///< F32 of a quantized parameter
  Shape shape;                            ///< logical, of one layer
  int64_t layers = 1;                     ///< layers stacked; 1 when not stacked
  int64_t firstLayer = 0;                 ///< the number that {layer} takes first
  std::vector<int64_t> layerNumbers = {}; ///< those that it takes, where they do not follow one another
  std::vector<Source> sources;            ///< joined in order
  Join join = {};                         ///< dims of one layer; of several sources
  Layout layout;
  Quantization quantization = {}; ///< of a matrix, along the rows of panels or the columns of a row
  bool readByRows = false;        ///< a table of which a step reads few rows; the file's bytes do not depend on it
  // Decided by the compiler, checked by the packer:
  uint64_t offset = 0;      ///< bytes from the start of the "weights" section, multiple of 64
  uint64_t layerStride = 0; ///< bytes from one layer to the next, multiple of 64

  /// What {layer} is of the layer that is number `place`.
  int64_t layerNumber(int64_t place) const { return layerNumbers.empty() ? firstLayer + place : layerNumbers[place]; }
};

/// Names of all source tensors of `parameters`, layers expanded, each once, sorted.
std::vector<std::string> sourceTensors(const std::vector<Parameter> &parameters);

/// Extents after padding, and bytes of one layer.
struct PackedExtents {
  int64_t rows, columns;
  uint64_t bytes;
};
PackedExtents packedExtents(const Parameter &parameter);

/// Assigns adjacent offsets to the parameters: sets `offset` and `layerStride` (both multiples of 64; a stacked
/// parameter's layers are adjacent). Returns the bytes of the whole section. Numbers too large to represent
/// saturate, which the packer refuses.
uint64_t assignOffsets(std::vector<Parameter> &parameters);

} // namespace rapt::artifact
