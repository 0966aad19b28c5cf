//===- SourceView.cpp - Where the values of a source lie in its tensor ---------===//
#include "lib/Artifact/SourceView.h"
#include <algorithm>

namespace rapt::artifact {

namespace {

template <typename... Cases> struct Match : Cases... {
  using Cases::operator()...;
};

/// Adds steps inside of those that `dim` has: as one where together they are as regular.
void append(StridedDim &dim, Steps steps) {
  if (steps.size == 1)
    return;
  if (!dim.empty() && dim.back().stride == steps.size * steps.stride)
    dim.back() = {dim.back().size * steps.size, steps.stride};
  else
    dim.push_back(steps);
}

/// Indices begin to end - 1 of a dim; false where they are not as regular as the dim.
bool slice(StridedDim &dim, int64_t begin, int64_t end, int64_t &offset) {
  StridedDim result;
  for (size_t i = 0; i < dim.size(); ++i) {
    int64_t below = 1;
    for (size_t j = i + 1; j < dim.size(); ++j)
      below *= dim[j].size;
    if (begin % below == 0 && end % below == 0) {
      offset += begin / below * dim[i].stride;
      append(result, {(end - begin) / below, dim[i].stride});
      for (size_t j = i + 1; j < dim.size(); ++j)
        append(result, dim[j]);
      break;
    }
    if (begin / below != (end - 1) / below)
      return false;
    offset += begin / below * dim[i].stride;
    end -= begin / below * below;
    begin %= below;
  }
  dim = std::move(result);
  return true;
}

/// Cuts the steps of all dims anew, from the innermost on; false where an extent cuts a step in the middle.
bool reshape(std::vector<StridedDim> &dims, const Shape &shape) {
  StridedDim steps;
  for (const StridedDim &dim : dims)
    for (Steps step : dim)
      append(steps, step);
  std::vector<StridedDim> result(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    StridedDim taken; // the innermost first
    for (int64_t left = shape[i]; left > 1;) {
      Steps &last = steps.back();
      if (last.size % left != 0 && left % last.size != 0)
        return false;
      const int64_t size = std::min(last.size, left);
      taken.push_back({size, last.stride});
      left /= size;
      last = {last.size / size, last.stride * size};
      if (last.size == 1)
        steps.pop_back();
    }
    for (size_t j = taken.size(); j-- > 0;)
      append(result[i], taken[j]);
  }
  dims = std::move(result);
  return true;
}

} // namespace

StridedView StridedView::dense(Shape shape) {
  StridedView view;
  view.dims.resize(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    append(view.dims[i], {shape[i], stride});
  view.shape = std::move(shape);
  return view;
}

bool StridedView::apply(const Transform &transform) {
  return std::visit(Match{[&](const Slice &step) { return slice(dims[step.dim], step.begin, step.end, offset); },
                          [&](const Transpose &step) {
                            std::vector<StridedDim> result;
                            for (int64_t dim : step.order)
                              result.push_back(std::move(dims[dim]));
                            dims = std::move(result);
                            return true;
                          },
                          [&](const Reshape &step) { return reshape(dims, step.shape); },
                          [](const auto &) { return true; }},
                    transform);
}

Expected<SourceView> SourceView::create(const Source &source) {
  RAPT_RETURN_IF_ERROR(shapeOf(source));
  SourceView view;
  view.outer = StridedView::dense(source.shape);
  view.shape = source.shape;
  for (const Transform &transform : source.transforms) {
    Expected<Shape> after = shapeAfter(transform, view.shape);
    StridedView next = view.outer;
    if (!next.apply(transform)) {
      view.inner.push_back(std::move(view.outer));
      next = StridedView::dense(view.shape);
      next.apply(transform);
    }
    view.outer = std::move(next);
    view.outer.shape = view.shape = std::move(*after);
  }
  view.findMatrix();
  return view;
}

void SourceView::addDim(int64_t dim) {
  shape.insert(shape.begin() + dim, 1);
  outer.dims.insert(outer.dims.begin() + dim, StridedDim());
  findMatrix();
}

void SourceView::findMatrix() {
  rowDim.clear();
  rowCount = 1;
  columnDim = shape.empty() ? StridedDim() : outer.dims.back();
  columnCount = shape.empty() ? 1 : shape.back();
  for (size_t i = 0; i + 1 < shape.size(); ++i) {
    for (Steps steps : outer.dims[i])
      append(rowDim, steps);
    rowCount *= shape[i];
  }
}

int64_t SourceView::elementAt(int64_t row, int64_t column) const {
  int64_t element = outer.offset + offsetIn(rowDim, row) + offsetIn(columnDim, column);
  for (size_t i = inner.size(); i-- > 0;) {
    int64_t next = inner[i].offset;
    for (size_t d = inner[i].dims.size(); d-- > 0;) {
      next += offsetIn(inner[i].dims[d], element % inner[i].shape[d]);
      element /= inner[i].shape[d];
    }
    element = next;
  }
  return element;
}

} // namespace rapt::artifact
