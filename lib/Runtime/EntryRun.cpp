#include "lib/Runtime/EntryRun.h"
#include "lib/Runtime/Adapters.h"
#include <algorithm>
#include <cstring>

namespace rapt::runtime {
namespace {

using ll = long long;

// Limits of a group where no dim bounds it: images, and elements of their inputs.
constexpr int64_t imagesTogether = 8, numbersTogether = int64_t(1) << 23;

constexpr Role adapterRoles[] = {Role::AdapterRows, Role::AdapterGroups, Role::AdapterOf};

} // namespace

rapt_status readMaskRow(const rapt_tensor &mask, int64_t row, int64_t &used, const Report &report, const char *name) {
  auto at = [&](int64_t i) { return integerAt(mask, row * strideOf(mask, 0) + i * strideOf(mask, 1)); };
  for (used = 0; used < mask.shape[1] && at(used) == 1;)
    ++used;
  for (int64_t i = used; i < mask.shape[1]; ++i) {
    if (at(i) != 0 && at(i) != 1)
      return report.fail(RAPT_INVALID, "%s row %lld is %lld at %lld, neither 0 nor 1", name, ll(row), ll(at(i)), ll(i));
    if (at(i))
      return report.fail(RAPT_INVALID,
                         "%s row %lld is %lld at %lld after a 0 at %lld: only ones and then zeros are "
                         "accepted (pad on the right)",
                         name, ll(row), ll(at(i)), ll(i), ll(used));
  }
  return RAPT_OK;
}

rapt_status readAdapters(const rapt_context &c, const rapt_tensor *given, int64_t batch, Array<int32_t> &adapters,
                         const Report &report) {
  if (given && (!isInteger(*given) || given->shape[0] != batch))
    return report.fail(RAPT_INVALID, "adapter is %s; integers [%lld] are needed", showShape(given->shape, 1).text,
                       ll(batch));
  if (!adapters.allocate(c.memory, size_t(std::max<int64_t>(batch, 1))))
    return report.fail(RAPT_NOMEM, "no memory for the adapters of %lld rows", ll(batch));
  const auto count = int64_t(c.module->manifest->adapters.size());
  for (int64_t row = 0; row < batch; ++row) {
    const int64_t number = given ? integerAt(*given, row * strideOf(*given, 0)) : c.adapter;
    if (number < 0 || number > count)
      return report.fail(RAPT_INVALID, "adapter[%lld] is %lld; 0 to %lld is accepted", ll(row), ll(number), ll(count));
    adapters[size_t(row)] = int32_t(number);
  }
  return RAPT_OK;
}

bool EntryRun::isUsed(int dim) const {
  for (const ManifestBuffer &buffer : entry.buffers)
    for (const ManifestExtent &e : buffer.shape)
      if (e.dim == dim || e.other == dim)
        return true;
  return false;
}

/// Determines the form of each buffer.
void EntryRun::classify() {
  rowsDim = entry.findDim(nameOf(Dim::Rows));
  if (rowsDim >= 0 && !isUsed(rowsDim))
    rowsDim = -1;
  int offsets = entry.findBuffer(nameOf(Role::RowBegin));
  packedDim = offsets < 0 ? -1 : entry.findDim(nameOf(Dim::Tokens));
  auto isOfAdapters = [&](const ManifestBuffer &buffer) {
    return std::any_of(std::begin(adapterRoles), std::end(adapterRoles),
                       [&](Role role) { return buffer.name == nameOf(role); });
  };
  const bool hasAdapters = packedDim >= 0 && !c.module->manifest->adapters.empty();
  adaptedDim = hasAdapters ? entry.findDim(nameOf(Dim::Adapted)) : -1;
  for (size_t i = 0; i < entry.buffers.size(); ++i) {
    const ManifestBuffer &buffer = entry.buffers[i];
    bool isTensor = buffer.kind == BufferKind::Input || buffer.kind == BufferKind::Output;
    int first = isTensor && !buffer.shape.empty() && !buffer.shape[0].plus ? buffer.shape[0].dim : -1;
    slots[i] = {nullptr,
                !isTensor                                 ? Form::None
                : int(i) == offsets                       ? Form::Offsets
                : adaptedDim >= 0 && isOfAdapters(buffer) ? Form::Adapters
                : first < 0                               ? Form::Whole
                : first == packedDim                      ? Form::Packed
                : first == rowsDim                        ? Form::Rows
                                                          : Form::Whole,
                0};
  }
}

rapt_status EntryRun::match(size_t count, const char *const *names, const Tensors &tensors) {
  return bindByName(count, names, tensors, report, [&](const char *name, TensorPlace &place) -> rapt_status {
    const int buffer = entry.findBuffer(name);
    if (packedDim >= 0 && !strcmp(name, caller::attentionMask))
      place = {&mask, 2};
    else if (adaptedDim >= 0 && !strcmp(name, caller::adapter))
      place = {&adapter, 1};
    else if (buffer >= 0 && !isOwn(size_t(buffer)))
      place = {&slots[size_t(buffer)].tensor,
               int(entry.buffers[size_t(buffer)].shape.size()) + (slots[size_t(buffer)].form == Form::Packed)};
    return place.tensor ? RAPT_OK : unknown(name);
  });
}

rapt_status EntryRun::unknown(const char *name) const {
  char known[512] = "";
  size_t at = 0;
  for (size_t b = 0; b < entry.buffers.size() && at < sizeof known; ++b)
    if (slots[b].form != Form::None && !isOwn(b))
      at += size_t(snprintf(known + at, sizeof known - at, "%s%s", at ? ", " : "", entry.buffers[b].name.c_str()));
  return report.fail(RAPT_INVALID, "%s has no tensor %s; it has %s%s%s", entry.name.c_str(), name, known,
                     packedDim >= 0 ? ", attention_mask" : "", adaptedDim >= 0 ? ", adapter" : "");
}

rapt_status EntryRun::solve(int dim, int64_t value, const char *from) {
  if (dims[dim] >= 0 && dims[dim] != value)
    return report.fail(RAPT_INVALID, "%s: its %s is %lld, that of an earlier tensor %lld", from,
                       entry.dims[dim].name.c_str(), ll(value), ll(dims[dim]));
  dims[dim] = value;
  return RAPT_OK;
}

/// Takes batch, length and dims from the shape of an input.
rapt_status EntryRun::bindInput(size_t i) {
  const ManifestBuffer &buffer = entry.buffers[i];
  const Slot &slot = slots[i];
  const char *name = buffer.name.c_str();
  if (!slot.tensor)
    return buffer.optional ? RAPT_OK : report.fail(RAPT_INVALID, "%s needs %s", entry.name.c_str(), name);
  const rapt_tensor &t = *slot.tensor;
  bool wantsInteger = buffer.dtype == "i32" || buffer.dtype == "i64";
  if (wantsInteger ? !isInteger(t) : !is(t, typeF32))
    return report.fail(RAPT_INVALID, "%s must be %s", name, wantsInteger ? "i64 or i32" : "f32");
  int lead = slot.form == Form::Packed ? 2 : slot.form == Form::Rows ? 1 : 0;
  if (!isDenseFrom(t, lead))
    return report.fail(RAPT_INVALID, "%s: its last dimensions must be dense", name);
  if (lead && batch >= 0 && batch != t.shape[0])
    return report.fail(RAPT_INVALID, "%s has a batch of %lld, an earlier tensor one of %lld", name, ll(t.shape[0]),
                       ll(batch));
  if (lead == 2 && length >= 0 && length != t.shape[1])
    return report.fail(RAPT_INVALID, "%s has %lld tokens in a row, an earlier tensor %lld", name, ll(t.shape[1]),
                       ll(length));
  batch = lead ? t.shape[0] : batch;
  length = lead == 2 ? t.shape[1] : length;
  for (size_t e = lead ? 1 : 0; e < buffer.shape.size(); ++e) {
    const ManifestExtent &wanted = buffer.shape[e];
    int64_t given = t.shape[e + (lead == 2)];
    if (wanted.dim < 0 && wanted.plus != given)
      return report.fail(RAPT_INVALID, "%s is %s; dimension %zu must be %lld", name, showShape(t.shape, t.rank).text,
                         e + (lead == 2), ll(wanted.plus));
    if (wanted.dim >= 0)
      if (rapt_status status = solve(wanted.dim, given - wanted.plus, name))
        return status;
  }
  return RAPT_OK;
}

int EntryRun::callerShape(size_t i, Shape &shape) const {
  int rank = 0;
  const auto &extents = entry.buffers[i].shape;
  Form form = slots[i].form;
  if (form == Form::Packed || form == Form::Rows)
    shape[rank++] = batch;
  if (form == Form::Packed)
    shape[rank++] = length;
  for (size_t e = form == Form::Whole ? 0 : 1; e < extents.size(); ++e)
    shape[rank++] = extent(extents[e]);
  return rank;
}

rapt_status EntryRun::checkOutput(size_t i) const {
  const rapt_tensor *t = slots[i].tensor;
  if (!t)
    return RAPT_OK;
  const char *name = entry.buffers[i].name.c_str();
  Shape shape;
  int rank = callerShape(i, shape);
  if (!is(*t, typeF32) || !std::equal(shape, shape + rank, t->shape))
    return report.fail(RAPT_INVALID, "%s is %s; f32 %s is needed", name, showShape(t->shape, t->rank).text,
                       showShape(shape, rank).text);
  if (!isDenseFrom(*t, 0))
    return report.fail(RAPT_INVALID, "%s: an output must be dense", name);
  for (size_t other = 0; other < slots.size(); ++other)
    if (other != i && slots[other].tensor && overlap(*t, *slots[other].tensor))
      return report.fail(RAPT_INVALID, "%s shares memory with another tensor", name);
  return RAPT_OK;
}

rapt_status EntryRun::readLengths() {
  if (mask && !isInteger(*mask))
    return report.fail(RAPT_INVALID, "attention_mask must be i64 or i32");
  if (mask && (mask->shape[0] != batch || mask->shape[1] != length))
    return report.fail(RAPT_INVALID, "attention_mask is %s; [%lld, %lld] is needed", showShape(mask->shape, 2).text,
                       ll(batch), ll(length));
  if (!lengths.allocate(c.memory, size_t(std::max<int64_t>(batch, 1))))
    return report.fail(RAPT_NOMEM, "no memory for the lengths of %lld rows", ll(batch));
  int64_t most = entry.dims[packedDim].most;
  if (c.module->manifest->maxPositions)
    most = std::min(most, c.module->manifest->maxPositions);
  for (int64_t row = 0; row < batch; ++row) {
    lengths[row] = length;
    if (rapt_status status = mask ? readMaskRow(*mask, row, lengths[row], report) : RAPT_OK)
      return status;
    if (lengths[row] == 0)
      return report.fail(RAPT_INVALID, "attention_mask row %lld has no token", ll(row));
    if (lengths[row] > most)
      return report.fail(RAPT_TOO_LONG, "row %lld has %lld tokens; the model has %lld positions", ll(row),
                         ll(lengths[row]), ll(most));
  }
  return RAPT_OK;
}

/// Whether the entry takes all that orders tokens by adapter, in the shapes that this runtime fills.
rapt_status EntryRun::checkAdapterBuffers() const {
  for (Role role : adapterRoles) {
    const int i = entry.findBuffer(nameOf(role));
    const ManifestBuffer *buffer = i < 0 ? nullptr : &entry.buffers[size_t(i)];
    const bool isGroups = role == Role::AdapterGroups;
    if (!buffer || !isOf(role, entry, *buffer) ||
        (isGroups && !hasGroups(*buffer, c.module->manifest->adapters.size())))
      return report.fail(RAPT_UNSUPPORTED, "entry %s has no %s for the adapters of its module", entry.name.c_str(),
                         nameOf(role));
  }
  return RAPT_OK;
}

rapt_status EntryRun::checkDims() {
  for (size_t i = 0; i < entry.dims.size(); ++i) {
    const ManifestDim &dim = entry.dims[i];
    if (int(i) == rowsDim || int(i) == packedDim || int(i) == adaptedDim)
      continue;
    if (!isUsed(int(i)))
      dims[i] = dim.least;
    if (dims[i] < 0)
      return report.fail(RAPT_UNSUPPORTED, "entry %s has a dim %s that no tensor has", entry.name.c_str(),
                         dim.name.c_str());
    if (dims[i] < dim.least || dims[i] > dim.most)
      return report.fail(RAPT_INVALID, "%s is %lld; the model is compiled for %lld to %lld", dim.name.c_str(),
                         ll(dims[i]), ll(dim.least), ll(dim.most));
  }
  return RAPT_OK;
}

rapt_status EntryRun::bind(size_t count, const char *const *names, const Tensors &tensors) {
  if (!slots.allocate(c.memory, entry.buffers.size()) || !dims.allocate(c.memory, entry.dims.size()))
    return report.fail(RAPT_NOMEM, "no memory for %zu tensors", entry.buffers.size());
  std::fill_n(dims.data(), dims.size(), -1);
  classify();
  rapt_status status = adaptedDim < 0 ? RAPT_OK : checkAdapterBuffers();
  if (!status)
    status = match(count, names, tensors);
  for (size_t i = 0; i < slots.size() && !status; ++i)
    if (entry.buffers[i].kind == BufferKind::Input && !isOwn(i))
      status = bindInput(i);
  if (!status && packedDim >= 0)
    status = readLengths();
  if (!status && adaptedDim >= 0)
    status = readAdapters(c, adapter, batch, adapters, report);
  if (!status)
    status = checkDims();
  for (size_t i = 0; i < slots.size() && !status; ++i)
    if (entry.buffers[i].kind == BufferKind::Output)
      status = checkOutput(i);
  return status;
}

rapt_status EntryRun::shapeOf(const char *name, int64_t *shape, int32_t *rank) const {
  int buffer = entry.findBuffer(name);
  if (buffer < 0 || isOwn(size_t(buffer)))
    return report.fail(RAPT_INVALID, "%s has no tensor %s", entry.name.c_str(), name);
  Shape full;
  *rank = callerShape(size_t(buffer), full);
  std::copy_n(full, *rank, shape);
  return RAPT_OK;
}

int64_t EntryRun::inner(size_t i) const {
  int64_t elements = 1;
  for (size_t e = 1; e < entry.buffers[i].shape.size(); ++e)
    elements *= extent(entry.buffers[i].shape[e]);
  return elements;
}

int64_t EntryRun::chooseGroup(int64_t first) {
  if (rowsDim < 0)
    return 1;
  int64_t mostRows = std::min(entry.dims[rowsDim].most, c.limits.rows ? c.limits.rows : int64_t(INT32_MAX));
  if (packedDim < 0 && !c.limits.rows) {
    int64_t numbers = 1;
    for (size_t i = 0; i < slots.size(); ++i)
      if (slots[i].tensor && slots[i].form == Form::Rows && entry.buffers[i].kind == BufferKind::Input)
        numbers += inner(i);
    mostRows = std::min({mostRows, imagesTogether, std::max<int64_t>(numbersTogether / numbers, 1)});
  }
  int64_t rows = 0, tokens = 0;
  while (first + rows < batch && rows < mostRows) {
    int64_t more = packedDim < 0 ? 0 : lengths[first + rows];
    if (rows && packedDim >= 0 && tokens + more > std::min(c.limits.tokens, entry.dims[packedDim].most))
      break;
    tokens += more;
    ++rows;
  }
  dims[rowsDim] = rows;
  if (packedDim >= 0)
    dims[packedDim] = tokens;
  if (adaptedDim >= 0) {
    int64_t adapted = 0, without = 0;
    for (int64_t r = first; r < first + rows; ++r)
      (adapters[size_t(r)] ? adapted : without) += lengths[r];
    dims[adaptedDim] = adapted + (without > 0);
  }
  return rows;
}

/// Places every buffer in the context's staging memory.
rapt_status EntryRun::stage(int64_t first, int64_t rows) {
  uint64_t total = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].form == Form::None)
      continue;
    const uint64_t bytes = bytesOf(entry.buffers[i], dims.data());
    if (bytes > mostBytes)
      return report.fail(RAPT_NOMEM, "%s is larger than any memory", entry.buffers[i].name.c_str());
    slots[i].offset = total;
    total += (bytes + cacheLine - 1) / cacheLine * cacheLine;
  }
  if (total > c.staging.size() && !c.staging.allocate(c.memory, total))
    return report.fail(RAPT_NOMEM, "no memory for %llu bytes of tensors", (unsigned long long)total);
  for (size_t i = 0; i < slots.size(); ++i)
    if (entry.buffers[i].kind == BufferKind::Input && slots[i].form != Form::Adapters)
      if (rapt_status status = fill(i, first, rows))
        return status;
  if (adaptedDim >= 0)
    fillAdapters(first, rows);
  return RAPT_OK;
}

