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

/// How an axis is cut into padded groups.
struct ParameterWriter::Axis {
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

ParameterWriter::Axis ParameterWriter::rowAxis() const {
  return Axis::of(rows, parameter->layout.rowGroup, extents.rows);
}
ParameterWriter::Axis ParameterWriter::columnAxis() const {
  return Axis::of(columns, parameter->layout.columnGroup, extents.columns);
}

/// Padded rows [rowBegin, rowEnd) and columns [columnBegin, columnEnd).
struct ParameterWriter::Block {
  int64_t rowBegin, rowEnd, columnBegin, columnEnd;
};

ParameterWriter::ParameterWriter(const Parameter &parameter, const TensorReader &reader)
    : parameter(&parameter), reader(&reader) {}

std::string ParameterWriter::tensorName(int64_t layer, size_t source) const {
  return sourceName(parameter->sources[source], parameter->layerNumber(layer));
}

std::string ParameterWriter::tensorOf(int64_t layer, int64_t row, int64_t column) const {
  auto holding = [](const std::vector<int64_t> &begins, int64_t index) {
    return size_t(std::upper_bound(begins.begin(), begins.end() - 1, index) - begins.begin()) - 1;
  };
  if (firstColumns.size() > 2)
    return tensorName(layer, holding(firstColumns, columnAxis().logical(column)));
  return tensorName(layer, holding(firstIndices, rowAxis().logical(row) / rowsBelow % firstIndices.back()));
}

bool ParameterWriter::readsByColumns() const {
  return std::all_of(parts.begin(), parts.end(), [](const SourceReader &part) { return part.readsByColumns(); });
}

Expected<ParameterWriter> ParameterWriter::create(const Parameter &parameter, const TensorReader &reader) {
  ParameterWriter writer(parameter, reader);
  RAPT_RETURN_IF_ERROR(withContext("parameter '" + parameter.name + "'", writer.check()));
  return writer;
}

Status ParameterWriter::check() {
  const std::vector<int64_t> &shape = parameter->shape;
  const Layout &layout = parameter->layout;
  for (int64_t extent : shape)
    if (extent < 1 || extent > (int64_t(1) << 40))
      return Error{"shape " + textOf(shape) + " has an extent below 1 or above 2^40"};
  if (parameter->layers < 1 || parameter->sources.empty())
    return Error{std::to_string(parameter->layers) + " layers of " + std::to_string(parameter->sources.size()) +
                 " sources hold nothing"};
  if (layout.kind == Layout::Panels && layout.k != 1 && unitBytesOf(*parameter) != wideUnitBytes)
    return Error{"panels of k = " + std::to_string(layout.k) + " do not fit " + nameOf(parameter->storage)};
  if (layout.kind == Layout::RowMajor && layout.k != 1)
    return Error{"row-major with k = " + std::to_string(layout.k)};
  if (layout.kind == Layout::Panels && shape.size() != 2)
    return Error{"panels of " + textOf(shape) + ", which is no matrix"};
  extents = packedExtents(*parameter);
  if (extents.bytes > (uint64_t(1) << 50))
    return Error{"shape " + textOf(shape) + " needs more than 2^50 bytes"};
  columns = shape.empty() ? 1 : shape.back();
  rows = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>()) / columns;
  RAPT_RETURN_IF_ERROR(checkSources());
  for (int64_t layer = 0; layer < parameter->layers; ++layer)
    RAPT_RETURN_IF_ERROR(checkLayer(layer));
  return {};
}

/// Each source gives its part of the shape, and all of them give all of it.
Status ParameterWriter::checkSources() {
  const Shape &shape = parameter->shape;
  const size_t dim = size_t(parameter->join.dim);
  const bool isJoined = parameter->sources.size() > 1 || parameter->join.kind == Join::Stack;
  if (isJoined && dim >= shape.size())
    return Error{"sources are joined along dim " + std::to_string(parameter->join.dim) + " of " + textOf(shape)};
  firstIndices = {0};
  for (const Source &source : parameter->sources) {
    RAPT_ASSIGN_OR_RETURN(SourceReader part, withContext("source '" + source.name + "'",
                                                         SourceReader::create(source, parameter->storage)));
    if (parameter->join.kind == Join::Stack && dim <= part.getShape().size())
      part.addDim(parameter->join.dim);
    Shape own = part.getShape();
    const int64_t extent = isJoined && own.size() == shape.size() ? own[dim] : 0;
    if (extent > 0)
      own[dim] = shape[dim];
    if (own != shape)
      return Error{"source '" + source.name + "' gives " + textOf(part.getShape()) + ", which is no part of " +
                   textOf(shape)};
    firstIndices.push_back(firstIndices.back() + extent);
    parts.push_back(std::move(part));
  }
  if (isJoined && firstIndices.back() != shape[dim])
    return Error{"the sources have " + std::to_string(firstIndices.back()) + " along dim " + std::to_string(dim) +
                 " of " + textOf(shape)};
  if (!isJoined)
    firstIndices.back() = 1;
  const bool isByColumns = parts.size() > 1 && dim + 1 == shape.size();
  firstColumns = isByColumns ? firstIndices : std::vector<int64_t>{0, columns};
  for (size_t i = dim + 1; parts.size() > 1 && i + 1 < shape.size(); ++i)
    rowsBelow *= shape[i];
  return {};
}

