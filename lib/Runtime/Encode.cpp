// Encodes sources. The keys and values of a source for all layers of the decoder go into blocks that the sequence
// keeps.
#include "lib/Runtime/EntryCall.h"
#include "lib/Runtime/Tensor.h"
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rapt::runtime {
namespace {

using ll = long long;

class Encode : SequenceCall {
public:
  Encode(rapt_context &context, const StructArray<const rapt_source> &sources, size_t count, const Report &report)
      : SequenceCall(context, context.encode, {"source", "call"}, count, report), sources(sources) {}
  rapt_status run();

private:
  rapt_status check();
  rapt_status checkSource(size_t i);
  rapt_status checkTokens(size_t i) const;
  rapt_status checkFeatures(size_t i) const;
  /// Positions of a source.
  int64_t lengthOf(const rapt_source &source) const { return entry.features ? l.longestSource : source.count; }
  void fillRow(size_t source, size_t row, int64_t at, int64_t table);
  rapt_status runRows(size_t first, size_t rows);
  Sequence &sequence(size_t i) { return *c.find(sources[i].sequence); }

  StructArray<const rapt_source> sources;
  int64_t neededBlocks = 0;
};

rapt_status Encode::checkSource(size_t i) {
  const rapt_source &source = sources[i];
  Sequence *s;
  if (rapt_status status = claim(i, source.sequence, s))
    return status;
  if (s->hasSource || s->length)
    return report.fail(RAPT_INVALID, "source %zu: its sequence has %s already", i,
                       s->hasSource ? "a source" : "tokens");
  if (rapt_status status = entry.features ? checkFeatures(i) : checkTokens(i))
    return status;
  const uint64_t need = uint64_t(lengthOf(source)) * uint64_t(c.module->manifest->hidden) * sizeof(float);
  if (rapt_status status = checkFloats(i, "hidden", source.hidden, source.hidden_bytes, need))
    return status;
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
  const uint64_t need = uint64_t(entry.features) * sizeof(float);
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
  if (rapt_status status = checkList(i, source.tokens, source.count, 0))
    return status;
  if (source.count > l.longestSource)
    return report.fail(RAPT_TOO_LONG, "source %zu has %lld tokens; the model has %lld positions", i, ll(source.count),
                       ll(l.longestSource));
  if (source.count > c.module->manifest->maxTokens)
    return report.fail(RAPT_TOO_LONG, "source %zu has %lld tokens; the model is compiled for at most %lld at once", i,
                       ll(source.count), ll(c.module->manifest->maxTokens));
  return checkIds(i, source.tokens, source.count, l.sourceVocabulary);
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
  return reserveStates(int64_t(count));
}

/// Fills the entry's arguments of row `row`, whose first token is number `at`.
void Encode::fillRow(size_t i, size_t row, int64_t at, int64_t table) {
  const rapt_source &source = sources[i];
  const Sequence &s = sequence(i);
  c.integers(Role::RowBegin)[row] = int32_t(at); // which every step has
  if (entry.has(Role::Past))
    c.integers(Role::Past)[row] = 0;
  if (entry.has(Role::SourceTable))
    fillTable(c.integers(Role::SourceTable), row, table, s.sourceTable, s.sourceBlocks);
  if (entry.has(Role::StateTarget))
    c.integers(Role::StateTarget)[row] = s.state;
  if (entry.features)
    memcpy(c.numbers(entry.sourceRole()) + row * size_t(entry.features), sources.get(i, &rapt_source::features),
           size_t(entry.features) * sizeof(float));
  else if (source.count)
    memcpy(c.integers(Role::InputIds) + at, source.tokens, size_t(source.count) * sizeof(int32_t));
}

rapt_status Encode::runRows(size_t first, size_t rows) {
  int64_t tokens = 0, table = 1;
  for (size_t r = 0; r < rows; ++r) {
    tokens += lengthOf(sources[first + r]);
    table = std::max(table, c.sourceBlocksFor(lengthOf(sources[first + r])));
  }
  if (tokens == 0 && !entry.has(Role::StateTarget)) // without tokens only a state changes
    return RAPT_OK;
  EntryCall call(c, entry, report);
  call[Dim::Tokens] = call[Dim::Adapted] = tokens;
  call[Dim::Rows] = int64_t(rows);
  call[Dim::Table] = 1;
  call[Dim::SourceBlocks] = table;
  if (!call.reserve())
    return report.fail(RAPT_NOMEM, "no memory for %lld tokens of sources", ll(tokens));
  int64_t at = 0;
  for (size_t r = 0; r < rows; at += lengthOf(sources[first + r++]))
    fillRow(first + r, r, at, table);
  c.integers(Role::RowBegin)[rows] = int32_t(tokens);
  call[Dim::Adapted] = orderTokens(rows, [&](size_t row) { return sequence(first + row).adapter; });
  if (rapt_status status = c.reserveWorkspace(call.workspace(), report))
    return status;
  if (rapt_status status = call.run())
    return status;
  const float *from = c.numbers(Role::Hidden);
  const int64_t hidden = c.module->manifest->hidden;
  at = 0;
  for (size_t r = 0; r < rows; ++r) {
    const rapt_source &source = sources[first + r];
    c.copyMaps(entry, first + r, 0, at, lengthOf(source));
    at += lengthOf(source);
    for (int64_t t = 0; t < lengthOf(source); ++t, from += entry.columns)
      if (source.hidden)
        memcpy(source.hidden + t * hidden, from, size_t(hidden) * sizeof(float));
  }
  return RAPT_OK;
}

rapt_status Encode::run() {
  if (rapt_status status = check())
    return status;
  for (size_t i = 0; i < count; ++i) {
    Sequence &s = sequence(i);
    if (c.hasStates())
      s.state = c.states.allocate();
    const int64_t length = lengthOf(sources[i]);
    for (; s.sourceBlocks < c.sourceBlocksFor(length); ++s.sourceBlocks)
      s.sourceTable[s.sourceBlocks] = c.caches[0].blocks.allocate((s.sourceBlocks + 1) * c.limits.block <= length);
    s.sourceLength = length;
    s.hasSource = true;
  }
  rapt_status status = RAPT_OK;
  for (size_t first = 0; first < count && !status;) {
    size_t rows = 0;
    int64_t tokens = 0;
    do
      tokens += lengthOf(sources[first + rows++]);
    while (first + rows < count && int64_t(rows) < l.rows && tokens + lengthOf(sources[first + rows]) <= l.tokens);
    status = runRows(first, rows);
    first += rows;
    if (!status)
      status = tell(tokens);
  }
  if (!status)
    status = c.execution.checkCancel(report);
  for (size_t i = 0; i < count; ++i) {
    Sequence &s = sequence(i);
    if (status) {
      c.dropSource(s);
      c.dropState(std::exchange(s.state, 0));
    } else if (l.keepEvery) {
      s.kept[0] = c.shareState(s.state);
    }
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