int32_t *EntryRun::integersOf(Role role) const {
  return reinterpret_cast<int32_t *>(c.staging.data() + slots[size_t(entry.findBuffer(nameOf(role)))].offset);
}

/// Once the offsets of the rows are there.
void EntryRun::fillAdapters(int64_t first, int64_t rows) {
  orderByAdapter(
      int32_t(c.module->manifest->adapters.size()), size_t(rows), integersOf(Role::RowBegin),
      [&](size_t row) { return adapters[size_t(first) + row]; }, integersOf(Role::AdapterRows),
      integersOf(Role::AdapterGroups), integersOf(Role::AdapterOf));
}

/// Copies `count` times the inner elements of one row (or of a whole tensor) to element `to` of the staged buffer.
rapt_status EntryRun::fillRun(size_t i, int64_t row, int64_t count, int64_t to) {
  const ManifestBuffer &buffer = entry.buffers[i];
  const rapt_tensor &t = *slots[i].tensor;
  int64_t width = slots[i].form == Form::Whole ? 1 : inner(i);
  char *memory = c.staging.data() + slots[i].offset;
  for (int64_t p = 0; p < count; ++p) {
    int64_t from = slots[i].form == Form::Whole ? p : row * strideOf(t, 0);
    if (slots[i].form == Form::Packed)
      from += p * strideOf(t, 1);
    if (buffer.dtype == "f32") {
      memcpy(memory + 4 * (to + p * width), static_cast<const float *>(t.data) + from, size_t(width) * 4);
      continue;
    }
    for (int64_t e = 0; e < width; ++e) {
      int64_t value = integerAt(t, from + e);
      if (buffer.limit ? value < 0 || value >= buffer.limit : value != int32_t(value))
        return report.fail(RAPT_INVALID, "%s[%lld, %lld] is %lld; 0 to %lld is accepted", buffer.name.c_str(), ll(row),
                           ll(p), ll(value), ll(buffer.limit ? buffer.limit - 1 : INT32_MAX));
      if (buffer.dtype == "i64")
        reinterpret_cast<int64_t *>(memory)[to + p * width + e] = value;
      else
        reinterpret_cast<int32_t *>(memory)[to + p * width + e] = int32_t(value);
    }
  }
  return RAPT_OK;
}

