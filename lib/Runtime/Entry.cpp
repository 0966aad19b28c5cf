#include "lib/Runtime/Context.h"
#include "lib/Runtime/Tensor.h"
#include <algorithm>
#include <cstring>
#include <string_view>

namespace rapt::runtime {
namespace {

bool isDim(const ManifestEntry &entry, const ManifestExtent &extent, Dim dim, int64_t plus) {
  return extent.dim >= 0 && entry.dims[size_t(extent.dim)].name == nameOf(dim) && extent.plus == plus &&
         !extent.isProduct();
}

bool names(const ManifestEntry &entry, Role role) { return entry.findBuffer(nameOf(role)) >= 0; }

/// Whether the entry takes one token of each sequence at a time.
bool takesSingleTokens(const ManifestEntry &entry) {
  const int tokens = entry.findBuffer(nameOf(Role::Tokens));
  if (tokens < 0)
    return false;
  const ManifestBuffer &buffer = entry.buffers[size_t(tokens)];
  return buffer.shape.size() == 1 && isDim(entry, buffer.shape[0], Dim::Rows, 0);
}

/// Whether the entry takes features of sound or images, all sources as long: outputs for tokens are [rows, positions,
/// ...] then.
bool takesFeatures(const ManifestEntry &entry) {
  return names(entry, Role::InputFeatures) || names(entry, Role::PixelValues);
}

int findDim(const std::string &name) {
  for (int i = 0; i < dimCount; ++i)
    if (name == nameOf(Dim(i)))
      return i;
  return -1;
}

/// The number of elements that a buffer's extents from `from` on have; 0 where one of them is no number of at least 1.
int64_t columnsOf(const ManifestBuffer &buffer, size_t from) {
  uint64_t columns = 1;
  for (size_t i = from; i < buffer.shape.size(); ++i)
    if (buffer.shape[i].dim >= 0 || buffer.shape[i].plus < 1 ||
        !multiply(columns, uint64_t(buffer.shape[i].plus), columns) || columns > uint64_t(INT32_MAX))
      return 0;
  return int64_t(columns);
}

/// Bytes of a slot of a buffer [slots, ...]; 0 when its shape is not of that form.
int64_t bytesOfSlot(const ManifestBuffer &state) {
  uint64_t bytes = sizeof(float);
  for (size_t i = 0; i < state.shape.size(); ++i) {
    bool isNumber = state.shape[i].dim < 0;
    if (isNumber == (i == 0) || (isNumber && !multiply(bytes, uint64_t(state.shape[i].plus), bytes)))
      return 0;
  }
  return bytes > INT32_MAX ? 0 : int64_t(bytes);
}

} // namespace

SlotBytes slotBytesOf(const ManifestEntry &entry) {
  SlotBytes bytes{};
  for (size_t i = 0; i < bytes.size(); ++i)
    if (const int buffer = entry.findBuffer(nameOf(stateRoles[i])); buffer >= 0)
      bytes[i] = bytesOfSlot(entry.buffers[size_t(buffer)]);
  return bytes;
}

bool isOf(Role role, const ManifestEntry &entry, const ManifestBuffer &buffer) {
  const RoleRow &row = rowOf(role);
  const RoleShape &shape = row.shape;
  if (buffer.name != row.name || buffer.kind != row.kind || buffer.dtype != row.type)
    return false;
  if (!*row.type || shape.count == 0)
    return true;
  const auto count = size_t(shape.count);
  if (buffer.shape.size() < count || (!shape.hasNumbers && buffer.shape.size() != count))
    return false;
  const bool isOfRows = takesSingleTokens(entry) || (takesFeatures(entry) && row.kind == BufferKind::Output);
  for (size_t i = 0; i < count; ++i) {
    const Dim dim = shape.dims[i] == Dim::Tokens && isOfRows ? Dim::Rows : shape.dims[i];
    if (!isDim(entry, buffer.shape[i], dim, i == 0 ? shape.plus : 0))
      return false;
  }
  return std::all_of(buffer.shape.begin() + shape.count, buffer.shape.end(),
                     [](const ManifestExtent &extent) { return extent.dim < 0; });
}

bool hasGroups(const ManifestBuffer &buffer, size_t adapters) {
  const std::vector<ManifestExtent> &shape = buffer.shape;
  const auto matrices = int64_t(adapters) + 1; // one is zeros
  return shape.size() == 2 && shape[0].dim < 0 && shape[0].plus == matrices + 1 && shape[1].dim < 0 &&
         shape[1].plus == 2;
}

/// Whether the groups of rows are those of the module's adapters.
rapt_status Entry::checkAdapters(const rapt_module &module, const Report &report) const {
  const Manifest &m = *module.manifest;
  if (!has(Role::AdapterGroups) || hasGroups(manifest->buffers[bufferOf(Role::AdapterGroups)], m.adapters.size()))
    return RAPT_OK;
  return report.fail(RAPT_UNSUPPORTED, "entry %s of %s has no groups of rows for %zu adapters", manifest->name.c_str(),
                     m.name.c_str(), m.adapters.size());
}

rapt_status Entry::bindStep(const rapt_module &module, const Report &report) {
  const Manifest &m = *module.manifest;
  int index = module.findEntry(stepEntry);
  if (!module.artifact)
    return report.fail(RAPT_INVALID, "the module %s was only inspected, so it cannot run", m.name.c_str());
  auto namesOne = [&](Role role) { return index >= 0 && names(m.entries[index], role); };
  const uint32_t states =
      (namesOne(Role::State) ? part::Recurrent : 0) | (namesOne(Role::ConvState) ? part::Convolved : 0);
  if (index < 0 || !(m.hasCache || states) || m.vocabulary < 1 || m.maxTokens < 1 || m.maxRows < 1 ||
      m.maxPositions < 1)
    return report.fail(RAPT_UNSUPPORTED,
                       "the model %s is no decoder: it has no entry step, cache, vocabulary or bounds", m.name.c_str());
  const bool readsVectors = m.readsVectors(), readsSource = module.findEntry(encodeEntry) >= 0 && m.hasCache;
  const uint32_t parts = part::Always | states | (!states || namesOne(Role::BlockTable) ? part::Paged : 0) |
                         (readsSource ? part::Source : 0) |
                         (!readsVectors                 ? 0
                          : namesOne(Role::EmbeddingOf) ? part::Images | part::TokenVectors
                                                        : part::Images | part::VectorTokens) |
                         (namesOne(Role::SeenEnd) ? part::WholeImages : 0) | (m.cacheCount > 1 ? part::Windowed : 0) |
                         (m.adapters.empty() ? 0 : part::Adapters) |
                         (namesOne(Role::TextLength) ? part::LongTexts : 0) |
                         (namesOne(Role::RotaryPositions) ? part::Grids : 0);
  if (rapt_status status = bind(module, index, &RoleRow::step, parts, report))
    return status;
  const ManifestEntry &entry = m.entries[index];
  const ManifestBuffer &logits = entry.buffers[bufferOf(Role::Logits)];
  if (logits.shape.size() != 2 || logits.shape[1].plus != m.vocabulary)
    return report.fail(RAPT_UNSUPPORTED, "entry step of %s gives no %lld logits for a token", m.name.c_str(),
                       (long long)m.vocabulary);
  if (readsVectors) {
    columns = columnsOf(entry.buffers[bufferOf(Role::Embeddings)], 1);
    const int64_t last = std::max(m.imageId(), m.audioId());
    // An embedding, and as many numbers for each of the first layers that read some.
    if (m.hidden < 1 || columns < 1 || columns % m.hidden != 0 || last >= m.vocabulary)
      return report.fail(RAPT_UNSUPPORTED, "entry step of %s takes no vectors of %lld numbers in place of token %lld",
                         m.name.c_str(), (long long)m.hidden, (long long)last);
  }
  if (has(Role::RotaryPositions) &&
      (m.imageId() < 0 || !m.imageCell || columnsOf(entry.buffers[bufferOf(Role::RotaryPositions)], 1) != gridAxes))
    return report.fail(RAPT_UNSUPPORTED, "entry step of %s takes no %lld positions of a token in texts with images",
                       m.name.c_str(), (long long)gridAxes);
  if (has(Role::TextLength)) {
    const int64_t limit =
        entry.buffers[bufferOf(Role::TextLength)].limit; // the last length is that of all longer texts
    if (limit < 3 || limit > INT32_MAX)
      return report.fail(RAPT_UNSUPPORTED, "entry step of %s has lengths of texts below %lld", m.name.c_str(),
                         (long long)limit);
    shortText = limit - 2;
  }
  if (rapt_status status = checkAdapters(module, report))
    return status;
  isSerial = states && takesSingleTokens(entry);
  if (isSerial && (readsVectors || !m.adapters.empty()))
    return report.fail(RAPT_UNSUPPORTED, "entry step of %s takes one token of each row and %s", m.name.c_str(),
                       readsVectors ? "vectors of images" : "adapters");
  return RAPT_OK;
}

rapt_status Entry::bindEncode(const rapt_module &module, const Report &report) {
  const Manifest &m = *module.manifest;
  if (m.hidden < 1)
    return report.fail(RAPT_UNSUPPORTED, "the model %s has an entry encode, but no hidden size", m.name.c_str());
  int index = module.findEntry(encodeEntry);
  const ManifestEntry &entry = m.entries[index];
  const bool isOfFeatures = takesFeatures(entry);
  const uint32_t parts = part::Always |
                         (names(entry, Role::PixelValues) ? part::Pixels
                          : isOfFeatures                  ? part::Features
                                                          : part::Words) |
                         (m.adapters.empty() ? 0 : part::Adapters) | (m.hasCache ? part::Source : 0) |
                         (names(entry, Role::State) ? part::Recurrent : 0);
  if (rapt_status status = bind(module, index, &RoleRow::encode, parts, report))
    return status;
  if (rapt_status status = checkAdapters(module, report))
    return status;
  const ManifestBuffer &hidden = entry.buffers[bufferOf(Role::Hidden)];
  const size_t last = isOfFeatures ? 2 : 1;
  if (hidden.shape.size() != last + 1 || hidden.shape[last].dim >= 0 || hidden.shape[last].plus < m.hidden)
    return report.fail(RAPT_UNSUPPORTED, "entry encode of %s gives no %lld columns for a token", m.name.c_str(),
                       (long long)m.hidden);
  columns = hidden.shape[last].plus;
  return isOfFeatures ? bindFeatures(module, report) : RAPT_OK;
}

rapt_status Entry::bindFeatures(const rapt_module &module, const Report &report) {
  const Manifest &m = *module.manifest;
  const ManifestBuffer &in = manifest->buffers[bufferOf(sourceRole())],
                       &hidden = manifest->buffers[bufferOf(Role::Hidden)];
  features = columnsOf(in, 1);
  const Manifest::Extents extents = m.sourceExtents();
  bool isRight = features && in.shape.size() == size_t(1 + extents.rank) && m.hasCache && m.sourcePositions > 0 &&
                 hidden.shape[1].plus == m.sourcePositions && (m.imageHeight != 0) == has(Role::PixelValues);
  for (int i = 0; isRight && i < extents.rank; ++i)
    isRight = in.shape[size_t(1 + i)].plus == extents.sizes[i];
  uint64_t grid = 0;
  if (isRight && m.imageHeight)
    isRight = multiply(uint64_t(m.gridHeight), uint64_t(m.gridWidth), grid) && grid == uint64_t(m.sourcePositions);
  if (isRight)
    return RAPT_OK;
  return report.fail(RAPT_UNSUPPORTED, "entry encode of %s does not take %s %s to %lld positions", m.name.c_str(),
                     m.imageHeight ? "images" : "features", showShape(extents.sizes, extents.rank).text,
                     (long long)m.sourcePositions);
}

rapt_status Entry::bindTop(const rapt_module &module, const char *name, const Report &report) {
  const int index = module.device ? module.findEntry(name) : -1;
  if (index < 0)
    return RAPT_OK;
  if (rapt_status status = bind(module, index, &RoleRow::top, part::Always, report))
    return status;
  auto widthOf = [&](Role role) {
    const ManifestBuffer &buffer = manifest->buffers[bufferOf(role)];
    return buffer.shape.size() == 2 ? buffer.shape[1].plus : 0;
  };
  columns = widthOf(Role::TopIds);
  if (columns < 1 || widthOf(Role::TopLogits) != columns || widthOf(Role::GivenLogits) != module.manifest->vocabulary)
    return report.fail(RAPT_UNSUPPORTED, "entry %s of %s gives no tokens for %lld logits", name,
                       module.manifest->name.c_str(), (long long)module.manifest->vocabulary);
  return RAPT_OK;
}

size_t Entry::bufferOf(Role role) const {
  size_t number = 0;
  while (roles[number] != role)
    ++number;
  return number;
}

/// False where the buffer has not the shape of an output of attention.
bool Entry::addMap(const ManifestBuffer &buffer, Role role, bool isOfFeatures) {
  const int rank = role >= Role::LogSumExp ? 2 : 3, first = isOfFeatures ? 2 : 1;
  const int64_t columns = columnsOf(buffer, size_t(first));
  if (maps == mostAttentionMaps || buffer.shape.size() != size_t(first + rank) || !columns)
    return false;
  AttentionMap &added = map[maps++];
  added = {role, rank, {}, columns};
  for (int i = 0; i < rank; ++i)
    added.shape[i] = buffer.shape[size_t(first + i)].plus;
  return true;
}

rapt_status Entry::bind(const rapt_module &module, int index, uint32_t RoleRow::*column, uint32_t parts,
                        const Report &report) {
  const ManifestEntry &entry = module.manifest->entries[index];
  const char *name = entry.name.c_str(), *model = module.manifest->name.c_str();
  for (const ManifestBuffer &buffer : entry.buffers) {
    int role = 0;
    while (role < roleCount && !isOf(Role(role), entry, buffer))
      ++role;
    const uint32_t givenBy = role < roleCount ? rowOf(Role(role)).*column : 0;
    if (!(givenBy & (parts | part::Request)) || has(Role(role)) ||
        (givenBy & part::Request && !addMap(buffer, Role(role), takesFeatures(entry))))
      return report.fail(RAPT_UNSUPPORTED, "entry %s of %s has a buffer %s %s that this runtime does not know", name,
                         model, buffer.name.c_str(), buffer.dtype.c_str());
    present |= uint64_t(1) << role;
    roles[buffers++] = Role(role);
  }
  for (int i = 0; i < roleCount; ++i)
    if (rowOf(Role(i)).*column & parts && !has(Role(i)))
      return report.fail(RAPT_UNSUPPORTED, "entry %s of %s takes %d buffers and no %s, which this runtime gives", name,
                         model, buffers, nameOf(Role(i)));
  if (rapt_status status = bindDims(module, entry, report))
    return status;
  code = &module.entries[index];
  manifest = &entry;
  slotBytes = slotBytesOf(entry);
  for (size_t i = 0; i < slotBytes.size(); ++i)
    if (has(stateRoles[i]) && slotBytes[i] == 0)
      return report.fail(RAPT_UNSUPPORTED, "entry %s of %s has a %s that is not [slots, ...]", name, model,
                         nameOf(stateRoles[i]));
  return RAPT_OK;
}

rapt_status Entry::bindDims(const rapt_module &module, const ManifestEntry &entry, const Report &report) {
  uint64_t found = 0;
  for (size_t i = 0; i < entry.dims.size(); ++i) {
    const ManifestDim &dim = entry.dims[i];
    const int known = findDim(dim.name);
    const bool isUsed = std::any_of(entry.buffers.begin(), entry.buffers.end(), [&](const ManifestBuffer &buffer) {
      return std::any_of(buffer.shape.begin(), buffer.shape.end(),
                         [&](const ManifestExtent &extent) { return extent.dim == int(i) || extent.other == int(i); });
    });
    if (extents == mostEntryDims || (known < 0 && isUsed) || (known >= 0 && found >> known & 1))
      return report.fail(RAPT_UNSUPPORTED, "entry %s of %s has a dim %s that this runtime does not know",
                         entry.name.c_str(), module.manifest->name.c_str(), dim.name.c_str());
    found |= known < 0 ? 0 : uint64_t(1) << known;
    dims[extents++] = known < 0 ? unusedDim : Dim(known);
  }
  return RAPT_OK;
}

int64_t Entry::workspace(const DimValues &values, int64_t workers) const {
  int64_t ordered[mostEntryDims];
  order(values, ordered);
  return code->workspace(ordered, workers);
}

} // namespace rapt::runtime
