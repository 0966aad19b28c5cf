//===- SourceView.h - Where the values of a source lie in its tensor -----------===//
//
// Slices, transposes and reshapes move no bytes: they compose to one view, in which each
// dim is a list of (size, stride), as layouts of CuTe are. Only a reshape across a cut that
// no strides express needs a second view, on the elements of the first.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Artifact/Source.h"

namespace rapt::artifact {

/// A part of a dim: `size` steps of `stride` elements.
struct Steps {
  int64_t size, stride;
};
/// A dim, its parts from the outermost on; none of size 1.
using StridedDim = std::vector<Steps>;

/// Elements from the dim's first to its element `index`.
inline int64_t offsetIn(const StridedDim &dim, int64_t index) {
  int64_t offset = 0;
  for (size_t i = dim.size(); i-- > 1;) {
    offset += index % dim[i].size * dim[i].stride;
    index /= dim[i].size;
  }
  return dim.empty() ? 0 : offset + index * dim[0].stride;
}

/// A tensor's elements by indices, each dim with its strides.
struct StridedView {
  int64_t offset = 0;
  Shape shape;
  std::vector<StridedDim> dims;

  /// All elements in row-major order.
  static StridedView dense(Shape shape);
  /// The view of `transform`; false where strides cannot express it. The shape must fit.
  bool apply(const Transform &transform);
};

/// The elements of a source before values change: a matrix, whose columns are the last dim.
class SourceView {
public:
  /// Fails where a transform does not fit the shape before it.
  static Expected<SourceView> create(const Source &source);

  const Shape &getShape() const { return shape; }
  /// Adds a dim of one element, before dim `dim`.
  void addDim(int64_t dim);
  int64_t getRows() const { return rowCount; }
  int64_t getColumns() const { return columnCount; }

  /// Whether one view is enough, so that an element is at base + offsetIn(rows, r) + offsetIn(columns, c).
  bool isStrided() const { return inner.empty(); }
  int64_t getBase() const { return outer.offset; }
  const StridedDim &rows() const { return rowDim; }
  const StridedDim &columns() const { return columnDim; }

  /// The element of the tensor that (row, column) is, however many views there are.
  int64_t elementAt(int64_t row, int64_t column) const;

private:
  void findMatrix();

  Shape shape;
  StridedView outer;              ///< what indices are looked up in first
  std::vector<StridedView> inner; ///< then in these from the last on, by the number of the element
  StridedDim rowDim, columnDim;   ///< of `outer`, as a matrix
  int64_t rowCount = 1, columnCount = 1;
};

} // namespace rapt::artifact
