//===- SourceReader.h - Values of one source, as its transforms make them ------===//
//
// Reads any rectangle of the matrix that a source gives, straight from the checkpoint. Runs
// of neighboring elements are read at once; the transpose of a matrix stays transposed, for
// the writer to transpose while it arranges panels.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/SourceView.h"
#include "lib/Artifact/TensorReader.h"
#include <memory>

namespace rapt::artifact {

/// Memory one thread reuses between calls.
class Scratch {
public:
  enum Slot : uint8_t { Raw, Converted, Values, Elements, Span, Joined, Panels, slots };

  /// At least `bytes` of uninitialized memory; the previous content of the slot is lost.
  std::byte *reserve(Slot slot, size_t bytes);

private:
  std::unique_ptr<std::byte[]> memory[slots];
  size_t capacity[slots] = {};
};

/// Indices begin to end - 1.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// A rectangle of a matrix in the storage type, dense.
struct Rectangle {
  const std::byte *data;
  Range rows, columns;
  bool transposed;                                                            ///< data is [columns][rows]
  int64_t pitch() const { return transposed ? rows.size() : columns.size(); } ///< in elements
};

class SourceReader {
public:
  /// Fails where a transform does not fit the shape before it.
  static Expected<SourceReader> create(const Source &source, DType storage);

  /// Adds a dim of one element, before dim `dim`.
  void addDim(int64_t dim);
  const Shape &getShape() const { return view.getShape(); }
  int64_t getRows() const { return view.getRows(); }
  int64_t getColumns() const { return view.getColumns(); }
  /// Whether neighbors of a column, not of a row, are neighbors in the tensor.
  bool readsByColumns() const { return transposed; }

  /// Reads from tensor `name`, which has the source's shape. With `direct`, dense row-major values go there instead of
  /// into the scratch memory, where they are not transposed.
  Expected<Rectangle> load(const TensorReader &tensors, const std::string &name, Range rows, Range columns,
                           Scratch &scratch, std::byte *direct) const;

private:
  void choosePath();
  Status readRuns(const TensorReader &tensors, const std::string &name, const Rectangle &part, uint64_t size,
                  std::byte *out) const;
  Status readElements(const TensorReader &tensors, const std::string &name, const Rectangle &part, uint64_t size,
                      Scratch &scratch, std::byte *out) const;
  Expected<const std::byte *> convertValues(const std::string &name, const std::byte *raw, DType type, size_t count,
                                            Scratch &scratch, std::byte *direct) const;

  SourceView view;
  std::vector<Transform> values; ///< the transforms that change values
  DType storage;
  bool hasRuns = false, transposed = false; ///< neighbors of a row, or of a column, are neighbors in the tensor
};

} // namespace rapt::artifact
