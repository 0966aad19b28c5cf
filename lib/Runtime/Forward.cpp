// A decoder's "forward" is its step with all logits wanted.
#include "lib/Runtime/Forward.h"
#include "lib/Runtime/Encode.h"
#include "lib/Runtime/EntryRun.h"
#include <algorithm>
#include <cstring>

namespace rapt::runtime {
namespace {

using ll = long long;

/// Row `row` of an output whose rows of `columns` floats are dense.
float *rowOf(const rapt_tensor &output, int64_t row, int64_t length, int64_t columns) {
  int64_t stride = output.strides ? output.strides[0] : length * columns;
  return static_cast<float *>(output.data) + row * stride;
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

const rapt_tensor **Forward::slotOf(const char *name) {
  const bool hasSource = c.encode.code, readsWords = hasSource && !readsFeatures();
  for (int i = 0; i < c.entry.maps; ++i)
    if (!strcmp(name, c.entry.map[i].name))
      return &stepMaps[i];
  for (int i = 0; i < c.encode.maps; ++i)
    if (!strcmp(name, c.encode.map[i].name))
      return &encodeMaps[i];
  return !strcmp(name, target.idsName)                             ? &target.ids
         : !strcmp(name, target.maskName)                          ? &target.mask
         : !strcmp(name, "logits")                                 ? &logits
         : readsFeatures() && !strcmp(name, featuresName())        ? &features
         : readsImages() && !strcmp(name, "image_embeddings")      ? &embeddings
         : readsWords && !strcmp(name, source.idsName)             ? &source.ids
         : readsWords && !strcmp(name, source.maskName)            ? &source.mask
         : hasSource && !strcmp(name, "encoder_last_hidden_state") ? &hidden
                                                                   : nullptr;
}

const AttentionMap *Forward::mapOf(const rapt_tensor *const *slot, const PaddedIds *&rows) const {
  for (int i = 0; i < mostAttentionMaps; ++i) {
    rows = slot == &stepMaps[i] ? &target : slot == &encodeMaps[i] ? &source : nullptr;
    if (rows)
      return rows == &target ? &c.entry.map[i] : &c.encode.map[i];
  }
  return nullptr;
}

rapt_status Forward::unknown(const char *name) const {
  return report.fail(RAPT_INVALID, "forward has no tensor %s; it has %s", name,
                     readsPixels()     ? "pixel_values, decoder_input_ids, decoder_attention_mask, logits and "
                                         "encoder_last_hidden_state"
                     : readsFeatures() ? "input_features, decoder_input_ids, decoder_attention_mask, logits and "
                                         "encoder_last_hidden_state"
                     : c.encode.code   ? "input_ids, attention_mask, decoder_input_ids, decoder_attention_mask, logits "
                                         "and encoder_last_hidden_state"
                     : readsImages()   ? "input_ids, attention_mask, image_embeddings and logits"
                                       : "input_ids, attention_mask and logits");
}

/// Vectors are floats in a row, one for each image token of the texts, which have been read.
rapt_status Forward::checkEmbeddings() const {
  if (!readsImages())
    return RAPT_OK;
  const int32_t image = c.module->manifest->imageId();
  int64_t needed = 0;
  for (int64_t row = 0; row < target.batch; ++row) {
    const int32_t *ids = &target.tokens[row * target.length];
    needed += std::count(ids, ids + target.lengths[row], image);
  }
  const int64_t given = embeddings ? embeddings->shape[0] * embeddings->shape[1] : 0;
  if (given != needed)
    return report.fail(RAPT_INVALID, "input_ids has %lld image tokens, image_embeddings %lld vectors", ll(needed),
                       ll(given));
  if (!embeddings)
    return RAPT_OK;
  const int64_t *in = embeddings->shape, *s = embeddings->strides;
  const bool isDense = !s || (s[2] == 1 && s[1] == in[2] && s[0] == in[1] * in[2]);
  if (!is(*embeddings, typeF32) || in[2] != c.entry.columns || !isDense)
    return report.fail(RAPT_INVALID, "image_embeddings is %s; dense f32 [images, vectors, %lld] is needed",
                       showShape(in, 3).text, ll(c.entry.columns));
  return RAPT_OK;
}

/// Gives a row the vectors of its image tokens, which are those behind the rows' before.
void Forward::giveEmbeddings(rapt_chunk &chunk) {
  if (!embeddings)
    return;
  const int32_t image = c.module->manifest->imageId();
  const int64_t count = std::count(chunk.tokens, chunk.tokens + chunk.count, image), width = c.entry.columns;
  chunk.embeddings = static_cast<const float *>(embeddings->data) + embeddingsRead * width;
  chunk.embedding_bytes = size_t(count * width) * sizeof(float);
  embeddingsRead += count;
}

/// Features are floats whose rows are dense.
rapt_status Forward::checkFeatures() {
  if (!features)
    return report.fail(RAPT_INVALID, "forward needs %s", featuresName());
  const Manifest::Extents extents = c.module->manifest->sourceExtents();
  const int64_t *in = features->shape, *s = features->strides;
  bool isRight = is(*features, typeF32);
  int64_t stride = 1;
  for (int d = extents.rank; d > 0 && isRight; stride *= in[d--])
    isRight = in[d] == extents.sizes[d - 1] && (!s || s[d] == stride);
  if (!isRight || (s && s[0] < stride))
    return report.fail(RAPT_INVALID, "%s is %s; f32 [batch, %s with dense rows is needed", featuresName(),
                       showShape(in, 1 + extents.rank).text, showShape(extents.sizes, extents.rank).text + 1);
  source.batch = in[0];
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
  for (size_t i = 0; i < count; ++i) {
    const char *name = names[i] ? names[i] : "";
    const rapt_tensor **slot = slotOf(name);
    if (!slot)
      return unknown(name);
    if (*slot)
      return report.fail(RAPT_INVALID, "tensor %s is given twice", name);
    *slot = &tensors[i];
    bool isOutput = slot == &logits || slot == &hidden;
    const PaddedIds *rows = nullptr;
    const AttentionMap *map = mapOf(slot, rows);
    const int rank = map                               ? 2 + map->rank
                     : slot == &features               ? 1 + c.module->manifest->sourceExtents().rank
                     : isOutput || slot == &embeddings ? 3
                                                       : 2;
    if (rapt_status status = checkTensor(name, tensors[i], rank, report))
      return status;
  }
  if (rapt_status status = checkSource())
    return status;
  if (rapt_status status = target.check(c.limits.positions, report))
    return status;
  if (c.encode.code && source.batch != target.batch)
    return report.fail(RAPT_INVALID, "decoder_input_ids has %lld rows, %s %lld", ll(target.batch),
                       readsFeatures() ? featuresName() : "input_ids", ll(source.batch));
  return RAPT_OK;
}

rapt_status Forward::shapeOf(const char *name, int64_t *shape, int32_t *rank) const {
  const rapt_tensor **slot = const_cast<Forward *>(this)->slotOf(name);
  if (!slot)
    return unknown(name);
  const PaddedIds *rowsOfMap = nullptr;
  if (const AttentionMap *map = mapOf(slot, rowsOfMap)) {
    shape[0] = rowsOfMap->batch;
    shape[1] = rowsOfMap->length;
    for (int i = 0; i < map->rank; ++i)
      shape[2 + i] = map->shape[i];
    *rank = 2 + map->rank;
    return RAPT_OK;
  }
  if (slot == &features) {
    const Manifest::Extents extents = c.module->manifest->sourceExtents();
    shape[0] = source.batch;
    std::copy_n(extents.sizes, extents.rank, shape + 1);
    *rank = 1 + extents.rank;
    return RAPT_OK;
  }
  if (slot == &embeddings) {
    if (!embeddings)
      return report.fail(RAPT_INVALID, "image_embeddings is an input, and it is not given");
    std::copy_n(embeddings->shape, *rank = 3, shape);
    return RAPT_OK;
  }
  bool ofSource = slot == &source.ids || slot == &source.mask || slot == &hidden;
  const PaddedIds &rows = ofSource ? source : target;
  shape[0] = rows.batch;
  shape[1] = rows.length;
  shape[2] = slot == &hidden ? hiddenSize() : c.limits.vocabulary;
  *rank = slot == &logits || slot == &hidden ? 3 : 2;
  return RAPT_OK;
}

rapt_status Forward::checkOutput(const char *name, const rapt_tensor &output, const PaddedIds &rows,
                                 int64_t columns) const {
  const int64_t *out = output.shape;
  if (!is(output, typeF32) || out[0] != rows.batch || out[1] != rows.length || out[2] != columns)
    return report.fail(RAPT_INVALID, "%s is [%lld, %lld, %lld]; f32 [%lld, %lld, %lld] is needed", name, ll(out[0]),
                       ll(out[1]), ll(out[2]), ll(rows.batch), ll(rows.length), ll(columns));
  const int64_t *s = output.strides;
  if (s && (s[2] != 1 || s[1] != columns || s[0] < rows.length * columns))
    return report.fail(RAPT_INVALID, "%s has strides [%lld, %lld, %lld]; its rows must be dense", name, ll(s[0]),
                       ll(s[1]), ll(s[2]));
  for (const rapt_tensor *input : inputs())
    if (input && overlap(output, *input))
      return report.fail(RAPT_INVALID, "%s shares memory with an input", name);
  return RAPT_OK;
}

rapt_status Forward::checkMaps() const {
  for (const rapt_tensor *const *slots : {stepMaps, encodeMaps})
    for (int i = 0; i < mostAttentionMaps; ++i) {
      const rapt_tensor *t = slots[i];
      const PaddedIds *rows = nullptr;
      const AttentionMap *map = t ? mapOf(&slots[i], rows) : nullptr;
      if (!map)
        continue;
      const int64_t shape[] = {rows->batch, rows->length, map->shape[0], map->shape[1], map->shape[2]};
      bool dense = is(*t, typeF32);
      int64_t stride = 1;
      for (int d = 1 + map->rank; d >= 0; stride *= shape[d--])
        dense = dense && t->shape[d] == shape[d] && (!t->strides || shape[d] == 1 || t->strides[d] == stride);
      if (!dense)
        return report.fail(RAPT_INVALID, "%s is %s; dense f32 %s is needed", map->name,
                           showShape(t->shape, t->rank).text, showShape(shape, 2 + map->rank).text);
      for (const rapt_tensor *other :
           {target.ids, target.mask, source.ids, source.mask, features, embeddings, logits, hidden})
        if (other && overlap(*t, *other))
          return report.fail(RAPT_INVALID, "%s shares memory with another tensor", map->name);
    }
  return RAPT_OK;
}

rapt_status Forward::prepareMaps(size_t rows) {
  for (int i = 0; i < mostAttentionMaps; ++i)
    if ((stepMaps[i] && !c.stepMaps.wanted[i].allocate(c.memory, rows)) ||
        (encodeMaps[i] && !c.encodeMaps.wanted[i].allocate(c.memory, rows)))
      return report.fail(RAPT_NOMEM, "no memory for %zu rows", rows);
  return RAPT_OK;
}

/// Sets the destinations of the attention maps of row `row`, the row at `position` of those that run together.
void Forward::addMaps(int64_t row, size_t position) {
  for (int i = 0; i < mostAttentionMaps; ++i)
    for (bool isStep : {true, false}) {
      const rapt_tensor *tensor = isStep ? stepMaps[i] : encodeMaps[i];
      if (!tensor)
        continue;
      const PaddedIds &rows = isStep ? target : source;
      const int64_t columns = (isStep ? c.entry : c.encode).map[i].columns;
      float *to = static_cast<float *>(tensor->data) + row * rows.length * columns;
      clearBehind(to, rows.lengths[row], rows.length, columns);
      (isStep ? c.stepMaps : c.encodeMaps).wanted[i][position] = to;
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
  if (readsFeatures()) {
    const int64_t stride = features->strides ? features->strides[0] : c.encode.features;
    from.features = static_cast<const float *>(features->data) + row * stride;
    from.feature_bytes = size_t(c.encode.features) * sizeof(float);
  } else {
    from.tokens = &source.tokens[row * source.length];
    from.count = length;
  }
  if (hidden) {
    from.hidden = rowOf(*hidden, row, source.length, hiddenSize());
    from.hidden_bytes = size_t(length * hiddenSize()) * sizeof(float);
    clearBehind(from.hidden, length, source.length, hiddenSize());
  }
  return from;
}

/// Adds a row to those that run together, as a sequence of its own.
rapt_status Forward::addRow(int64_t row, size_t &count) {
  const int64_t vocabulary = c.limits.vocabulary, used = target.lengths[row];
  float *out = rowOf(*logits, row, target.length, vocabulary);
  clearBehind(out, used, target.length, vocabulary);
  rapt_chunk chunk{};
  chunk.size = sizeof chunk;
  chunk.tokens = &target.tokens[row * target.length];
  chunk.count = used;
  chunk.want = RAPT_LOGITS_ALL;
  chunk.output = out;
  chunk.output_bytes = size_t(used * vocabulary) * sizeof(float);
  giveEmbeddings(chunk);
  rapt_source from = c.encode.code ? sourceOf(row) : rapt_source{};
  addMaps(row, count);
  if (!used && !from.count && !from.features)
    return RAPT_OK;
  if (rapt_status status = c.newSequence(chunk.sequence, report))
    return status;
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
      for (int map = 0; map < mostAttentionMaps; ++map)
        if (stepMaps[map])
          std::swap(c.stepMaps.wanted[map][withTokens], c.stepMaps.wanted[map][i]);
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
  if (!logits)
    return report.fail(RAPT_INVALID, "forward needs logits");
  if (rapt_status status = checkOutput("logits", *logits, target, c.limits.vocabulary))
    return status;
  if (hidden)
    if (rapt_status status = checkOutput("encoder_last_hidden_state", *hidden, source, hiddenSize()))
      return status;
  if (hidden && overlap(*hidden, *logits))
    return report.fail(RAPT_INVALID, "logits shares memory with encoder_last_hidden_state");
  if (rapt_status status = checkMaps())
    return status;
  const auto rows = size_t(target.batch);
  if (!chunks.allocate(c.memory, rows) || (c.encode.code && !sources.allocate(c.memory, rows)))
    return report.fail(RAPT_NOMEM, "no memory for %zu rows", rows);
  if (rapt_status status = target.read(c.memory, c.limits.vocabulary, report))
    return status;
  if (rapt_status status = checkEmbeddings())
    return status;
  if (rapt_status status = readSource())
    return status;
  rapt_status status = prepareMaps(rows);
  for (int64_t row = 0; row < target.batch && !status;)
    status = runRows(row);
  c.stepMaps.forget();
  c.encodeMaps.forget();
  return status ? status : c.execution.checkCancel(report);
}

} // namespace rapt::runtime
