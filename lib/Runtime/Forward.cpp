// A decoder's "forward" is its step with all logits wanted.
#include "lib/Runtime/Forward.h"
#include "lib/Runtime/EntryRun.h"
#include <algorithm>
#include <cstring>

namespace rapt::runtime {
namespace {

using ll = long long;

/// Row `row` of an output.
float *rowOf(const rapt_tensor &output, int64_t row) {
  return static_cast<float *>(output.data) + row * strideOf(output, 0);
}

void clearBehind(float *row, int64_t used, int64_t length, int64_t columns) {
  memset(row + used * columns, 0, size_t((length - used) * columns) * sizeof(float));
}

} // namespace

rapt_status PaddedIds::check(int64_t positions, const Report &report) {
  if (!ids)
    return report.fail(RAPT_INVALID, "forward needs %s", idsName);
  const int64_t *in = ids->shape;
  if (!isInteger(*ids))
    return report.fail(RAPT_INVALID, "%s must be i64 or i32", idsName);
  if (mask && !isInteger(*mask))
    return report.fail(RAPT_INVALID, "%s must be i64 or i32", maskName);
  if (mask && (mask->shape[0] != in[0] || mask->shape[1] != in[1]))
    return report.fail(RAPT_INVALID, "%s is [%lld, %lld], %s [%lld, %lld]", maskName, ll(mask->shape[0]),
                       ll(mask->shape[1]), idsName, ll(in[0]), ll(in[1]));
  if (in[1] > positions)
    return report.fail(RAPT_TOO_LONG, "%s has %lld tokens in a row; the model has %lld positions", idsName, ll(in[1]),
                       ll(positions));
  batch = in[0];
  length = in[1];
  return RAPT_OK;
}

/// Reads a row's tokens up to the mask's first 0.
rapt_status PaddedIds::readRow(int64_t row, int64_t vocabulary, const Report &report) {
  int64_t used = length;
  if (rapt_status status = mask ? readMaskRow(*mask, row, used, report, maskName) : RAPT_OK)
    return status;
  for (int64_t i = 0; i < used; ++i) {
    int64_t id = integerAt(*ids, row * strideOf(*ids, 0) + i * strideOf(*ids, 1));
    if (id < 0 || id >= vocabulary)
      return report.fail(RAPT_INVALID, "%s[%lld, %lld] is %lld; the model's vocabulary is 0 to %lld", idsName, ll(row),
                         ll(i), ll(id), ll(vocabulary - 1));
    tokens[row * length + i] = int32_t(id);
  }
  lengths[row] = used;
  return RAPT_OK;
}

rapt_status PaddedIds::read(const Allocator &memory, int64_t vocabulary, const Report &report) {
  if (!tokens.allocate(memory, size_t(batch * length)) || !lengths.allocate(memory, size_t(batch)))
    return report.fail(RAPT_NOMEM, "no memory for %lld tokens", ll(batch * length));
  for (int64_t row = 0; row < batch; ++row)
    if (rapt_status status = readRow(row, vocabulary, report))
      return status;
  return RAPT_OK;
}

Forward::Forward(rapt_context &context, const Report &report) : c(context), report(report) {
  const Manifest::Extents extents = c.module->manifest->sourceExtents();
  const int64_t hidden = hiddenSize(), vectors[2]{};
  if (c.encode.code)
    target.idsName = caller::decoderInputIds, target.maskName = caller::decoderAttentionMask;
  if (readsFeatures()) {
    add(Features, nameOf(c.encode.sourceRole()), nullptr, extents.sizes, extents.rank);
  } else if (c.encode.code) {
    add(SourceIds, source.idsName, &source, nullptr, 0);
    add(SourceMask, source.maskName, &source, nullptr, 0);
  }
  add(TargetIds, target.idsName, &target, nullptr, 0);
  add(TargetMask, target.maskName, &target, nullptr, 0);
  if (c.entry.has(Role::Embeddings))
    add(Embeddings, caller::imageEmbeddings, nullptr, vectors, 2);
  if (c.entry.has(Role::RotaryPositions))
    add(Grids, caller::imageGrids, nullptr, vectors, 1);
  if (!c.module->manifest->adapters.empty())
    add(Adapter, caller::adapter, nullptr, nullptr, 0);
  add(Logits, nameOf(Role::Logits), &target, &c.limits.vocabulary, 1);
  if (c.encode.code)
    add(Hidden, nameOf(Role::Hidden), &source, &hidden, 1);
  addMapsOf(c.entry, target);
  addMapsOf(c.encode, source);
}

void Forward::add(int slot, const char *name, const PaddedIds *rows, const int64_t *extents, int inner) {
  slots[slot].name = name;
  slots[slot].rows = rows;
  slots[slot].inner = inner;
  std::copy_n(extents, inner, slots[slot].extents);
}

void Forward::addMapsOf(const Entry &entry, const PaddedIds &rows) {
  for (int i = 0; i < entry.maps; ++i) {
    const AttentionMap &map = entry.map[i];
    add(used, nameOf(map.role), &rows, map.shape, map.rank);
    slots[used++].map = &map;
  }
}

Forward::Slot *Forward::find(const char *name) {
  for (Slot &slot : slots)
    if (slot.name && !strcmp(name, slot.name))
      return &slot;
  return nullptr;
}

rapt_status Forward::unknown(const char *name) const {
  char known[256] = "";
  const int last = slots[Hidden].name ? Hidden : Logits;
  for (int i = 0, at = 0; i <= last; ++i)
    if (slots[i].name)
      at += snprintf(known + at, sizeof known - size_t(at), "%s%s",
                     !at         ? ""
                     : i == last ? " and "
                                 : ", ",
                     slots[i].name);
  return report.fail(RAPT_INVALID, "forward has no tensor %s; it has %s", name, known);
}

void Forward::fullShape(const Slot &slot, Shape &shape) const {
  shape[0] = target.batch;
  if (slot.rows)
    shape[1] = slot.rows->length;
  std::copy_n(slot.extents, slot.inner, shape + (slot.rows ? 2 : 1));
}

/// Vectors are floats in a row, one for each token of the texts that stands for one; these have been read.
rapt_status Forward::checkEmbeddings() const {
  if (!slots[Embeddings].name)
    return RAPT_OK;
  const rapt_tensor *const embeddings = slots[Embeddings].tensor;
  const Manifest &m = *c.module->manifest;
  int64_t needed = 0;
  for (int64_t row = 0; row < target.batch; ++row)
    needed += m.countPlaceholders(&target.tokens[row * target.length], target.lengths[row]);
  const int64_t given = embeddings ? embeddings->shape[0] * embeddings->shape[1] : 0;
  if (given != needed)
    return report.fail(RAPT_INVALID, "input_ids has %lld %s tokens, image_embeddings %lld vectors", ll(needed),
                       m.audioToken ? "image and audio" : "image", ll(given));
  if (!embeddings)
    return RAPT_OK;
  if (!is(*embeddings, typeF32) || embeddings->shape[2] != c.entry.columns || !isDenseFrom(*embeddings, 0))
    return report.fail(RAPT_INVALID, "image_embeddings is %s; dense f32 [images, vectors, %lld] is needed",
                       showShape(embeddings->shape, 3).text, ll(c.entry.columns));
  return RAPT_OK;
}

/// Grids are integers, two for each image, and have all vectors.
rapt_status Forward::readGrids() {
  const rapt_tensor *const given = slots[Grids].tensor;
  if (!given)
    return RAPT_OK;
  if (!isInteger(*given) || given->shape[1] != 2)
    return report.fail(RAPT_INVALID, "image_grids is %s; integers [images, 2] are needed",
                       showShape(given->shape, 2).text);
  if (!grids.allocate(c.memory, size_t(2 * given->shape[0])))
    return report.fail(RAPT_NOMEM, "no memory for the grids of %lld images", ll(given->shape[0]));
  const rapt_tensor *const embeddings = slots[Embeddings].tensor;
  const int64_t vectors = embeddings ? embeddings->shape[0] * embeddings->shape[1] : 0;
  int64_t filled = 0;
  for (int64_t image = 0; image < given->shape[0]; ++image) {
    int64_t extents[2];
    for (int axis = 0; axis < 2; ++axis) {
      extents[axis] = integerAt(*given, image * strideOf(*given, 0) + axis * strideOf(*given, 1));
      if (extents[axis] < 1 || extents[axis] > vectors)
        return report.fail(RAPT_INVALID, "image_grids[%lld, %d] is %lld; 1 to %lld is accepted", ll(image), axis,
                           ll(extents[axis]), ll(vectors));
      grids[size_t(2 * image + axis)] = int32_t(extents[axis]);
    }
    filled = std::min(filled + extents[0] * extents[1], vectors + 1);
  }
  return filled == vectors
             ? RAPT_OK
             : report.fail(RAPT_INVALID, "image_grids are not of %lld vectors, as image_embeddings has", ll(vectors));
}

/// Gives a row the grids of its images, which are those behind the rows' before: as many as its image tokens fill.
void Forward::giveGrids(rapt_chunk &chunk, int64_t tokens) {
  chunk.image_grids = grids.data() + 2 * gridsRead;
  for (int64_t filled = 0; filled < tokens && 2 * gridsRead < grids.size(); ++gridsRead) {
    filled += int64_t(grids[2 * gridsRead]) * grids[2 * gridsRead + 1];
    chunk.image_grid_bytes += 2 * sizeof(int32_t);
  }
  if (!chunk.image_grid_bytes)
    chunk.image_grids = nullptr;
}

/// Gives a row the vectors of its tokens, which are those behind the rows' before.
void Forward::giveEmbeddings(rapt_chunk &chunk) {
  const rapt_tensor *const embeddings = slots[Embeddings].tensor;
  if (!embeddings)
    return;
  const Manifest &m = *c.module->manifest;
  const int64_t count = m.countPlaceholders(chunk.tokens, chunk.count), width = c.entry.columns;
  chunk.embeddings = static_cast<const float *>(embeddings->data) + embeddingsRead * width;
  chunk.embedding_bytes = size_t(count * width) * sizeof(float);
  embeddingsRead += count;
  giveGrids(chunk, std::count(chunk.tokens, chunk.tokens + chunk.count, m.imageId()));
}

/// Features are floats whose rows are dense.
rapt_status Forward::checkFeatures() {
  const Slot &slot = slots[Features];
  if (!slot.tensor)
    return report.fail(RAPT_INVALID, "forward needs %s", slot.name);
  const rapt_tensor &t = *slot.tensor;
  if (!is(t, typeF32) || !std::equal(slot.extents, slot.extents + slot.inner, t.shape + 1) || !isDenseFrom(t, 1) ||
      strideOf(t, 0) < c.encode.features)
    return report.fail(RAPT_INVALID, "%s is %s; f32 [batch, %s with dense rows is needed", slot.name,
                       showShape(t.shape, slot.rank()).text, showShape(slot.extents, slot.inner).text + 1);
  source.batch = t.shape[0];
  source.length = c.limits.longestSource;
  return RAPT_OK;
}

rapt_status Forward::checkSource() {
  if (!c.encode.code)
    return RAPT_OK;
  return readsFeatures() ? checkFeatures() : source.check(c.limits.longestSource, report);
}

rapt_status Forward::readSource() {
  if (!c.encode.code)
    return RAPT_OK;
  if (!readsFeatures())
    return source.read(c.memory, c.limits.sourceVocabulary, report);
  if (!source.lengths.allocate(c.memory, size_t(source.batch)))
    return report.fail(RAPT_NOMEM, "no memory for %lld sources", ll(source.batch));
  for (int64_t row = 0; row < source.batch; ++row)
    source.lengths[row] = source.length;
  return RAPT_OK;
}

rapt_status Forward::bind(size_t count, const char *const *names, const Tensors &tensors) {
  auto place = [&](const char *name, TensorPlace &to) {
    Slot *slot = find(name);
    if (slot)
      to = {&slot->tensor, slot->rank()};
    return slot ? RAPT_OK : unknown(name);
  };
  if (rapt_status status = bindByName(count, names, tensors, report, place))
    return status;
  target.ids = slots[TargetIds].tensor, target.mask = slots[TargetMask].tensor;
  source.ids = slots[SourceIds].tensor, source.mask = slots[SourceMask].tensor;
  if (rapt_status status = checkSource())
    return status;
  if (rapt_status status = target.check(c.limits.positions, report))
    return status;
  if (c.encode.code && source.batch != target.batch)
    return report.fail(RAPT_INVALID, "decoder_input_ids has %lld rows, %s %lld", ll(target.batch),
                       slots[readsFeatures() ? Features : SourceIds].name, ll(source.batch));
  return RAPT_OK;
}

rapt_status Forward::shapeOf(const char *name, int64_t *shape, int32_t *rank) const {
  const Slot *slot = const_cast<Forward *>(this)->find(name);
  if (!slot)
    return unknown(name);
  const rapt_tensor *const embeddings = slots[Embeddings].tensor;
  if (slot == &slots[Embeddings] && !embeddings)
    return report.fail(RAPT_INVALID, "image_embeddings is an input, and it is not given");
  if (slot == &slots[Grids])
    return report.fail(RAPT_INVALID, "image_grids is an input");
  Shape full;
  fullShape(*slot, full);
  *rank = slot->rank();
  std::copy_n(slot == &slots[Embeddings] ? embeddings->shape : full, *rank, shape);
  return RAPT_OK;
}

/// Rows of logits and of the encoder's output may be apart; maps are dense.
rapt_status Forward::checkOutput(const Slot &slot) const {
  const rapt_tensor &t = *slot.tensor;
  Shape shape;
  fullShape(slot, shape);
  const int rank = slot.rank();
  if (!is(t, typeF32) || !std::equal(shape, shape + rank, t.shape) || (slot.map && !isDenseFrom(t, 0)))
    return report.fail(RAPT_INVALID, "%s is %s; %sf32 %s is needed", slot.name, showShape(t.shape, rank).text,
                       slot.map ? "dense " : "", showShape(shape, rank).text);
  if (!slot.map && (!isDenseFrom(t, 1) || strideOf(t, 0) < shape[1] * shape[2]))
    return report.fail(RAPT_INVALID, "%s has strides [%lld, %lld, %lld]; its rows must be dense", slot.name,
                       ll(t.strides[0]), ll(t.strides[1]), ll(t.strides[2]));
  for (int i = 0; i < (slot.map ? FirstMap : Logits); ++i)
    if (slots[i].tensor && overlap(t, *slots[i].tensor))
      return report.fail(RAPT_INVALID, "%s shares memory with %s", slot.name, slot.map ? "another tensor" : "an input");
  return RAPT_OK;
}

rapt_status Forward::prepareMaps(size_t rows) {
  for (const Slot &slot : slots)
    if (slot.map && slot.tensor && !c.mapTargets[int(slot.map->role)].allocate(c.memory, rows))
      return report.fail(RAPT_NOMEM, "no memory for %zu rows", rows);
  return RAPT_OK;
}

/// Sets the destinations of the attention maps of row `row`, the row at `position` of those that run together.
void Forward::addMaps(int64_t row, size_t position) {
  for (const Slot &slot : slots) {
    if (!slot.map || !slot.tensor)
      continue;
    const int64_t columns = slot.map->columns;
    float *to = static_cast<float *>(slot.tensor->data) + row * slot.rows->length * columns;
    clearBehind(to, slot.rows->lengths[row], slot.rows->length, columns);
    c.mapTargets[int(slot.map->role)][position] = to;
  }
}

/// Cache blocks that a row takes.
int64_t Forward::blocksOf(int64_t row) const {
  return c.blocksFor(target.lengths[row]) + (c.encode.code ? c.sourceBlocksFor(source.lengths[row]) : 0);
}

rapt_source Forward::sourceOf(int64_t row) const {
  rapt_source from{};
  from.size = sizeof from;
  const int64_t length = source.lengths[row];
  if (const rapt_tensor *features = slots[Features].tensor) {
    from.features = static_cast<const float *>(features->data) + row * strideOf(*features, 0);
    from.feature_bytes = size_t(c.encode.features) * sizeof(float);
  } else {
    from.tokens = &source.tokens[row * source.length];
    from.count = length;
  }
  if (const rapt_tensor *hidden = slots[Hidden].tensor) {
    from.hidden = rowOf(*hidden, row);
    from.hidden_bytes = size_t(length * hiddenSize()) * sizeof(float);
    clearBehind(from.hidden, length, source.length, hiddenSize());
  }
  return from;
}

/// Adds a row to those that run together, as a sequence of its own.
rapt_status Forward::addRow(int64_t row, size_t &count) {
  const int64_t vocabulary = c.limits.vocabulary, used = target.lengths[row];
  rapt_chunk chunk{};
  chunk.size = sizeof chunk;
  chunk.tokens = &target.tokens[row * target.length];
  chunk.count = used;
  if (const rapt_tensor *logits = slots[Logits].tensor) {
    chunk.want = RAPT_LOGITS_ALL;
    chunk.output = rowOf(*logits, row);
    chunk.output_bytes = size_t(used * vocabulary) * sizeof(float);
    clearBehind(chunk.output, used, target.length, vocabulary);
  }
  giveEmbeddings(chunk);
  rapt_source from = c.encode.code ? sourceOf(row) : rapt_source{};
  addMaps(row, count);
  if (!used && !from.count && !from.features)
    return RAPT_OK;
  if (rapt_status status = c.newSequence(chunk.sequence, report))
    return status;
  c.find(chunk.sequence)->adapter = adapters[size_t(row)];
  from.sequence = chunk.sequence;
  if (c.encode.code)
    sources[count] = from;
  chunks[count++] = chunk;
  return RAPT_OK;
}

/// Runs as many rows from `row` on as the cache has blocks for, at least one.
rapt_status Forward::runRows(int64_t &row) {
  rapt_status status = RAPT_OK;
  size_t count = 0;
  int64_t free = c.caches[0].available();
  do {
    free -= blocksOf(row);
    status = addRow(row++, count);
  } while (!status && row < target.batch && blocksOf(row) <= free);
  if (!status && count && c.encode.code)
    status = encode(c, {sources.data(), sizeof(rapt_source)}, count, report);
  size_t withTokens = 0;
  for (size_t i = 0; i < count; ++i) // a row may have a source alone
    if (!status && chunks[i].count) {
      for (const Slot &slot : slots)
        if (slot.map && slot.tensor && slot.rows == &target)
          std::swap(c.mapTargets[int(slot.map->role)][withTokens], c.mapTargets[int(slot.map->role)][i]);
      std::swap(chunks[withTokens++], chunks[i]);
    }
  if (!status && withTokens)
    status = step(c, {chunks.data(), sizeof(rapt_chunk)}, withTokens, report);
  for (size_t i = 0; i < count; ++i)
    c.endSequence(*c.find(chunks[i].sequence));
  return status;
}

/// All rows are read before any is run, so that a wrong one is told before work is done.
rapt_status Forward::run() {
  const rapt_tensor *const logits = slots[Logits].tensor, *const hidden = slots[Hidden].tensor;
  for (const Slot &slot : slots) {
    if (&slot == &slots[FirstMap] && hidden && logits && overlap(*hidden, *logits))
      return report.fail(RAPT_INVALID, "logits shares memory with encoder_last_hidden_state");
    if (&slot >= &slots[Logits] && slot.tensor)
      if (rapt_status status = checkOutput(slot))
        return status;
  }
  const auto rows = size_t(target.batch);
  if (!chunks.allocate(c.memory, rows) || (c.encode.code && !sources.allocate(c.memory, rows)))
    return report.fail(RAPT_NOMEM, "no memory for %zu rows", rows);
  if (rapt_status status = target.read(c.memory, c.limits.vocabulary, report))
    return status;
  if (rapt_status status = checkEmbeddings())
    return status;
  if (rapt_status status = readGrids())
    return status;
  if (rapt_status status = readSource())
    return status;
  if (rapt_status status = readAdapters(c, slots[Adapter].tensor, target.batch, adapters, report))
    return status;
  rapt_status status = prepareMaps(rows);
  for (int64_t row = 0; row < target.batch && !status;)
    status = runRows(row);
  for (Array<float *> &targets : c.mapTargets)
    targets.clear();
  return status ? status : c.execution.checkCancel(report);
}

} // namespace rapt::runtime
