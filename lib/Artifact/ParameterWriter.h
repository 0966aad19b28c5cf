//===- ParameterWriter.h - Bytes of one parameter in its packed layout ---------===//
//
// Produces any byte range of a packed parameter straight from the source tensors, so
// that the weight file can be written in windows of bounded size, in any order.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/SourceReader.h"

namespace rapt::artifact {

/// One parameter whose sources have been looked up and whose shapes agree.
class ParameterWriter {
public:
  /// Checks the parameter and all its source tensors. Errors name parameter, tensor, and the expected and actual shape.
  static Expected<ParameterWriter> create(const Parameter &parameter, const TensorReader &reader);

  /// Writes the packed bytes [begin, begin + target.size()) of one layer. Both ends are multiples of 64 or the
  /// layer's end. Padding becomes zero. Safe from several threads, each with its own scratch.
  Status write(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch) const;

  /// Name of the tensor that gives the element at a padded row and column of a layer.
  std::string tensorOf(int64_t layer, int64_t row, int64_t column) const;

  const Parameter &getParameter() const { return *parameter; }
  const PackedExtents &getExtents() const { return extents; }
  /// Whether neighbors of a column, not of a row, are neighbors in all source tensors.
  bool readsByColumns() const;
  /// What is read and arranged at once where the order allows it, so that a cache holds it.
  static constexpr uint64_t cachedBytes = uint64_t(256) << 10;

private:
  struct Block; // a rectangle of padded rows and columns

  ParameterWriter(const Parameter &parameter, const TensorReader &reader);
  Status check();
  Status checkSources();
  Status checkLayer(int64_t layer);
  Status writePanelUnits(int64_t layer, uint64_t begin, uint64_t end, std::byte *target, Scratch &scratch) const;
  Status writePanels(int64_t layer, const Block &block, std::byte *target, Scratch &scratch) const;
  Status writeRowMajor(int64_t layer, uint64_t begin, uint64_t end, std::byte *target, Scratch &scratch) const;
  Status writeRows(int64_t layer, const Block &block, std::byte *target, Scratch &scratch) const;
  Expected<Rectangle> load(int64_t layer, size_t band, const Block &block, Scratch &scratch, std::byte *direct) const;
  Expected<Rectangle> joinRows(int64_t layer, Range rowRange, Range columnRange, Scratch &scratch,
                               std::byte *direct) const;
  std::string tensorName(int64_t layer, size_t source) const;
  struct Axis;
  Axis rowAxis() const;
  Axis columnAxis() const;
  void arrangePanel(const Rectangle &rectangle, const Block &block, int64_t panel, std::byte *target) const;

  const Parameter *parameter;
  const TensorReader *reader;
  PackedExtents extents;
  int64_t rows = 1, columns = 0; ///< logical
  std::vector<SourceReader> parts;
  /// A band is the columns of one source, or all of them where sources are joined along other dims.
  std::vector<int64_t> firstColumns; ///< logical column each band begins at; one more for the end
  std::vector<int64_t> firstIndices; ///< index each source begins at along the joined dim; one more for the end
  int64_t rowsBelow = 1;             ///< rows of one index of the joined dim, where that is not the last
};

} // namespace rapt::artifact