rapt_status EntryRun::fill(size_t i, int64_t first, int64_t rows) {
  const ManifestBuffer &buffer = entry.buffers[i];
  char *memory = c.staging.data() + slots[i].offset;
  if (slots[i].form == Form::Offsets) {
    auto *offsets = reinterpret_cast<int32_t *>(memory);
    offsets[0] = 0;
    for (int64_t r = 0; r < rows; ++r)
      offsets[r + 1] = offsets[r] + int32_t(lengths[first + r]);
    return RAPT_OK;
  }
  int64_t leading = buffer.shape.empty() ? 1 : extent(buffer.shape[0]), width = inner(i);
  if (!slots[i].tensor) {
    memset(memory, 0, size_t(leading * width) * elementBytes(buffer));
    if (buffer.dtype == "i32" && buffer.name == caller::adapter && !c.module->manifest->adapters.empty())
      std::fill_n(reinterpret_cast<int32_t *>(memory), leading * width, c.adapter);
    return RAPT_OK;
  }
  if (slots[i].form == Form::Whole)
    return fillRun(i, 0, leading * width, 0);
  int64_t to = 0;
  for (int64_t r = first; r < first + rows; ++r) {
    int64_t count = slots[i].form == Form::Packed ? lengths[r] : 1;
    if (rapt_status status = fillRun(i, r, count, to))
      return status;
    to += count * width;
  }
  return RAPT_OK;
}