/// The checkpoint has the tensors that the sources say.
Status ParameterWriter::checkLayer(int64_t layer) {
  for (size_t i = 0; i < parameter->sources.size(); ++i) {
    const Source &source = parameter->sources[i];
    const std::string name = tensorName(layer, i);
    const TensorInfo *info = reader->find(name);
    if (!info)
      return Error{"tensor '" + name + "' is missing"};
    if (info->shape == source.shape)
      continue;
    std::string text = "tensor '" + name + "' is " + textOf(info->shape) + ", expected " + textOf(source.shape);
    if (!source.transforms.empty())
      text += ", which " + textOf(source.transforms) + " makes " + textOf(parts[i].getShape());
    return Error{text};
  }
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
    RAPT_RETURN_IF_ERROR(writePanelUnits(layer, rowBegin, from, row, scratch));
    std::memcpy(target.data(), row + (begin - rowBegin), stop - begin);
  }
  if (to != end && to >= begin) {
    RAPT_RETURN_IF_ERROR(writePanelUnits(layer, to, to + panelRowBytes, row, scratch));
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
  // Rows of the checkpoint are read in runs, which are as long as the panels together are wide.
  const int64_t cached = std::max<int64_t>(1, int64_t(cachedBytes / (uint64_t(rowsPerPanel) * panelRowBytes)));
  const int64_t together = readsByColumns() ? cached : extents.columns / panelWidth;
  while (unit < last) {
    const int64_t panel = unit / rowsPerPanel, row = unit % rowsPerPanel;
    const int64_t whole = row == 0 ? std::min((last - unit) / rowsPerPanel, together) : 0;
    const int64_t count = whole > 0 ? whole * rowsPerPanel : std::min(last - unit, rowsPerPanel - row);
    const int64_t panels = std::max<int64_t>(whole, 1), rowCount = whole > 0 ? rowsPerPanel : count;
    const Block block = {row * k, (row + rowCount) * k, panel * panelWidth, (panel + panels) * panelWidth};
    RAPT_RETURN_IF_ERROR(writePanels(layer, block, target, scratch));
    target += count * panelRowBytes;
    unit += count;
  }
  return {};
}

/// `block` is whole panels, or a range of rows of one panel; `target` receives them one after another.
Status ParameterWriter::writePanels(int64_t layer, const Block &block, std::byte *target, Scratch &scratch) const {
  const Axis rowAxis = this->rowAxis(), columnAxis = this->columnAxis();
  const int64_t used = (rowAxis.logical(block.rowEnd) - rowAxis.logical(block.rowBegin)) *
                       (columnAxis.logical(block.columnEnd) - columnAxis.logical(block.columnBegin));
  const int64_t all = (block.rowEnd - block.rowBegin) * (block.columnEnd - block.columnBegin);
  if (used != all)
    std::memset(target, 0, all * sizeOf(parameter->storage));
  if (used == 0)
    return {};
  const size_t panelBytes = (block.rowEnd - block.rowBegin) / parameter->layout.k * panelRowBytesOf(*parameter);
  for (size_t band = 0; band + 1 < firstColumns.size(); ++band) {
    RAPT_ASSIGN_OR_RETURN(Rectangle rectangle, load(layer, band, block, scratch, nullptr));
    for (int64_t panel = block.columnBegin; panel < block.columnEnd; panel += panelWidth)
      arrangePanel(rectangle, block, panel, target + (panel - block.columnBegin) / panelWidth * panelBytes);
  }
  return {};
}

