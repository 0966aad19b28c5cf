// Encodes sources. The keys and values of a source for all layers of the decoder go into blocks that the sequence
// keeps.
#include "lib/Runtime/Encode.h"
#include "lib/Runtime/Adapters.h"
#include "lib/Runtime/Tensor.h"
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rapt::runtime {
namespace {

using ll = long long;

class Encode {
public:
  Encode(rapt_context &context, const StructArray<const rapt_source> &sources, size_t count, const Report &report)
      : c(context), l(context.limits), sources(sources), count(count), report(report) {}
  rapt_status run();

private:
  rapt_status check();
  rapt_status checkSource(size_t i);
  rapt_status checkTokens(size_t i) const;
  rapt_status checkFeatures(size_t i) const;
  /// Positions of a source.
  int64_t lengthOf(const rapt_source &source) const { return c.encode.features ? l.longestSource : source.count; }
  void fillRow(size_t source, size_t row, int64_t at, int64_t table);
  rapt_status makeRoom(int64_t tokens, int64_t rows);
  rapt_status runRows(size_t first, size_t rows);
  Sequence &sequence(size_t i) { return *c.find(sources[i].sequence); }

  rapt_context &c;
  const Limits &l;
  StructArray<const rapt_source> sources;
  size_t count;
  const Report &report;
  int64_t total = 0, neededBlocks = 0;
};

rapt_status Encode::checkSource(size_t i) {
  const rapt_source &source = sources[i];
  Sequence *s = findOrTell(c, source.sequence, report);
  if (!s)
    return RAPT_INVALID;
  if (s->step == c.steps)
    return report.fail(RAPT_INVALID, "source %zu names a sequence that another source of the call names", i);
  s->step = c.steps;
  if (s->hasSource || s->length)
    return report.fail(RAPT_INVALID, "source %zu: its sequence has %s already", i,
                       s->hasSource ? "a source" : "tokens");
  if (rapt_status status = c.encode.features ? checkFeatures(i) : checkTokens(i))
    return status;
  uint64_t need = uint64_t(lengthOf(source)) * uint64_t(c.module->manifest->hidden) * sizeof(float);
  if (source.hidden && (source.hidden_bytes < need || !isAligned(source.hidden)))
    return report.fail(RAPT_INVALID, "source %zu: its hidden has %zu bytes at %p; %llu bytes of floats are needed", i,
                       source.hidden_bytes, static_cast<void *>(source.hidden), (unsigned long long)need);
  neededBlocks += c.sourceBlocksFor(lengthOf(source));
  total += lengthOf(source);
  return RAPT_OK;
}

rapt_status Encode::checkFeatures(size_t i) const {
  const rapt_source &source = sources[i];
  const Manifest &m = *c.module->manifest;
  const float *features = sources.get(i, &rapt_source::features);
  const size_t bytes = sources.get(i, &rapt_source::feature_bytes);
  if (source.tokens || source.count)
    return report.fail(RAPT_INVALID, "source %zu has tokens; the model %s reads %s", i, m.name.c_str(),
                       m.imageHeight ? "images" : "features");
  const uint64_t need = uint64_t(c.encode.features) * sizeof(float);
  if (features && bytes >= need && isAligned(features))
    return RAPT_OK;
  const Manifest::Extents extents = m.sourceExtents();
  return report.fail(RAPT_INVALID, "source %zu: its features have %zu bytes at %p; %llu bytes of floats %s are needed",
                     i, bytes, static_cast<const void *>(features), (unsigned long long)need,
                     showShape(extents.sizes, extents.rank).text);
}

rapt_status Encode::checkTokens(size_t i) const {
  const rapt_source &source = sources[i];
  if (sources.get(i, &rapt_source::features))
    return report.fail(RAPT_INVALID, "source %zu has features; the model %s reads tokens", i,
                       c.module->manifest->name.c_str());
  if (source.count < 0 || (source.count && !source.tokens))
    return report.fail(RAPT_INVALID, "source %zu has %lld tokens%s", i, ll(source.count),
                       source.tokens ? "" : " at NULL");
  if (!isAligned(source.tokens))
    return report.fail(RAPT_INVALID, "source %zu: its tokens are at %p, which is not a multiple of %zu", i,
                       static_cast<const void *>(source.tokens), alignof(int32_t));
  if (source.count > l.longestSource)
    return report.fail(RAPT_TOO_LONG, "source %zu has %lld tokens; the model has %lld positions", i, ll(source.count),
                       ll(l.longestSource));
  if (source.count > c.module->manifest->maxTokens)
    return report.fail(RAPT_TOO_LONG, "source %zu has %lld tokens; the model is compiled for at most %lld at once", i,
                       ll(source.count), ll(c.module->manifest->maxTokens));
  for (int64_t t = 0; t < source.count; ++t)
    if (source.tokens[t] < 0 || source.tokens[t] >= l.sourceVocabulary)
      return report.fail(RAPT_INVALID, "source %zu: token %lld is %d; the model's vocabulary is 0 to %lld", i, ll(t),
                         source.tokens[t], ll(l.sourceVocabulary - 1));
  return RAPT_OK;
}

rapt_status Encode::check() {
  ++c.steps;
  for (size_t i = 0; i < count; ++i)
    if (rapt_status status = checkSource(i))
      return status;
  LayerCache &cache = c.caches[0];
  if (neededBlocks > cache.available())
    return report.fail(RAPT_FULL,
                       "the sources' %lld tokens need %lld cache blocks of %lld tokens, %lld are free: the cache holds "
                       "%lld tokens",
                       ll(total), ll(neededBlocks), ll(l.block), ll(cache.available()), ll(l.blocks * l.block));
  if (!cache.blocks.reserve(c.memory, neededBlocks, cache.most))
    return report.fail(RAPT_NOMEM, "no memory for %lld more cache blocks of %lld tokens", ll(neededBlocks),
                       ll(l.block));
  if (c.isRecurrent() && !c.states.reserve(c.memory, int64_t(count)))
    return report.fail(RAPT_NOMEM, "no memory for the states of %zu sequences", count);
  return RAPT_OK;
}

/// Memory for the entry's arguments, which grows with the longest source met.
rapt_status Encode::makeRoom(int64_t tokens, int64_t rows) {
  auto grow = [&](auto &array, int64_t size) {
    return array.size() >= size_t(size) || array.allocate(c.memory, size_t(size));
  };
  const bool hasInput = c.encode.features ? grow(c.inputFeatures, rows * c.encode.features) : grow(c.inputIds, tokens);
  const bool hasOrder = !c.encode.has(Role::AdapterRows) || (grow(c.adapterRows, tokens) && grow(c.adapterOf, tokens));
  if (hasInput && hasOrder && grow(c.rowBegin, rows + 1) && grow(c.past, rows) &&
      grow(c.hidden, tokens * c.encode.columns))
    return RAPT_OK;
  return report.fail(RAPT_NOMEM, "no memory for %lld tokens of sources", ll(tokens));
}

/// Fills the entry's arguments of row `row`, whose first token is number `at`.
void Encode::fillRow(size_t i, size_t row, int64_t at, int64_t table) {
  const rapt_source &source = sources[i];
  const Sequence &s = sequence(i);
  c.rowBegin[row] = int32_t(at);
  c.past[row] = 0;
  if (c.encode.has(Role::SourceTable)) {
    int32_t *blocks = &c.sourceTable[row * size_t(table)];
    memset(blocks, 0, table * sizeof(int32_t));
    memcpy(blocks, s.sourceTable, s.sourceBlocks * sizeof(int32_t));
  }
  if (c.isRecurrent())
    c.stateTarget[row] = s.state;
  if (c.encode.features)
    memcpy(&c.inputFeatures[row * size_t(c.encode.features)], sources.get(i, &rapt_source::features),
           c.encode.features * sizeof(float));
  else if (source.count)
    memcpy(&c.inputIds[at], source.tokens, source.count * sizeof(int32_t));
}

rapt_status Encode::runRows(size_t first, size_t rows) {
  int64_t tokens = 0, table = 1;
  for (size_t r = 0; r < rows; ++r) {
    tokens += lengthOf(sources[first + r]);
    table = std::max(table, c.sourceBlocksFor(lengthOf(sources[first + r])));
  }
  if (tokens == 0 && !c.isRecurrent()) // without tokens only a recurrent state changes
    return RAPT_OK;
  if (rapt_status status = makeRoom(tokens, int64_t(rows)))
    return status;
  int64_t at = 0;
  for (size_t r = 0; r < rows; ++r) {
    fillRow(first + r, r, at, table);
    at += lengthOf(sources[first + r]);
  }
  c.rowBegin[rows] = int32_t(tokens);
  auto adapterOf = [&](size_t row) { return sequence(first + row).adapter; };
  const int64_t adapted =
      c.encode.has(Role::AdapterRows)
          ? orderByAdapter(int32_t(c.module->manifest->adapters.size()), rows, c.rowBegin.data(), adapterOf,
                           c.adapterRows.data(), c.adapterGroups.data(), c.adapterOf.data())
          : 0;
  const int64_t dims[dimCount] = {tokens, int64_t(rows), 0, 1, c.blocksOf(0), table, c.states.size(), 0, 0, adapted};
  if (rapt_status status = c.reserveWorkspace(c.encode.workspace(dims, c.execution.workers()), report))
    return status;
  void *buffers[roleCount] = {};
  auto put = [&](Role role, const void *data) { buffers[int(role)] = const_cast<void *>(data); };
  put(Role::Weights, c.weights());
  put(Role::Workspace, c.workspace.data());
  put(Role::Cache, c.caches[0].blocks.data());
  put(Role::InputIds, c.inputIds.data());
  put(c.encode.sourceRole(), c.inputFeatures.data());
  put(Role::RowBegin, c.rowBegin.data());
  put(Role::Past, c.past.data());
  put(Role::SourceTable, c.sourceTable.data());
  put(Role::Hidden, c.hidden.data());
  put(Role::AdapterRows, c.adapterRows.data());
  put(Role::AdapterGroups, c.adapterGroups.data());
  put(Role::AdapterOf, c.adapterOf.data());
  put(Role::State, c.states.data());
  put(Role::StateTarget, c.stateTarget.data());
  if (rapt_status status = allocateMaps(c, c.encode, c.encodeMaps, tokens, buffers, report))
    return status;
  if (rapt_status status = c.encode.run(c.execution, buffers, dims, report))
    return status;
  for (size_t r = 0; r < rows; ++r)
    copyMaps(c.encode, c.encodeMaps, first + r, 0, c.rowBegin[r], lengthOf(sources[first + r]));
  const float *from = c.hidden.data();
  for (size_t r = 0; r < rows; ++r) {
    const rapt_source &source = sources[first + r];
    const int64_t hidden = c.module->manifest->hidden;
    for (int64_t t = 0; t < lengthOf(source); ++t, from += c.encode.columns)
      if (source.hidden)
        memcpy(source.hidden + t * hidden, from, hidden * sizeof(float));
  }
  return RAPT_OK;
}

rapt_status Encode::run() {
  if (rapt_status status = check())
    return status;
  for (size_t i = 0; i < count; ++i) {
    Sequence &s = sequence(i);
    if (c.isRecurrent())
      s.state = c.states.allocate();
    const int64_t length = lengthOf(sources[i]);
    for (; s.sourceBlocks < c.sourceBlocksFor(length); ++s.sourceBlocks)
      s.sourceTable[s.sourceBlocks] = c.caches[0].blocks.allocate((s.sourceBlocks + 1) * c.limits.block <= length);
    s.sourceLength = length;
    s.hasSource = true;
  }
  rapt_status status = RAPT_OK;
  int64_t done = 0;
  for (size_t first = 0; first < count && !status;) {
    size_t rows = 0;
    int64_t tokens = 0;
    do
      tokens += lengthOf(sources[first + rows++]);
    while (first + rows < count && int64_t(rows) < l.rows && tokens + lengthOf(sources[first + rows]) <= l.tokens);
    status = runRows(first, rows);
    first += rows;
    done += tokens;
    if (!status && c.progress && c.progress(c.user, done, total))
      status = report.fail(RAPT_CANCELLED, "canceled after %lld of %lld tokens", ll(done), ll(total));
  }
  if (!status)
    status = c.execution.checkCancel(report);
  for (size_t i = 0; status && i < count; ++i) {
    c.dropSource(sequence(i));
    c.dropState(sequence(i));
  }
  return status;
}

} // namespace

rapt_status encode(rapt_context &context, const StructArray<const rapt_source> &sources, size_t count,
                   const Report &report) {
  return Encode(context, sources, count, report).run();
}

} // namespace rapt::runtime

extern "C" rapt_status rapt_encode(rapt_context *context, const rapt_source *sources, size_t count, char *message,
                                   size_t message_size) {
  using namespace rapt::runtime;
  Report report(message, message_size);
  return runCall(context, report, [&]() -> rapt_status {
    ProfiledCall call(context->execution.profile);
    if (!context->encode.code)
      return report.fail(RAPT_UNSUPPORTED, "the model %s has no encoder: its sequences take no source",
                         context->module->manifest->name.c_str());
    if (!sources || count == 0)
      return report.fail(RAPT_INVALID, "there are no sources");
    StructArray<const rapt_source> list;
    rapt_status status = list.adopt(sources, count, "rapt_source", report, offsetof(rapt_source, features));
    return status ? status : encode(*context, list, count, report);
  });
}
