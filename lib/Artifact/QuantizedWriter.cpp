//===- QuantizedWriter.cpp - Bytes of one quantized parameter ------------------===//
#include "lib/Artifact/QuantizedWriter.h"
#include "lib/Artifact/Transposition.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace rapt::artifact {

namespace {
constexpr uint64_t rowBytes = panelWidth * sizeof(float);
/// Bytes of f32 that are made at a time, at least one panel or 32 rows: as many as a cache holds where the checkpoint
/// has their values side by side, more where it is the other way round, so that it is read in long runs.
constexpr uint64_t windowBytes = uint64_t(8) << 20, cachedBytes = ParameterWriter::cachedBytes;
} // namespace

QuantizedWriter::QuantizedWriter(std::unique_ptr<Parameter> plain, ParameterWriter floats, const Parameter &parameter)
    : plain(std::move(plain)), floats(std::move(floats)), how(parameter.quantization), name(parameter.name),
      isByRows(parameter.layout.kind == Layout::RowMajor),
      depth(isByRows ? this->floats.getExtents().columns : this->floats.getExtents().rows), groups(how.groups(depth)),
      groupDepth(how.groupRows(depth)),
      groupBytes(uint64_t(isByRows ? how.rowGroupBytes(depth) : how.groupBytes(depth))) {}

Expected<QuantizedWriter> QuantizedWriter::create(const Parameter &parameter, const TensorReader &reader) {
  const Quantization &how = parameter.quantization;
  const bool isKnown = (how.bits == 4 || how.bits == 8) &&
                       (how.group == 0 || how.group == 32 || how.group == 64 || how.group == 128) &&
                       parameter.shape.size() == 2 &&
                       parameter.layout.k * (parameter.layout.kind == Layout::Panels ? how.bits : 32) == 32;
  if (!isKnown)
    return Error{"parameter '" + parameter.name + "': no layout of " + std::to_string(how.bits) +
                 " bits in groups of " + std::to_string(how.group)};
  auto plain = std::make_unique<Parameter>(parameter);
  plain->quantization = {};
  plain->storage = DType::F32;
  plain->layout.k = 1;
  RAPT_ASSIGN_OR_RETURN(ParameterWriter floats, ParameterWriter::create(*plain, reader));
  return QuantizedWriter(std::move(plain), std::move(floats), parameter);
}

Status QuantizedWriter::write(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch,
                              QuantizationError &error) const {
  return isByRows ? writeRows(layer, begin, target, scratch, error) : writePanels(layer, begin, target, scratch, error);
}

Error QuantizedWriter::notFinite(int64_t layer, int64_t row, int64_t column) const {
  return Error{"parameter '" + name + "': tensor '" + floats.tensorOf(layer, row, column) +
               "' holds NaN or infinity, which cannot be quantized"};
}

/// At most 32 rows, the first of them `first`, as f32 of `depth` columns each.
struct QuantizedWriter::Rows {
  int64_t first, count;
  const float *values;
};

/// Quantizes 32 rows at a time, in panels of their transpose.
Status QuantizedWriter::writeRows(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch,
                                  QuantizationError &error) const {
  const uint64_t rowBytes = uint64_t(depth) * sizeof(float), stored = uint64_t(groups) * groupBytes;
  const int64_t end = int64_t((begin + target.size() + stored - 1) / stored);
  const uint64_t window = floats.readsByColumns() ? windowBytes : cachedBytes;
  const int64_t together = std::max<int64_t>(1, int64_t(window / (rowBytes * panelWidth))) * panelWidth;
  for (int64_t row = int64_t(begin / stored); row < end; row += together) {
    const int64_t count = std::min(end - row, together);
    const size_t bytes = size_t(uint64_t(count) * rowBytes);
    std::byte *memory = scratch.reserve(Scratch::Panels, bytes);
    RAPT_RETURN_IF_ERROR(floats.write(layer, uint64_t(row) * rowBytes, {memory, bytes}, scratch));
    for (int64_t first = 0; first < count; first += panelWidth) {
      const auto *values = reinterpret_cast<const float *>(memory) + first * depth;
      const Rows block = {row + first, std::min(count - first, panelWidth), values};
      RAPT_RETURN_IF_ERROR(writeRowGroups(layer, block, begin, target, error));
    }
  }
  return {};
}

