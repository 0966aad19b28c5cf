//===- QuantizedWriter.h - Bytes of one quantized parameter --------------------===//
//
// Takes panels or rows of f32 from a ParameterWriter and writes groups of integers. Like it,
// any byte range at a time; a group that a window cuts is made by both its windows.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/ParameterWriter.h"

namespace rapt::artifact {

class QuantizedWriter {
public:
  /// Checks the parameter and all its source tensors. Errors name parameter, tensor, and the expected and actual shape.
  static Expected<QuantizedWriter> create(const Parameter &parameter, const TensorReader &reader);

  /// Writes the bytes [begin, begin + target.size()) of one layer and adds the error of the groups that begin there to
  /// `error`. A tensor with NaN or infinity is an error that names it. Safe from several threads, each with its own
  /// scratch.
  Status write(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch,
               QuantizationError &error) const;

private:
  struct Rows; // some rows of a row-major matrix
  QuantizedWriter(std::unique_ptr<Parameter> plain, ParameterWriter floats, const Parameter &parameter);
  Status writePanels(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch,
                     QuantizationError &error) const;
  Status writeUnit(int64_t layer, int64_t unit, const float *panel, uint64_t begin, std::span<std::byte> target,
                   QuantizedGroup &group, QuantizationError &error) const;
  Status writeRows(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch,
                   QuantizationError &error) const;
  Status writeRowGroups(int64_t layer, Rows block, uint64_t begin, std::span<std::byte> target,
                        QuantizationError &error) const;
  Error notFinite(int64_t layer, int64_t row, int64_t column) const;

  std::unique_ptr<Parameter> plain; ///< the same in f32
  ParameterWriter floats;
  Quantization how;
  std::string name;
  bool isByRows;
  /// Elements of a panel's column, or of a row, along which groups lie; their groups, and elements of a group.
  int64_t depth, groups, groupDepth;
  uint64_t groupBytes;
};

} // namespace rapt::artifact
