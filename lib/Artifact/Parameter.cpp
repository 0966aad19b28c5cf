//===- Parameter.cpp - Extents and offsets of packed parameters ----------------===//
#include "lib/Artifact/Parameter.h"
#include "lib/Artifact/Rows.h"
#include <algorithm>

namespace rapt::artifact {

namespace {

/// Rounds `extent` up: in groups of `group` (0: one group), each padded to a multiple of `multiple`. Saturates at
/// INT64_MAX so that callers see an absurd extent and not a wrapped one.
int64_t padGroups(int64_t extent, int64_t group, int64_t multiple) {
  if (group <= 0)
    group = std::max<int64_t>(extent, 1);
  const __int128 groups = (__int128(extent) + group - 1) / group;
  const __int128 padded = (__int128(group) + multiple - 1) / multiple * multiple;
  return int64_t(std::min<__int128>(groups * padded, INT64_MAX));
}

uint64_t saturatingProduct(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/// Rounds up to 64; saturates at the largest multiple of 64.
uint64_t alignUp64(uint64_t value) { return value > UINT64_MAX - 63 ? ~uint64_t(63) : (value + 63) & ~uint64_t(63); }

} // namespace

std::vector<std::string> sourceTensors(const std::vector<Parameter> &parameters) {
  std::vector<std::string> names;
  for (const Parameter &parameter : parameters)
    for (const Source &source : parameter.sources)
      for (int64_t layer = 0; layer < parameter.layers; ++layer)
        names.push_back(sourceName(source, parameter.layerNumber(layer)));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

PackedExtents packedExtents(const Parameter &parameter) {
  const auto &shape = parameter.shape;
  const Layout &layout = parameter.layout;
  uint64_t above = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i)
    above = saturatingProduct(above, uint64_t(std::max<int64_t>(shape[i], 0)));
  const int64_t rows = int64_t(std::min<uint64_t>(above, INT64_MAX));
  PackedExtents extents;
  extents.columns = shape.empty() ? 1
                                  : padGroups(shape.back(), layout.columnGroup,
                                              layout.kind == Layout::RowMajor ? rowUnit : panelWidth);
  const int64_t multiple = parameter.quantization ? 1 : std::max<int64_t>(layout.k, 1);
  extents.rows = padGroups(rows, layout.rowGroup, layout.rowGroup > 0 ? panelWidth : multiple);
  if (const Quantization &how = parameter.quantization) {
    // A matrix whose quantized size would overflow is too large in f32 as well.
    const int64_t most = int64_t(1) << 40;
    const bool isRows = layout.kind == Layout::RowMajor;
    const int64_t deep = std::min(isRows ? extents.columns : extents.rows, most);
    const int64_t lines = isRows ? extents.rows : extents.columns / panelWidth;
    const int64_t groupBytes = isRows ? how.rowGroupBytes(deep) : how.groupBytes(deep);
    extents.bytes =
        saturatingProduct(uint64_t(lines), saturatingProduct(uint64_t(how.groups(deep)), uint64_t(groupBytes)));
    return extents;
  }
  extents.bytes = saturatingProduct(saturatingProduct(extents.rows, extents.columns), sizeOf(parameter.storage));
  return extents;
}

uint64_t assignOffsets(std::vector<Parameter> &parameters) {
  uint64_t end = 0;
  for (Parameter &parameter : parameters) {
    parameter.offset = end;
    parameter.layerStride = alignUp64(packedExtents(parameter).bytes);
    const uint64_t bytes = saturatingProduct(parameter.layerStride, std::max<int64_t>(parameter.layers, 0));
    if (__builtin_add_overflow(end, bytes, &end))
      end = ~uint64_t(63);
  }
  return end;
}

} // namespace rapt::artifact
