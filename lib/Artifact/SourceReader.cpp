//===- SourceReader.cpp - Values of one source, as its transforms make them ----===//
#include "lib/Artifact/SourceReader.h"
#include "lib/Artifact/Conversion.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

namespace rapt::artifact {

namespace {

/// Elements of a source without runs that are looked up at a time.
constexpr int64_t elementsTogether = int64_t(1) << 16;

/// How many neighbors in the tensor follow each other along a dim; 1 of a dim of one element.
int64_t runOf(const StridedDim &dim) { return dim.empty() ? 1 : dim.back().stride == 1 ? dim.back().size : 0; }

/// Changes each value in binary32; NaN stays what it is. False when a finite value became infinite.
template <typename Change> bool changeAll(float *values, size_t count, Change change) {
  bool fine = true;
  for (size_t i = 0; i < count; ++i) {
    const float value = values[i], changed = change(value);
    fine &= std::isfinite(changed) || !std::isfinite(value);
    values[i] = std::isnan(value) ? value : changed;
  }
  return fine;
}

/// Applies a scale or a sum; nothing where the transform is another.
std::optional<bool> computeAll(const Transform &transform, float *values, size_t count) {
  if (const auto *step = std::get_if<Scale>(&transform))
    return changeAll(values, count, [&](float value) { return value * step->factor; });
  if (const auto *step = std::get_if<Add>(&transform))
    return changeAll(values, count, [&](float value) { return value + step->summand; });
  return std::nullopt;
}

} // namespace

std::byte *Scratch::reserve(Slot slot, size_t bytes) {
  if (capacity[slot] < bytes) {
    memory[slot] = std::make_unique_for_overwrite<std::byte[]>(bytes);
    capacity[slot] = bytes;
  }
  return memory[slot].get();
}

Expected<SourceReader> SourceReader::create(const Source &source, DType storage) {
  RAPT_ASSIGN_OR_RETURN(SourceView view, SourceView::create(source));
  SourceReader reader;
  reader.view = std::move(view);
  reader.storage = storage;
  for (const Transform &transform : source.transforms)
    if (std::holds_alternative<Cast>(transform) || std::holds_alternative<Scale>(transform) ||
        std::holds_alternative<Add>(transform))
      reader.values.push_back(transform);
  reader.choosePath();
  return reader;
}

void SourceReader::addDim(int64_t dim) {
  view.addDim(dim);
  choosePath();
}

void SourceReader::choosePath() {
  const int64_t inRow = runOf(view.columns()), inColumn = runOf(view.rows());
  hasRuns = view.isStrided() && (inRow > 0 || inColumn > 0);
  transposed = hasRuns && inColumn > inRow;
}

Status SourceReader::readRuns(const TensorReader &tensors, const std::string &name, const Rectangle &part,
                              uint64_t size, std::byte *out) const {
  const StridedDim &outer = transposed ? view.columns() : view.rows();
  const StridedDim &inner = transposed ? view.rows() : view.columns();
  const Range outside = transposed ? part.columns : part.rows, inside = transposed ? part.rows : part.columns;
  const int64_t longest = runOf(inner);
  int64_t first = 0, count = 0; // of the run that is not read yet
  auto read = [&]() -> Status {
    Status status =
        count ? tensors.read(name, uint64_t(first) * size, {out, size_t(uint64_t(count) * size)}) : Status();
    out += uint64_t(count) * size;
    return status;
  };
  for (int64_t i = outside.begin; i < outside.end; ++i) {
    const int64_t base = view.getBase() + offsetIn(outer, i);
    for (int64_t j = inside.begin, more; j < inside.end; j += more) {
      more = std::min(inside.end - j, longest - j % longest);
      const int64_t element = base + offsetIn(inner, j);
      if (element != first + count) {
        RAPT_RETURN_IF_ERROR(read());
        first = element;
        count = 0;
      }
      count += more;
    }
  }
  return read();
}

Status SourceReader::readElements(const TensorReader &tensors, const std::string &name, const Rectangle &part,
                                  uint64_t size, Scratch &scratch, std::byte *out) const {
  const int64_t width = part.columns.size(), all = part.rows.size() * width;
  for (int64_t begin = 0; begin < all; begin += elementsTogether) {
    const int64_t count = std::min(all - begin, elementsTogether);
    auto *elements = reinterpret_cast<int64_t *>(scratch.reserve(Scratch::Elements, elementsTogether * 8));
    for (int64_t i = 0; i < count; ++i)
      elements[i] = view.elementAt(part.rows.begin + (begin + i) / width, part.columns.begin + (begin + i) % width);
    const auto [least, most] = std::minmax_element(elements, elements + count);
    const int64_t first = *least, span = *most - first + 1;
    if (span <= 4 * count) { // all of them at once
      std::byte *values = scratch.reserve(Scratch::Span, size_t(span) * size);
      RAPT_RETURN_IF_ERROR(tensors.read(name, uint64_t(first) * size, {values, size_t(span) * size}));
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(out + i * size, values + (elements[i] - first) * size, size);
    } else {
      for (int64_t i = 0, run; i < count; i += run) {
        for (run = 1; i + run < count && elements[i + run] == elements[i] + run;)
          ++run;
        RAPT_RETURN_IF_ERROR(tensors.read(name, uint64_t(elements[i]) * size, {out + i * size, size_t(run) * size}));
      }
    }
    out += count * size;
  }
  return {};
}

/// From what the tensor holds to what the parameter stores.
Expected<const std::byte *> SourceReader::convertValues(const std::string &name, const std::byte *raw, DType type,
                                                        size_t count, Scratch &scratch, std::byte *direct) const {
  auto tooLarge = [&](const std::string &what) {
    return Error{"tensor '" + name + "' holds a finite value too large for " + what};
  };
  if (!values.empty()) {
    std::byte *floats = scratch.reserve(Scratch::Values, count * sizeOf(DType::F32));
    convert(raw, type, floats, DType::F32, count);
    for (const Transform &transform : values) {
      if (std::optional<bool> fine = computeAll(transform, reinterpret_cast<float *>(floats), count)) {
        if (!*fine)
          return tooLarge(textOf({transform}));
        continue;
      }
      const DType to = std::get<Cast>(transform).type;
      std::byte *narrow = scratch.reserve(Scratch::Converted, count * sizeOf(to));
      if (!convert(floats, DType::F32, narrow, to, count))
        return tooLarge(textOf({transform}));
      convert(narrow, to, floats, DType::F32, count);
    }
    raw = floats;
    type = DType::F32;
  }
  std::byte *converted = direct ? direct : scratch.reserve(Scratch::Converted, count * sizeOf(storage));
  if (!convert(raw, type, converted, storage, count))
    return tooLarge(std::string(nameOf(storage)) + "; compile with another --dtype");
  return converted;
}

Expected<Rectangle> SourceReader::load(const TensorReader &tensors, const std::string &name, Range rows, Range columns,
                                       Scratch &scratch, std::byte *direct) const {
  Rectangle part{scratch.reserve(Scratch::Raw, 0), rows, columns, transposed};
  const size_t count = size_t(rows.size() * columns.size());
  if (count == 0)
    return part;
  const DType type = tensors.find(name)->dtype;
  const bool isKept = type == storage && values.empty();
  if (transposed)
    direct = nullptr;
  std::byte *raw = isKept && direct ? direct : scratch.reserve(Scratch::Raw, count * sizeOf(type));
  RAPT_RETURN_IF_ERROR(hasRuns ? readRuns(tensors, name, part, sizeOf(type), raw)
                               : readElements(tensors, name, part, sizeOf(type), scratch, raw));
  part.data = raw;
  if (isKept)
    return part;
  RAPT_ASSIGN_OR_RETURN(part.data, convertValues(name, raw, type, count, scratch, direct));
  return part;
}

} // namespace rapt::artifact
