//===- QuantizedWriter.cpp - Bytes of one quantized parameter ------------------===//
#include "lib/Artifact/QuantizedWriter.h"
#include <algorithm>
#include <cmath>
#include <cstring>

namespace rapt::artifact {

namespace {
constexpr uint64_t rowBytes = panelWidth * sizeof(float);
/// Bytes of f32 panels that are made at a time, at least one panel.
constexpr uint64_t windowBytes = uint64_t(8) << 20;
} // namespace

QuantizedWriter::QuantizedWriter(std::unique_ptr<Parameter> plain, ParameterWriter floats, const Parameter &parameter)
    : plain(std::move(plain)), floats(std::move(floats)), how(parameter.quantization), name(parameter.name),
      rows(this->floats.getExtents().rows), groups(how.groups(rows)), groupRows(how.groupRows(rows)),
      groupBytes(uint64_t(how.groupBytes(rows))) {}

Expected<QuantizedWriter> QuantizedWriter::create(const Parameter &parameter, const TensorReader &reader) {
  const Quantization &how = parameter.quantization;
  const bool isKnown = (how.bits == 4 || how.bits == 8) &&
                       (how.group == 0 || how.group == 32 || how.group == 64 || how.group == 128) &&
                       parameter.layout.kind == Layout::Panels && parameter.layout.k * how.bits == 32;
  if (!isKnown)
    return Error{"parameter '" + parameter.name + "': no layout of " + std::to_string(how.bits) +
                 " bits in groups of " + std::to_string(how.group)};
  auto plain = std::make_unique<Parameter>(parameter);
  plain->quantization = {};
  plain->storage = DType::F32;
  plain->layout.k = 1;
  Expected<ParameterWriter> floats = ParameterWriter::create(*plain, reader);
  if (!floats)
    return floats.error();
  return QuantizedWriter(std::move(plain), std::move(*floats), parameter);
}

Status QuantizedWriter::write(int64_t layer, uint64_t begin, std::span<std::byte> target, Scratch &scratch,
                              QuantizationError &error) const {
  const uint64_t end = begin + target.size();
  int64_t unit = int64_t(begin / groupBytes);
  const int64_t last = int64_t((end + groupBytes - 1) / groupBytes);
  const int64_t together = std::max<int64_t>(1, int64_t(windowBytes / (uint64_t(rows) * rowBytes))); // panels
  while (unit < last) {
    // Whole panels, or a range of groups of one.
    const int64_t panel = unit / groups, group = unit % groups;
    const int64_t whole = group == 0 ? std::min((last - unit) / groups, together) : 0;
    const int64_t count = whole > 0 ? whole * groups : std::min(last - unit, groups - group);
    const int64_t firstRow = panel * rows + group * groupRows;
    const int64_t endRow =
        whole > 0 ? (panel + whole) * rows : panel * rows + std::min(rows, (group + count) * groupRows);
    const size_t bytes = size_t(uint64_t(endRow - firstRow) * rowBytes);
    std::byte *memory = scratch.reserve(Scratch::Panels, bytes);
    if (Status status = floats.write(layer, uint64_t(firstRow) * rowBytes, {memory, bytes}, scratch); !status)
      return status;
    for (int64_t i = unit; i < unit + count; ++i) {
      const int64_t row = i / groups * rows + i % groups * groupRows - firstRow;
      const auto *values = reinterpret_cast<const float *>(memory) + row * panelWidth;
      if (Status status = writeUnit(layer, i, values, begin, target, error); !status)
        return status;
    }
    unit += count;
  }
  return {};
}

Status QuantizedWriter::writeUnit(int64_t layer, int64_t unit, const float *panel, uint64_t begin,
                                  std::span<std::byte> target, QuantizationError &error) const {
  const int64_t count = std::min(groupRows, rows - unit % groups * groupRows);
  QuantizedGroup group;
  if (int column = quantize(panel, count, how, group); column >= 0) {
    int64_t row = 0;
    while (row + 1 < count && std::isfinite(panel[row * panelWidth + column]))
      ++row;
    return Error{"parameter '" + name + "': tensor '" +
                 floats.tensorOf(layer, unit % groups * groupRows + row, unit / groups * panelWidth + column) +
                 "' holds NaN or infinity, which cannot be quantized"};
  }
  const uint64_t from = uint64_t(unit) * groupBytes, end = begin + target.size();
  if (from >= begin)
    for (int64_t row = 0; row < count; ++row)
      for (int64_t column = 0; column < panelWidth; ++column) {
        const double x = panel[row * panelWidth + column], d = group.value(row, column) - x;
        error.error += d * d;
        error.norm += x * x;
      }
  if (from >= begin && from + groupBytes <= end) {
    writeGroup(group, count, groupRows, how, target.data() + (from - begin));
    return {};
  }
  std::vector<std::byte> whole(groupBytes);
  writeGroup(group, count, groupRows, how, whole.data());
  const uint64_t first = std::max(from, begin), stop = std::min(from + groupBytes, end);
  std::memcpy(target.data() + (first - begin), whole.data() + (first - from), stop - first);
  return {};
}

} // namespace rapt::artifact
