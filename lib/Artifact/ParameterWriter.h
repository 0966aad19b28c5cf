//===- ParameterWriter.h - Bytes of one parameter in its packed layout ---------===//
//
// Produces any byte range of a packed parameter straight from the source tensors, so
// that the weight file can be written in windows of bounded size, in any order.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/TensorReader.h"
#include <memory>

namespace rapt::artifact {

/// Memory one thread reuses between calls.
class Scratch {
public:
  /// At least `bytes` of uninitialized memory; the previous content is lost. Three slots: raw values, converted ones,
  /// and panels that are then quantized.
  std::byte *reserve(unsigned slot, size_t bytes);

private:
  std::unique_ptr<std::byte[]> memory[3];
  size_t capacity[3] = {0, 0, 0};
};

/// One parameter whose sources have been looked up and whose shapes agree.
class ParameterWriter {
public:
  /// Checks the parameter and all its source tensors. Errors name parameter, tensor, and the expected and actual shape.
  static Expected<ParameterWriter> create(const Parameter &parameter, const TensorReader &reader);

  /// Writes the packed bytes [begin, begin + target.size()) of one layer. Both ends are multiples of 64 or the
  /// layer's end. Padding becomes zero. Safe from several threads, each with its own scratch.
  Status write(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch) const;

  /// Name of the tensor that gives padded column `column` of a layer.
  std::string tensorOf(int64_t layer, int64_t column) const;

  const Parameter &getParameter() const { return *parameter; }
  const PackedExtents &getExtents() const { return extents; }

private:
  struct Block; // a rectangle of padded rows and columns
  struct Rectangle;

  ParameterWriter(const Parameter &parameter, const TensorReader &reader);
  Status check();
  Status checkLayer(int64_t layer);
  Status writePanelUnits(int64_t layer, uint64_t begin, uint64_t end, std::byte *target, Scratch &scratch) const;
  Status writePanels(int64_t layer, const Block &block, std::byte *target, Scratch &scratch) const;
  Status writeRowMajor(int64_t layer, uint64_t begin, uint64_t end, std::byte *target, Scratch &scratch) const;
  Status writeRows(int64_t layer, const Block &block, std::byte *target, Scratch &scratch) const;
  Expected<Rectangle> load(int64_t layer, size_t source, const Block &block, Scratch &scratch, std::byte *direct) const;
  std::string tensorName(int64_t layer, size_t source) const;
  void arrangePanel(const Rectangle &rectangle, const Block &block, int64_t panel, std::byte *target) const;

  const Parameter *parameter;
  const TensorReader *reader;
  PackedExtents extents;
  int64_t rows = 1, columns = 0;     ///< logical
  std::vector<int64_t> firstColumns; ///< logical column each source begins at; one more for the end
};

} // namespace rapt::artifact