Status QuantizedWriter::writeRowGroups(int64_t layer, Rows block, uint64_t begin, std::span<std::byte> target,
                                       QuantizationError &error) const {
  const uint64_t end = begin + target.size();
  std::vector<float> panel(size_t(groupDepth * panelWidth));
  std::vector<std::byte> bytes(size_t(panelWidth) * groupBytes);
  QuantizedGroup quantized;
  for (int64_t group = 0; group < groups; ++group) {
    const int64_t first = group * groupDepth, count = std::min(groupDepth, depth - first);
    transpose(reinterpret_cast<const std::byte *>(block.values + first), size_t(depth) * sizeof(float),
              reinterpret_cast<std::byte *>(panel.data()), rowBytes, size_t(block.count), size_t(count), sizeof(float));
    if (int column = quantize(panel.data(), count, how, quantized); column >= 0) {
      const float *row = block.values + column * depth + first;
      const int64_t at = std::find_if_not(row, row + count, [](float x) { return std::isfinite(x); }) - row;
      return notFinite(layer, block.first + column, first + at);
    }
    artifact::writeRowGroups(quantized, count, groupDepth, how, bytes.data());
    for (int64_t row = 0; row < block.count; ++row) {
      const uint64_t from = uint64_t((block.first + row) * groups + group) * groupBytes, to = from + groupBytes;
      if (to <= begin || from >= end)
        continue;
      if (from >= begin)
        error.add(quantized.errors[row]);
      const uint64_t start = std::max(from, begin), stop = std::min(to, end);
      std::memcpy(target.data() + (start - begin), bytes.data() + uint64_t(row) * groupBytes + (start - from),
                  stop - start);
    }
  }
  return {};
}

Status QuantizedWriter::writePanels(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch,
                                    QuantizationError &error) const {
  const uint64_t end = begin + target.size();
  int64_t unit = int64_t(begin / groupBytes);
  const int64_t last = int64_t((end + groupBytes - 1) / groupBytes);
  const uint64_t window = floats.readsByColumns() ? cachedBytes : windowBytes;
  const int64_t together = std::max<int64_t>(1, int64_t(window / (uint64_t(depth) * rowBytes))); // panels
  QuantizedGroup quantized;
  while (unit < last) {
    // Whole panels, or a range of groups of one.
    const int64_t panel = unit / groups, group = unit % groups;
    const int64_t whole = group == 0 ? std::min((last - unit) / groups, together) : 0;
    const int64_t count = whole > 0 ? whole * groups : std::min(last - unit, groups - group);
    const int64_t firstRow = panel * depth + group * groupDepth;
    const int64_t endRow =
        whole > 0 ? (panel + whole) * depth : panel * depth + std::min(depth, (group + count) * groupDepth);
    const size_t bytes = size_t(uint64_t(endRow - firstRow) * rowBytes);
    std::byte *memory = scratch.reserve(Scratch::Panels, bytes);
    RAPT_RETURN_IF_ERROR(floats.write(layer, uint64_t(firstRow) * rowBytes, {memory, bytes}, scratch));
    for (int64_t i = unit; i < unit + count; ++i) {
      const int64_t row = i / groups * depth + i % groups * groupDepth - firstRow;
      const auto *values = reinterpret_cast<const float *>(memory) + row * panelWidth;
      RAPT_RETURN_IF_ERROR(writeUnit(layer, i, values, begin, target, quantized, error));
    }
    unit += count;
  }
  return {};
}

Status QuantizedWriter::writeUnit(int64_t layer, int64_t unit, const float *panel, uint64_t begin,
                                  std::span<std::byte> target, QuantizedGroup &group, QuantizationError &error) const {
  const int64_t count = std::min(groupDepth, depth - unit % groups * groupDepth);
  if (int column = quantize(panel, count, how, group); column >= 0) {
    int64_t row = 0;
    while (row + 1 < count && std::isfinite(panel[row * panelWidth + column]))
      ++row;
    return notFinite(layer, unit % groups * groupDepth + row, unit / groups * panelWidth + column);
  }
  const uint64_t from = uint64_t(unit) * groupBytes, end = begin + target.size();
  if (from >= begin)
    for (const QuantizationError &column : group.errors)
      error.add(column);
  if (from >= begin && from + groupBytes <= end) {
    writeGroup(group, count, groupDepth, how, target.data() + (from - begin));
    return {};
  }
  std::vector<std::byte> whole(groupBytes);
  writeGroup(group, count, groupDepth, how, whole.data());
  const uint64_t first = std::max(from, begin), stop = std::min(from + groupBytes, end);
  std::memcpy(target.data() + (first - begin), whole.data() + (first - from), stop - first);
  return {};
}

} // namespace rapt::artifact
