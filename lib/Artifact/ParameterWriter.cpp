//===- ParameterWriter.cpp - Bytes of one parameter in its packed layout -------===//
#include "lib/Artifact/ParameterWriter.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Artifact/Transposition.h"
#include <algorithm>
#include <cstring>
#include <numeric>

namespace rapt::artifact {

namespace {

constexpr size_t wideUnitBytes = 4; // a unit is the k elements of one lane: one or two of 16 bits, or one of 32
constexpr size_t widePanelRowBytes = panelWidth * wideUnitBytes; // the longest row of units over all lanes

size_t unitBytesOf(const Parameter &parameter) { return parameter.layout.k * sizeOf(parameter.storage); }
size_t panelRowBytesOf(const Parameter &parameter) { return panelWidth * unitBytesOf(parameter); }

/// How an axis is cut into padded groups.
struct Axis {
  int64_t extent, group, padded; // logical extent; logical and padded size of one group

  static Axis of(int64_t extent, int64_t group, int64_t paddedExtent) {
    if (group <= 0 || group >= extent)
      return {extent, extent, paddedExtent};
    return {extent, group, padToPanel(group)};
  }
  /// The first logical index at or after padded index `position`.
  int64_t logical(int64_t position) const {
    return std::min(extent, position / padded * group + std::min(position % padded, group));
  }
  /// Calls body(padded, logical, count) for each run in which both advance together within [begin, end).
  template <typename Body> void forRuns(int64_t begin, int64_t end, Body body) const {
    while (begin < end) {
      const int64_t groupEnd = std::min(end, (begin / padded + 1) * padded);
      const int64_t first = logical(begin), count = std::min(logical(groupEnd) - first, groupEnd - begin);
      if (count > 0)
        body(begin, first, count);
      begin = groupEnd;
    }
  }
};

std::string shapeText(const std::vector<int64_t> &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Copies `rowCount` rows of `bytes`; the fixed case is one panel row of f32.
void copyRows(const std::byte *source, size_t sourcePitch, std::byte *target, size_t targetPitch, int64_t rowCount,
              size_t bytes) {
  if (bytes == widePanelRowBytes)
    for (int64_t i = 0; i < rowCount; ++i)
      std::memcpy(target + i * targetPitch, source + i * sourcePitch, widePanelRowBytes);
  else
    for (int64_t i = 0; i < rowCount; ++i)
      std::memcpy(target + i * targetPitch, source + i * sourcePitch, bytes);
}

/// target[u][i] = (rows 2u, 2u + 1 of source)[i]; a missing last row leaves its half as it is.
void interleaveRows(const std::byte *source, size_t sourcePitch, std::byte *target, int64_t rowCount, int64_t lanes) {
  uint16_t even[panelWidth] = {}, odd[panelWidth] = {}, both[2 * panelWidth];
  for (int64_t row = 0; row + 1 < rowCount; row += 2) {
    std::memcpy(even, source + row * sourcePitch, lanes * 2);
    std::memcpy(odd, source + (row + 1) * sourcePitch, lanes * 2);
    for (int64_t i = 0; i < panelWidth; ++i) {
      both[2 * i] = even[i];
      both[2 * i + 1] = odd[i];
    }
    std::memcpy(target + row / 2 * widePanelRowBytes, both, lanes * wideUnitBytes);
  }
  if (rowCount % 2)
    for (int64_t i = 0; i < lanes; ++i)
      std::memcpy(target + rowCount / 2 * widePanelRowBytes + i * wideUnitBytes,
                  source + (rowCount - 1) * sourcePitch + i * 2, 2);
}

} // namespace

std::byte *Scratch::reserve(unsigned slot, size_t bytes) {
  if (capacity[slot] < bytes) {
    memory[slot] = std::make_unique_for_overwrite<std::byte[]>(bytes);
    capacity[slot] = bytes;
  }
  return memory[slot].get();
}

/// Padded rows [rowBegin, rowEnd) and columns [columnBegin, columnEnd).
struct ParameterWriter::Block {
  int64_t rowBegin, rowEnd, columnBegin, columnEnd;
};

/// The part of one source tensor that a block needs, in the storage type, dense.
struct ParameterWriter::Rectangle {
  const std::byte *data;
  int64_t rowBegin, rowEnd, columnBegin, columnEnd; ///< logical, columns counted over all sources
  bool transposed;                                  ///< data is [columns][rows]
  int64_t pitch() const { return transposed ? rowEnd - rowBegin : columnEnd - columnBegin; } ///< in elements
};

ParameterWriter::ParameterWriter(const Parameter &parameter, const TensorReader &reader)
    : parameter(&parameter), reader(&reader) {}

std::string ParameterWriter::tensorName(int64_t layer, size_t source) const {
  return sourceName(parameter->sources[source], parameter->firstLayer + layer);
}

std::string ParameterWriter::tensorOf(int64_t layer, int64_t column) const {
  const int64_t logical = Axis::of(columns, parameter->layout.columnGroup, extents.columns).logical(column);
  size_t source = 0;
  while (source + 1 < parameter->sources.size() && firstColumns[source + 1] <= logical)
    ++source;
  return tensorName(layer, source);
}

Expected<ParameterWriter> ParameterWriter::create(const Parameter &parameter, const TensorReader &reader) {
  ParameterWriter writer(parameter, reader);
  if (Status status = writer.check(); !status)
    return Error{"parameter '" + parameter.name + "': " + status.error().message};
  return writer;
}

Status ParameterWriter::check() {
  const std::vector<int64_t> &shape = parameter->shape;
  const Layout &layout = parameter->layout;
  if (shape.empty() || shape.size() > 2)
    return Error{"shape " + shapeText(shape) + " is neither a vector nor a matrix"};
  for (int64_t extent : shape)
    if (extent < 1 || extent > (int64_t(1) << 40))
      return Error{"shape " + shapeText(shape) + " has an extent below 1 or above 2^40"};
  if (parameter->layers < 1 || parameter->sources.empty())
    return Error{std::to_string(parameter->layers) + " layers of " + std::to_string(parameter->sources.size()) +
                 " sources hold nothing"};
  if (layout.kind == Layout::Panels && layout.k != 1 && unitBytesOf(*parameter) != wideUnitBytes)
    return Error{"panels of k = " + std::to_string(layout.k) + " do not fit " + nameOf(parameter->storage)};
  if (layout.kind == Layout::RowMajor && layout.k != 1)
    return Error{"row-major with k = " + std::to_string(layout.k)};
  if (layout.kind == Layout::Panels && shape.size() != 2)
    return Error{"panels of a vector"};
  extents = packedExtents(*parameter);
  if (extents.bytes > (uint64_t(1) << 50))
    return Error{"shape " + shapeText(shape) + " needs more than 2^50 bytes"};
  rows = shape.size() == 2 ? shape[0] : 1;
  columns = shape.back();
  for (int64_t layer = 0; layer < parameter->layers; ++layer)
    if (Status status = checkLayer(layer); !status)
      return status;
  return {};
}

Status ParameterWriter::checkLayer(int64_t layer) {
  std::vector<int64_t> begins = {0};
  for (size_t i = 0; i < parameter->sources.size(); ++i) {
    const Source &source = parameter->sources[i];
    const std::string name = tensorName(layer, i);
    const TensorInfo *info = reader->find(name);
    if (!info)
      return Error{"tensor '" + name + "' is missing"};
    const bool flip = source.transpose, isMatrix = parameter->shape.size() == 2;
    std::vector<int64_t> taken = info->shape;
    if (source.endRow != Source::allRows) {
      if (taken.empty() || source.beginRow < 0 || source.endRow <= source.beginRow || source.endRow > taken[0])
        return Error{"tensor '" + name + "' is " + shapeText(info->shape) + ", which has no rows " +
                     std::to_string(source.beginRow) + " to " + std::to_string(source.endRow)};
      taken[0] = source.endRow - source.beginRow;
    }
    const std::vector<int64_t> shape = isMatrix ? matrixShape(taken, rows, flip) : vectorShape(taken);
    if (shape.size() != parameter->shape.size() || (flip && !isMatrix) || (isMatrix && shape[flip ? 1 : 0] != rows))
      return Error{"tensor '" + name + "' is " + shapeText(info->shape) + ", which gives no part of " +
                   shapeText(parameter->shape) + (flip ? " transposed" : "")};
    const int64_t own = shape[flip ? 0 : shape.size() - 1];
    if (own < 1 || own > columns - begins.back())
      return Error{"tensor '" + name + "' is " + shapeText(info->shape) + ": column " +
                   std::to_string(begins.back() + own) + " of " + std::to_string(columns)};
    begins.push_back(begins.back() + own);
  }
  if (begins.back() != columns)
    return Error{"the sources of layer " + std::to_string(parameter->firstLayer + layer) + " have " +
                 std::to_string(begins.back()) + " columns, the parameter has " + std::to_string(columns)};
  if (layer > 0 && begins != firstColumns)
    return Error{"the sources of layer " + std::to_string(parameter->firstLayer + layer) +
                 " are cut differently from the first layer's"};
  firstColumns = std::move(begins);
  return {};
}

Status ParameterWriter::write(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch) const {
  const uint64_t end = begin + target.size();
  if (parameter->layout.kind == Layout::RowMajor)
    return writeRowMajor(layer, begin, end, target.data(), scratch);
  const size_t panelRowBytes = panelRowBytesOf(*parameter);
  // A window may cut a panel row in half: that row is made whole beside the target.
  uint64_t from = (begin + panelRowBytes - 1) / panelRowBytes * panelRowBytes, to = end / panelRowBytes * panelRowBytes;
  std::byte row[widePanelRowBytes];
  if (from != begin) {
    const uint64_t rowBegin = from - panelRowBytes, stop = std::min(from, end);
    if (Status status = writePanelUnits(layer, rowBegin, from, row, scratch); !status)
      return status;
    std::memcpy(target.data(), row + (begin - rowBegin), stop - begin);
  }
  if (to != end && to >= begin) {
    if (Status status = writePanelUnits(layer, to, to + panelRowBytes, row, scratch); !status)
      return status;
    std::memcpy(target.data() + (to - begin), row, end - to);
  }
  if (from >= to)
    return {};
  return writePanelUnits(layer, from, to, target.data() + (from - begin), scratch);
}

/// `begin` and `end` are multiples of a panel row.
Status ParameterWriter::writePanelUnits(int64_t layer, uint64_t begin, uint64_t end, std::byte *target,
                                        Scratch &scratch) const {
  const size_t panelRowBytes = panelRowBytesOf(*parameter);
  const int64_t k = parameter->layout.k, rowsPerPanel = extents.rows / k;
  int64_t unit = begin / panelRowBytes;
  const int64_t last = end / panelRowBytes;
  while (unit < last) {
    const int64_t panel = unit / rowsPerPanel, row = unit % rowsPerPanel;
    const int64_t whole = row == 0 ? (last - unit) / rowsPerPanel : 0;
    const int64_t count = whole > 0 ? whole * rowsPerPanel : std::min(last - unit, rowsPerPanel - row);
    const int64_t panels = std::max<int64_t>(whole, 1), rowCount = whole > 0 ? rowsPerPanel : count;
    const Block block = {row * k, (row + rowCount) * k, panel * panelWidth, (panel + panels) * panelWidth};
    if (Status status = writePanels(layer, block, target, scratch); !status)
      return status;
    target += count * panelRowBytes;
    unit += count;
  }
  return {};
}

/// `block` is whole panels, or a range of rows of one panel; `target` receives them one after another.
Status ParameterWriter::writePanels(int64_t layer, const Block &block, std::byte *target, Scratch &scratch) const {
  const Axis rowAxis = Axis::of(rows, parameter->layout.rowGroup, extents.rows);
  const Axis columnAxis = Axis::of(columns, parameter->layout.columnGroup, extents.columns);
  const int64_t used = (rowAxis.logical(block.rowEnd) - rowAxis.logical(block.rowBegin)) *
                       (columnAxis.logical(block.columnEnd) - columnAxis.logical(block.columnBegin));
  const int64_t all = (block.rowEnd - block.rowBegin) * (block.columnEnd - block.columnBegin);
  if (used != all)
    std::memset(target, 0, all * sizeOf(parameter->storage));
  if (used == 0)
    return {};
  const size_t panelBytes = (block.rowEnd - block.rowBegin) / parameter->layout.k * panelRowBytesOf(*parameter);
  for (size_t source = 0; source < parameter->sources.size(); ++source) {
    Expected<Rectangle> rectangle = load(layer, source, block, scratch, nullptr);
    if (!rectangle)
      return rectangle.error();
    for (int64_t panel = block.columnBegin; panel < block.columnEnd; panel += panelWidth)
      arrangePanel(*rectangle, block, panel, target + (panel - block.columnBegin) / panelWidth * panelBytes);
  }
  return {};
}

/// Writes what `rectangle` gives to the panel whose first padded column is `panel`.
void ParameterWriter::arrangePanel(const Rectangle &rectangle, const Block &block, int64_t panel,
                                   std::byte *target) const {
  const Axis rowAxis = Axis::of(rows, parameter->layout.rowGroup, extents.rows);
  const Axis columnAxis = Axis::of(columns, parameter->layout.columnGroup, extents.columns);
  const int64_t k = parameter->layout.k, element = sizeOf(parameter->storage);
  const int64_t panelFirst = columnAxis.logical(panel), panelLast = columnAxis.logical(panel + panelWidth);
  const int64_t first = std::max(panelFirst, rectangle.columnBegin), last = std::min(panelLast, rectangle.columnEnd);
  if (first >= last)
    return;
  const int64_t lanes = last - first, pitch = rectangle.pitch() * element;
  const size_t unitBytes = unitBytesOf(*parameter), panelRowBytes = panelRowBytesOf(*parameter);
  std::byte *lane = target + (first - panelFirst) * unitBytes;
  rowAxis.forRuns(block.rowBegin, block.rowEnd, [&](int64_t padded, int64_t logical, int64_t count) {
    const int64_t row = logical - rectangle.rowBegin, column = first - rectangle.columnBegin;
    std::byte *out = lane + (padded - block.rowBegin) / k * panelRowBytes;
    if (!rectangle.transposed) {
      const std::byte *in = rectangle.data + row * pitch + column * element;
      if (k == 1)
        copyRows(in, pitch, out, panelRowBytes, count, lanes * unitBytes);
      else
        interleaveRows(in, pitch, out, count, lanes);
      return;
    }
    const std::byte *in = rectangle.data + column * pitch + row * element;
    transpose(in, pitch, out, panelRowBytes, lanes, count / k, unitBytes);
    if (count % k) // the last row stands alone: the other half of its unit is padding
      for (int64_t i = 0; i < lanes; ++i)
        std::memcpy(out + count / k * panelRowBytes + i * unitBytes, in + i * pitch + (count - 1) * element, element);
  });
}

/// `begin` and `end` are bytes of the padded matrix.
Status ParameterWriter::writeRowMajor(int64_t layer, uint64_t begin, uint64_t end, std::byte *target,
                                      Scratch &scratch) const {
  const int64_t element = sizeOf(parameter->storage), width = extents.columns;
  int64_t position = begin / element;
  const int64_t last = end / element;
  while (position < last) {
    const int64_t row = position / width, column = position % width;
    const int64_t whole = column == 0 ? (last - position) / width : 0;
    const int64_t count = whole > 0 ? whole * width : std::min(last - position, width - column);
    const Block block = {row, row + std::max<int64_t>(whole, 1), column, whole > 0 ? width : column + count};
    if (Status status = writeRows(layer, block, target, scratch); !status)
      return status;
    target += count * element;
    position += count;
  }
  return {};
}

/// `block` is whole rows, or a range of columns of one row; `target` receives it densely.
Status ParameterWriter::writeRows(int64_t layer, const Block &block, std::byte *target, Scratch &scratch) const {
  const Axis rowAxis = Axis::of(rows, parameter->layout.rowGroup, extents.rows);
  const Axis columnAxis = Axis::of(columns, parameter->layout.columnGroup, extents.columns);
  const int64_t element = sizeOf(parameter->storage), width = block.columnEnd - block.columnBegin;
  const int64_t used = (rowAxis.logical(block.rowEnd) - rowAxis.logical(block.rowBegin)) *
                       (columnAxis.logical(block.columnEnd) - columnAxis.logical(block.columnBegin));
  const int64_t all = (block.rowEnd - block.rowBegin) * width;
  if (used != all)
    std::memset(target, 0, all * element);
  for (size_t source = 0; source < parameter->sources.size() && used != 0; ++source) {
    const bool direct = used == all && parameter->sources.size() == 1;
    Expected<Rectangle> rectangle = load(layer, source, block, scratch, direct ? target : nullptr);
    if (!rectangle)
      return rectangle.error();
    if (rectangle->data == target)
      return {};
    const int64_t pitch = rectangle->pitch() * element;
    rowAxis.forRuns(block.rowBegin, block.rowEnd, [&](int64_t paddedRow, int64_t row, int64_t rowCount) {
      columnAxis.forRuns(block.columnBegin, block.columnEnd, [&](int64_t paddedColumn, int64_t column, int64_t count) {
        const int64_t first = std::max(column, rectangle->columnBegin);
        const int64_t lanes = std::min(column + count, rectangle->columnEnd) - first;
        if (lanes <= 0)
          return;
        const int64_t inRow = row - rectangle->rowBegin, inColumn = first - rectangle->columnBegin;
        std::byte *out =
            target +
            ((paddedRow - block.rowBegin) * width + paddedColumn - block.columnBegin + (first - column)) * element;
        if (rectangle->transposed)
          transpose(rectangle->data + inColumn * pitch + inRow * element, pitch, out, width * element, lanes, rowCount,
                    element);
        else
          copyRows(rectangle->data + inRow * pitch + inColumn * element, pitch, out, width * element, rowCount,
                   lanes * element);
      });
    });
  }
  return {};
}

/// Reads what `block` needs of one source and converts it to the storage type. With `direct`, dense row-major values
/// go there instead of into the scratch memory.
Expected<ParameterWriter::Rectangle> ParameterWriter::load(int64_t layer, size_t source, const Block &block,
                                                           Scratch &scratch, std::byte *direct) const {
  const Axis rowAxis = Axis::of(rows, parameter->layout.rowGroup, extents.rows);
  const Axis columnAxis = Axis::of(columns, parameter->layout.columnGroup, extents.columns);
  Rectangle r;
  r.transposed = parameter->sources[source].transpose;
  r.rowBegin = rowAxis.logical(block.rowBegin);
  r.rowEnd = rowAxis.logical(block.rowEnd);
  r.columnBegin = std::max(columnAxis.logical(block.columnBegin), firstColumns[source]);
  r.columnEnd = std::max(r.columnBegin, std::min(columnAxis.logical(block.columnEnd), firstColumns[source + 1]));
  r.data = scratch.reserve(0, 0);
  const int64_t rowCount = r.rowEnd - r.rowBegin, columnCount = r.columnEnd - r.columnBegin;
  if (rowCount == 0 || columnCount == 0)
    return r;

  const std::string name = tensorName(layer, source);
  const auto &[type, shape] = *reader->find(name);
  const int64_t element = sizeOf(type), count = rowCount * columnCount;
  // The elements before the rows that the source takes.
  const int64_t before =
      std::accumulate(shape.begin() + 1, shape.end(), parameter->sources[source].beginRow, std::multiplies<>());
  const int64_t ownColumns = firstColumns[source + 1] - firstColumns[source];
  const int64_t outerBegin = r.transposed ? r.columnBegin - firstColumns[source] : r.rowBegin;
  const int64_t innerBegin = r.transposed ? r.rowBegin : r.columnBegin - firstColumns[source];
  const int64_t innerExtent = r.transposed ? rows : ownColumns;
  int64_t outerCount = r.transposed ? columnCount : rowCount, innerCount = count / outerCount;
  if (innerCount == innerExtent) { // neighboring rows: one read
    innerCount = count;
    outerCount = 1;
  }
  const bool same = type == parameter->storage, useDirect = direct && !r.transposed;
  std::byte *raw = same && useDirect ? direct : scratch.reserve(0, count * element);
  for (int64_t i = 0; i < outerCount; ++i) {
    const uint64_t offset = uint64_t(before + (outerBegin + i) * innerExtent + innerBegin) * element;
    Status status = reader->read(name, offset, {raw + i * innerCount * element, size_t(innerCount * element)});
    if (!status)
      return status.error();
  }
  r.data = raw;
  if (same)
    return r;
  std::byte *converted = useDirect ? direct : scratch.reserve(1, count * sizeOf(parameter->storage));
  if (!convert(raw, type, converted, parameter->storage, count))
    return Error{"tensor '" + name + "' holds a finite value too large for " + nameOf(parameter->storage) +
                 "; compile with another --dtype"};
  r.data = converted;
  return r;
}

} // namespace rapt::artifact