/// Writes what `rectangle` gives to the panel whose first padded column is `panel`.
void ParameterWriter::arrangePanel(const Rectangle &rectangle, const Block &block, int64_t panel,
                                   std::byte *target) const {
  const Axis rowAxis = this->rowAxis(), columnAxis = this->columnAxis();
  const int64_t k = parameter->layout.k, element = sizeOf(parameter->storage);
  const int64_t panelFirst = columnAxis.logical(panel), panelLast = columnAxis.logical(panel + panelWidth);
  const int64_t first = std::max(panelFirst, rectangle.columns.begin),
                last = std::min(panelLast, rectangle.columns.end);
  if (first >= last)
    return;
  const int64_t lanes = last - first, pitch = rectangle.pitch() * element;
  const size_t unitBytes = unitBytesOf(*parameter), panelRowBytes = panelRowBytesOf(*parameter);
  std::byte *lane = target + (first - panelFirst) * unitBytes;
  rowAxis.forRuns(block.rowBegin, block.rowEnd, [&](int64_t padded, int64_t logical, int64_t count) {
    const int64_t row = logical - rectangle.rows.begin, column = first - rectangle.columns.begin;
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
    RAPT_RETURN_IF_ERROR(writeRows(layer, block, target, scratch));
    target += count * element;
    position += count;
  }
  return {};
}

/// `block` is whole rows, or a range of columns of one row; `target` receives it densely.
Status ParameterWriter::writeRows(int64_t layer, const Block &block, std::byte *target, Scratch &scratch) const {
  const Axis rowAxis = this->rowAxis(), columnAxis = this->columnAxis();
  const int64_t element = sizeOf(parameter->storage), width = block.columnEnd - block.columnBegin;
  const int64_t used = (rowAxis.logical(block.rowEnd) - rowAxis.logical(block.rowBegin)) *
                       (columnAxis.logical(block.columnEnd) - columnAxis.logical(block.columnBegin));
  const int64_t all = (block.rowEnd - block.rowBegin) * width;
  if (used != all)
    std::memset(target, 0, all * element);
  for (size_t band = 0; band + 1 < firstColumns.size() && used != 0; ++band) {
    const bool direct = used == all && firstColumns.size() == 2;
    RAPT_ASSIGN_OR_RETURN(Rectangle rectangle, load(layer, band, block, scratch, direct ? target : nullptr));
    if (rectangle.data == target)
      return {};
    const int64_t pitch = rectangle.pitch() * element;
    rowAxis.forRuns(block.rowBegin, block.rowEnd, [&](int64_t paddedRow, int64_t row, int64_t rowCount) {
      columnAxis.forRuns(block.columnBegin, block.columnEnd, [&](int64_t paddedColumn, int64_t column, int64_t count) {
        const int64_t first = std::max(column, rectangle.columns.begin);
        const int64_t lanes = std::min(column + count, rectangle.columns.end) - first;
        if (lanes <= 0)
          return;
        const int64_t inRow = row - rectangle.rows.begin, inColumn = first - rectangle.columns.begin;
        std::byte *out =
            target +
            ((paddedRow - block.rowBegin) * width + paddedColumn - block.columnBegin + (first - column)) * element;
        if (rectangle.transposed)
          transpose(rectangle.data + inColumn * pitch + inRow * element, pitch, out, width * element, lanes, rowCount,
                    element);
        else
          copyRows(rectangle.data + inRow * pitch + inColumn * element, pitch, out, width * element, rowCount,
                   lanes * element);
      });
    });
  }
  return {};
}

/// The values of one band that `block` needs, in the storage type. With `direct`, dense row-major values go there where
/// they can.
Expected<Rectangle> ParameterWriter::load(int64_t layer, size_t band, const Block &block, Scratch &scratch,
                                          std::byte *direct) const {
  const Axis rowAxis = this->rowAxis(), columnAxis = this->columnAxis();
  const int64_t first = firstColumns[band];
  const Range rowRange = {rowAxis.logical(block.rowBegin), rowAxis.logical(block.rowEnd)};
  const int64_t begin = std::max(columnAxis.logical(block.columnBegin), first);
  const int64_t end = std::max(begin, std::min(columnAxis.logical(block.columnEnd), firstColumns[band + 1]));
  if (firstColumns.size() == 2 && parts.size() > 1)
    return joinRows(layer, rowRange, {begin, end}, scratch, direct);
  Expected<Rectangle> part =
      parts[band].load(*reader, tensorName(layer, band), rowRange, {begin - first, end - first}, scratch, direct);
  if (part)
    part->columns = {begin, end};
  return part;
}

/// Rows of sources that are joined along another dim than the columns.
Expected<Rectangle> ParameterWriter::joinRows(int64_t layer, Range rowRange, Range columnRange, Scratch &scratch,
                                              std::byte *direct) const {
  const size_t element = sizeOf(parameter->storage), pitch = size_t(columnRange.size()) * element;
  std::byte *all = direct ? direct : scratch.reserve(Scratch::Joined, size_t(rowRange.size()) * pitch);
  const int64_t extent = firstIndices.back();
  for (int64_t row = rowRange.begin, end; row < rowRange.end; row = end) {
    const int64_t above = row / rowsBelow / extent, index = row / rowsBelow % extent;
    const size_t i =
        size_t(std::upper_bound(firstIndices.begin(), firstIndices.end(), index) - firstIndices.begin()) - 1;
    const int64_t begins = (above * extent + firstIndices[i]) * rowsBelow; // row at which this part of the source does
    end = std::min(rowRange.end, (above * extent + firstIndices[i + 1]) * rowsBelow);
    const int64_t own = above * (firstIndices[i + 1] - firstIndices[i]) * rowsBelow + row - begins;
    std::byte *target = all + size_t(row - rowRange.begin) * pitch;
    RAPT_ASSIGN_OR_RETURN(Rectangle part, parts[i].load(*reader, tensorName(layer, i), {own, own + end - row},
                                                        columnRange, scratch, target));
    if (part.transposed)
      transpose(part.data, size_t(part.pitch()) * element, target, pitch, size_t(columnRange.size()), size_t(end - row),
                element);
    else if (part.data != target)
      std::memcpy(target, part.data, size_t(end - row) * pitch);
  }
  return Rectangle{all, rowRange, columnRange, /*transposed=*/false};
}

} // namespace rapt::artifact