/// Copies the group's part of an output to the caller; zeros beyond a row's length.
void EntryRun::empty(size_t i, int64_t first, int64_t rows) {
  if (!slots[i].tensor)
    return;
  auto *from = reinterpret_cast<const float *>(c.staging.data() + slots[i].offset);
  auto *to = static_cast<float *>(slots[i].tensor->data);
  int64_t width = inner(i);
  if (slots[i].form == Form::Packed) {
    for (int64_t r = first; r < first + rows; ++r) {
      float *row = to + r * length * width;
      memcpy(row, from, size_t(lengths[r] * width) * 4);
      memset(row + lengths[r] * width, 0, size_t((length - lengths[r]) * width) * 4);
      from += lengths[r] * width;
    }
    return;
  }
  bool whole = slots[i].form == Form::Whole;
  int64_t leading = whole ? (entry.buffers[i].shape.empty() ? 1 : extent(entry.buffers[i].shape[0])) : rows;
  memcpy(to + (whole ? 0 : first * width), from, size_t(leading * width) * 4);
}

rapt_status EntryRun::runGroup(int64_t first, int64_t rows) {
  if (rapt_status status = stage(first, rows))
    return status;
  if (rapt_status status = c.reserveWorkspace(code.workspace(dims.data(), c.execution.workers()), report))
    return status;
  Array<void *> buffers;
  if (!buffers.allocate(c.memory, slots.size()))
    return report.fail(RAPT_NOMEM, "no memory for %zu buffers", slots.size());
  for (size_t i = 0; i < slots.size(); ++i)
    buffers[i] = entry.buffers[i].kind == BufferKind::Weights ? const_cast<void *>(c.weights())
                 : slots[i].form == Form::None                ? c.workspace.data()
                                                              : c.staging.data() + slots[i].offset;
  if (rapt_status status = c.execution.run(entry, code.run, buffers.data(), dims.data(), report))
    return status;
  for (size_t i = 0; i < slots.size(); ++i)
    if (entry.buffers[i].kind == BufferKind::Output)
      empty(i, first, rows);
  return RAPT_OK;
}

rapt_status EntryRun::run() {
  const int64_t all = rowsDim < 0 ? 1 : batch;
  for (int64_t first = 0; first < all;) {
    int64_t rows = chooseGroup(first);
    if (rapt_status status = runGroup(first, rows))
      return status;
    first += rows;
    if (c.progress && c.progress(c.user, first, all))
      return report.fail(RAPT_CANCELLED, "canceled after %lld of %lld rows", ll(first), ll(all));
  }
  return c.execution.checkCancel(report);
}

} // namespace rapt::runtime
