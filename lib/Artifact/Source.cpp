//===- Source.cpp - Tensors of a checkpoint that become parameters -------------===//
#include "lib/Artifact/Source.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Support/CheckedMath.h"
#include <algorithm>
#include <cstdio>

namespace rapt::artifact {

static std::string joined(const std::vector<int64_t> &numbers, const char *between) {
  std::string text;
  for (size_t i = 0; i < numbers.size(); ++i)
    text += (i ? between : "") + std::to_string(numbers[i]);
  return text;
}

std::string sourceName(const Source &source, int64_t layer) {
  std::string name = source.name;
  const std::string mark = "{layer}";
  for (size_t at = name.find(mark); at != std::string::npos; at = name.find(mark, at))
    name.replace(at, mark.size(), std::to_string(layer));
  return name;
}

std::string textOf(const Shape &shape) { return "[" + joined(shape, ", ") + "]"; }

static std::string textOf(const Transform &transform) {
  if (const auto *slice = std::get_if<Slice>(&transform))
    return "slice<dim = " + std::to_string(slice->dim) + ", " + std::to_string(slice->begin) + " to " +
           std::to_string(slice->end) + ">";
  if (const auto *transpose = std::get_if<Transpose>(&transform))
    return "transpose<" + joined(transpose->order, ", ") + ">";
  if (const auto *reshape = std::get_if<Reshape>(&transform))
    return "reshape<" + (reshape->shape.empty() ? "[]" : joined(reshape->shape, "x")) + ">";
  if (const auto *cast = std::get_if<Cast>(&transform))
    return "cast<" + std::string(nameOf(cast->type)) + ">";
  const auto *sum = std::get_if<Add>(&transform);
  char number[32];
  std::snprintf(number, sizeof number, "%.9g", double(sum ? sum->summand : std::get<Scale>(transform).factor));
  return (sum ? "add<" : "scale<") + std::string(number) + ">";
}

std::string textOf(const std::vector<Transform> &transforms) {
  std::string text;
  for (const Transform &transform : transforms)
    text += (text.empty() ? "" : ", ") + textOf(transform);
  return text;
}

Expected<Shape> shapeAfter(const Transform &transform, Shape shape) {
  const Error wrong{textOf({transform}) + " does not fit " + textOf(shape)};
  if (const auto *slice = std::get_if<Slice>(&transform)) {
    if (slice->dim < 0 || slice->dim >= int64_t(shape.size()) || slice->begin < 0 || slice->end <= slice->begin ||
        slice->end > shape[slice->dim])
      return wrong;
    shape[slice->dim] = slice->end - slice->begin;
  } else if (const auto *transpose = std::get_if<Transpose>(&transform)) {
    Shape result, sorted = transpose->order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i)
      if (sorted[i] != int64_t(i))
        return wrong;
    if (sorted.size() != shape.size())
      return wrong;
    for (int64_t dim : transpose->order)
      result.push_back(shape[dim]);
    return result;
  } else if (const auto *reshape = std::get_if<Reshape>(&transform)) {
    const std::optional<int64_t> count = checkedProduct<int64_t>(reshape->shape);
    if (!count || *count != checkedProduct<int64_t>(shape) || *count < 1)
      return wrong;
    return reshape->shape;
  }
  return shape;
}

Expected<Shape> shapeOf(const Source &source) {
  Expected<Shape> shape = source.shape;
  const std::optional<int64_t> count = checkedProduct<int64_t>(source.shape);
  if (!count || std::any_of(source.shape.begin(), source.shape.end(), [](int64_t extent) { return extent < 1; }))
    return Error{"a tensor of shape " + textOf(source.shape) + " holds nothing"};
  for (const Transform &transform : source.transforms)
    if (shape)
      shape = shapeAfter(transform, std::move(*shape));
  return shape;
}

} // namespace rapt::artifact
