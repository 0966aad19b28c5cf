//===- QuantizedWriter.h - Bytes of one quantized parameter --------------------===//
//
// Takes panels of f32 from a ParameterWriter and writes groups of integers. Like it,
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
  QuantizedWriter(std::unique_ptr<Parameter> plain, ParameterWriter floats, const Parameter &parameter);
  Status writeUnit(int64_t layer, int64_t unit, const float *panel, uint64_t begin, std::span<std::byte> target,
                   QuantizationError &error) const;

  std::unique_ptr<Parameter> plain; ///< the same in f32 panels
  ParameterWriter floats;
  Quantization how;
  std::string name;
  int64_t rows, groups, groupRows; ///< of a panel, packed and in f32; groups of a panel; rows of a group
  uint64_t groupBytes;
};

} // namespace rapt::artifact
