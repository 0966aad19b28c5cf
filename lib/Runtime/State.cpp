// A sequence as bytes: this header, the name of its adapter, its tokens where a longer text needs them, its images
// where rotary embedding does, its blocks in order of position, those of layers with a window, those of its source,
// then its states, but none of earlier lengths that it keeps. A sequence without an adapter has no name there, and a
// version of its own.
#include "lib/Runtime/Context.h"
#include <algorithm>
#include <cstddef>
#include <cstring>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace rapt::runtime;

namespace {

using ull = unsigned long long;

constexpr uint64_t stateMagic = UINT64_C(0x0054535454504152); // "RAPTTST\0"

struct StateHeader {
  uint64_t magic;
  uint32_t version, block; ///< tokens of a block
  uint8_t interfaceId[16], contentId[16];
  char layout[32], dtype[8]; ///< as in the manifest, NUL-padded
  uint64_t blockBytes[mostCaches], length;
  uint64_t firstBlock[mostCaches]; ///< blocks before it are not kept
  uint64_t sourceLength;           ///< noSource for a sequence without one
  uint64_t checksum;               ///< XXH3-64 of this header with checksum 0, seeding that of the blocks
};
static_assert(sizeof(StateHeader) == 144);

constexpr uint32_t stateVersion = 3, stateVersionOfAdapters = 4;
constexpr size_t adapterBytes = 64; ///< of a name, NUL-padded
static_assert(adapterBytes > mostAdapterNameBytes);
constexpr uint64_t noSource = UINT64_MAX;

uint64_t headerSeed(StateHeader header) {
  header.checksum = 0;
  return XXH3_64bits(&header, sizeof header);
}

StateHeader describe(const rapt_context &c, uint64_t length, uint64_t sourceLength) {
  const Manifest &m = *c.module->manifest;
  StateHeader h{};
  h.magic = stateMagic;
  h.version = stateVersion;
  h.block = uint32_t(c.limits.block);
  memcpy(h.interfaceId, m.interfaceId.bytes, 16);
  const Weights &weights = c.module->weights; // they may be others than those that the library was compiled with
  memcpy(h.contentId, (weights.present() ? weights.contentId() : m.contentId).bytes, 16);
  strncpy(h.layout, m.caches[0].layout.c_str(), sizeof h.layout - 1);
  strncpy(h.dtype, m.caches[0].dtype.c_str(), sizeof h.dtype - 1);
  for (int k = 0; k < c.cacheCount; ++k)
    h.blockBytes[k] = uint64_t(c.caches[k].blockBytes);
  h.length = length;
  h.sourceLength = sourceLength;
  return h;
}

/// Bytes of the adapter's name.
size_t nameBytes(const StateHeader &h) { return h.version == stateVersionOfAdapters ? adapterBytes : 0; }

/// Bytes of what a model whose rotary embedding depends on the length of the text keeps: a number, 1 where the keys are
/// those of a long text, and the first tokens.
size_t textBytes(const rapt_context &c, uint64_t length) {
  const auto most = uint64_t(c.entry.shortText);
  return most ? size_t(1 + std::min(length, most)) * sizeof(int32_t) : 0;
}

/// An image of a sequence as it is saved, behind the number of them: its first token, rows and columns.
using SavedImage = std::array<int32_t, 3>;

size_t imageBytes(const rapt_context &c, int64_t count) {
  return c.keepsImages() ? sizeof(int32_t) + size_t(count) * sizeof(SavedImage) : 0;
}

/// Where the images are.
size_t imagesAt(const rapt_context &c, const StateHeader &h) {
  return sizeof h + nameBytes(h) + textBytes(c, h.length);
}

/// How many images the state has; -1 where no sequence has as many. Its size is not checked yet.
int64_t countSavedImages(const rapt_context &c, const StateHeader &h, const char *state, size_t bytes) {
  int32_t count = 0;
  if (c.keepsImages() && bytes >= imagesAt(c, h) + sizeof count)
    memcpy(&count, state + imagesAt(c, h), sizeof count);
  return count < 0 || count > mostImages ? -1 : count;
}

char *saveImages(const Sequence &s, char *to) {
  const auto count = int32_t(s.images.count);
  to = static_cast<char *>(memcpy(to, &count, sizeof count)) + sizeof count;
  for (const ImageGrid *image = s.images.list; image != s.images.list + s.images.count; ++image) {
    const SavedImage saved = {image->begin, image->rows, image->columns};
    to = static_cast<char *>(memcpy(to, saved.data(), sizeof saved)) + sizeof saved;
  }
  return to;
}

/// Gives the sequence the images from `from` on; false where it has not the tokens for them.
bool loadImages(const rapt_context &c, Sequence &s, const char *from) {
  int32_t count;
  memcpy(&count, from, sizeof count);
  from += sizeof count;
  for (int64_t end = 0; s.images.next < count; from += sizeof(SavedImage)) {
    SavedImage saved;
    memcpy(saved.data(), from, sizeof saved);
    const auto [begin, rows, columns] = saved;
    if (begin < end || begin >= s.length || rows < 1 || columns < 1 || int64_t(rows) * columns > c.limits.positions)
      return false;
    addImage(s.images, begin, rows, columns);
    end = s.images.list[s.images.next - 1].end();
  }
  s.images.count = s.images.next;
  return true;
}

/// Cache blocks of a sequence's tokens and of its source, once checkLengths has found the numbers right.
int64_t ownBlocks(const rapt_context &c, const StateHeader &h, int k) {
  return k < c.cacheCount ? c.blocksFor(int64_t(h.length)) - int64_t(h.firstBlock[k]) : 0;
}
int64_t sourceBlocks(const rapt_context &c, const StateHeader &h) {
  return h.sourceLength == noSource ? 0 : c.sourceBlocksFor(int64_t(h.sourceLength));
}

/// The lengths are ones that a sequence of this model can have, and `bytes` is what they take.
rapt_status checkLengths(const rapt_context &c, const StateHeader &h, int64_t images, size_t bytes,
                         const Report &report) {
  const bool hasSource = h.sourceLength != noSource;
  if (h.length > uint64_t(c.limits.positions))
    return report.fail(RAPT_TOO_LONG, "the saved state has %llu tokens, the model %lld positions", ull(h.length),
                       (long long)c.limits.positions);
  if (hasSource && !c.encode.code)
    return report.fail(RAPT_MISMATCH, "the saved state has a source, but the model's sequences take none");
  if (hasSource && h.sourceLength > uint64_t(c.limits.longestSource))
    return report.fail(RAPT_TOO_LONG, "the saved state has a source of %llu tokens, the model %lld positions",
                       ull(h.sourceLength), (long long)c.limits.longestSource);
  for (int k = 0; k < mostCaches; ++k)
    if (h.firstBlock[k] > uint64_t(c.caches[k].firstRead(int64_t(h.length)) / c.limits.block))
      return report.fail(
          RAPT_MISMATCH,
          "the saved state keeps the blocks from %llu on; this model's windows of %lld tokens behind %llu "
          "read earlier ones",
          ull(h.firstBlock[k]), (long long)c.caches[k].window, ull(h.length));
  if (images < 0)
    return report.fail(RAPT_BAD_FILE, "the saved state has not 0 to %lld images", (long long)mostImages);
  uint64_t expected = imagesAt(c, h) + imageBytes(c, images) + uint64_t(sourceBlocks(c, h)) * h.blockBytes[0] +
                      uint64_t(c.limits.stateBytes());
  for (int k = 0; k < mostCaches; ++k)
    expected += uint64_t(ownBlocks(c, h, k)) * h.blockBytes[k];
  if (bytes != expected)
    return report.fail(RAPT_BAD_FILE, "the saved state has %zu bytes; %llu tokens and %llu of a source take %llu",
                       bytes, ull(h.length), hasSource ? ull(h.sourceLength) : 0, ull(expected));
  return RAPT_OK;
}

/// Copies blocks into the state; returns the offset behind them.
char *saveBlocks(LayerCache &cache, const int32_t *table, int64_t count, char *to) {
  for (int64_t i = 0; i < count; ++i, to += cache.blockBytes)
    cache.blocks.read(to, table[i]);
  return to;
}

/// Takes blocks and fills them from the state; returns the offset behind the bytes read.
const char *loadBlocks(LayerCache &cache, int32_t *table, int64_t count, const char *from) {
  for (int64_t i = 0; i < count; ++i, from += cache.blockBytes)
    cache.blocks.write(table[i] = cache.blocks.allocate(/*isFilled=*/true), from);
  return from;
}

rapt_status checkState(const rapt_context &c, const StateHeader &h, const char *state, size_t bytes,
                       const Report &report) {
  StateHeader mine = describe(c, h.length, h.sourceLength);
  if (h.magic != stateMagic)
    return report.fail(RAPT_BAD_FILE, "the saved state is not one of Rapt");
  if (h.version != stateVersion && h.version != stateVersionOfAdapters)
    return report.fail(RAPT_MISMATCH, "the saved state has version %u, this runtime (Rapt %s) reads version %u and %u",
                       h.version, rapt_version(), stateVersion, stateVersionOfAdapters);
  if (memcmp(h.interfaceId, mine.interfaceId, 16) || memcmp(h.contentId, mine.contentId, 16)) {
    Id theirs[2], ours[2];
    memcpy(theirs, h.interfaceId, 32);
    memcpy(ours, mine.interfaceId, 32);
    return report.fail(RAPT_MISMATCH,
                       "the saved state is of a model with interface %s and weights %s, this one has %s and %s",
                       show(theirs[0]).text, show(theirs[1]).text, show(ours[0]).text, show(ours[1]).text);
  }
  if (memcmp(h.layout, mine.layout, sizeof h.layout) || memcmp(h.dtype, mine.dtype, sizeof h.dtype) ||
      h.block != mine.block || memcmp(h.blockBytes, mine.blockBytes, sizeof h.blockBytes))
    return report.fail(
        RAPT_MISMATCH,
        "the saved state has layout %.31s, dtype %.7s, %u tokens in %llu bytes; this model has %s, %s, %u "
        "in %llu",
        h.layout, h.dtype, h.block, ull(h.blockBytes[0] + h.blockBytes[1]), mine.layout, mine.dtype, mine.block,
        ull(mine.blockBytes[0] + mine.blockBytes[1]));
  return checkLengths(c, h, countSavedImages(c, h, state, bytes), bytes, report);
}

/// The adapter whose name is behind the header; the checksum is right.
rapt_status findSaved(const Manifest &manifest, const char *name, int32_t &adapter, const Report &report) {
  if (!memchr(name, 0, adapterBytes) || !*name)
    return report.fail(RAPT_BAD_FILE, "the saved state has no name of an adapter");
  return findAdapter(manifest, name, adapter, report) ? RAPT_MISMATCH : RAPT_OK;
}

/// Gives a sequence of some length its states. It keeps none of fewer tokens, but for the zeros before a text without a
/// source.
void loadStates(rapt_context &c, Sequence &s, const char *from, bool hasSource) {
  c.states.write(s.state = c.states.allocate(/*isFilled=*/true), from);
  if (!c.limits.keepEvery)
    return;
  s.kept[0] = hasSource ? noState : 0;
  c.skipStates(s);
  if (s.length % c.limits.keepEvery == 0)
    s.kept[s.keptEnd - 1] = c.shareState(s.state);
}

static_assert(offsetof(StateHeader, contentId) == offsetof(StateHeader, interfaceId) + 16, "copied as a pair");

} // namespace

extern "C" {

rapt_status rapt_sequence_save(rapt_context *context, rapt_sequence sequence, void *buffer, size_t capacity,
                               size_t *bytes, char *message, size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  Sequence *s = findOrTell(*context, sequence, report);
  if (!s)
    return RAPT_INVALID;
  if (!bytes)
    return report.fail(RAPT_INVALID, "the pointer to the state's size is NULL");
  const Limits &l = context->limits;
  if (s->isStale)
    return report.fail(RAPT_UNSUPPORTED, "the sequence's keys are computed again by its next step, as the last one "
                                         "that did so failed: it is saved after that");
  const size_t nameSize = s->adapter ? adapterBytes : 0, textSize = textBytes(*context, uint64_t(s->length));
  *bytes = sizeof(StateHeader) + nameSize + textSize + imageBytes(*context, s->images.count) +
           size_t(s->sourceBlocks) * size_t(context->caches[0].blockBytes) + size_t(l.stateBytes());
  for (int k = 0; k < context->cacheCount; ++k)
    *bytes += size_t(s->tables[k].end - s->tables[k].first) * size_t(context->caches[k].blockBytes);
  if (!buffer)
    return RAPT_OK;
  if (capacity < *bytes)
    return report.fail(RAPT_FULL, "the state takes %zu bytes, the buffer has %zu", *bytes, capacity);
  StateHeader header = describe(*context, uint64_t(s->length), s->hasSource ? uint64_t(s->sourceLength) : noSource);
  char *data = static_cast<char *>(buffer) + sizeof header, *to = data + nameSize;
  if (s->adapter) {
    header.version = stateVersionOfAdapters;
    strncpy(data, context->module->manifest->lists.adapters[size_t(s->adapter) - 1], adapterBytes);
  }
  if (textSize) {
    const int32_t isLong = s->isLong;
    memcpy(to, &isLong, sizeof isLong);
    memcpy(to + sizeof isLong, s->tokens, textSize - sizeof isLong);
    to += textSize;
  }
  if (context->keepsImages())
    to = saveImages(*s, to);
  for (int k = 0; k < context->cacheCount; ++k) {
    const BlockTable &table = s->tables[k];
    header.firstBlock[k] = uint64_t(table.first);
    to = saveBlocks(context->caches[k], table.blocks + table.first, table.end - table.first, to);
  }
  to = saveBlocks(context->caches[0], s->sourceTable, s->sourceBlocks, to);
  context->states.read(to, s->state);
  to += l.stateBytes();
  if (rapt_status status = context->execution.wait(report))
    return status;
  header.checksum = XXH3_64bits_withSeed(data, size_t(to - data), headerSeed(header));
  memcpy(buffer, &header, sizeof header);
  return RAPT_OK;
}

rapt_status rapt_sequence_load(rapt_context *context, const void *state, size_t bytes, rapt_sequence *sequence,
                               char *message, size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  if (sequence)
    *sequence = 0;
  if (!state || !sequence)
    return report.fail(RAPT_INVALID, "the %s is NULL", state ? "pointer to the sequence" : "saved state");
  StateHeader header;
  if (bytes < sizeof header)
    return report.fail(RAPT_BAD_FILE, "the saved state has %zu bytes, fewer than its header's %zu", bytes,
                       sizeof header);
  memcpy(&header, state, sizeof header);
  rapt_status status = checkState(*context, header, static_cast<const char *>(state), bytes, report);
  if (status)
    return status;
  const char *blocks = static_cast<const char *>(state) + sizeof header;
  if (XXH3_64bits_withSeed(blocks, bytes - sizeof header, headerSeed(header)) != header.checksum)
    return report.fail(RAPT_BAD_FILE, "the saved state's checksum is wrong: it is damaged");
  int32_t adapter = 0;
  if (nameBytes(header) && (status = findSaved(*context->module->manifest, blocks, adapter, report)))
    return status;
  blocks += nameBytes(header);
  const Limits &l = context->limits;
  for (int k = 0; k < context->cacheCount; ++k) {
    LayerCache &cache = context->caches[k];
    const int64_t need = ownBlocks(*context, header, k) + (k == 0 ? sourceBlocks(*context, header) : 0);
    if (need > cache.available())
      return report.fail(RAPT_FULL, "the saved state's %llu tokens need %lld cache blocks, %lld of %lld are free",
                         ull(header.length), (long long)need, (long long)cache.available(), (long long)l.blocks);
    if (!cache.blocks.reserve(context->memory, need, cache.most))
      return context->execution.cause(
          report.fail(RAPT_NOMEM, "no memory for a sequence's %lld cache blocks", (long long)need), report);
  }
  if (context->hasStates() && !context->states.reserve(context->memory, 1))
    return context->execution.cause(report.fail(RAPT_NOMEM, "no memory for a sequence's state"), report);
  if ((status = context->newSequence(*sequence, report)))
    return status;
  Sequence &s = *context->find(*sequence);
  s.adapter = adapter;
  s.length = int64_t(header.length);
  if (const size_t textSize = textBytes(*context, header.length)) {
    int32_t isLong;
    memcpy(&isLong, blocks, sizeof isLong);
    s.isLong = isLong != 0 || s.length > context->entry.shortText;
    memcpy(s.tokens, blocks + sizeof isLong, textSize - sizeof isLong);
    blocks += textSize;
  }
  if (context->keepsImages()) {
    if (!loadImages(*context, s, blocks)) {
      context->endSequence(s);
      *sequence = 0;
      return report.fail(RAPT_BAD_FILE, "the saved state has images that its %llu tokens do not have",
                         ull(header.length));
    }
    blocks += imageBytes(*context, s.images.count);
  }
  if (context->hasStates()) // nothing fails from here on, as a GPU may still be reading the saved state
    loadStates(*context, s, static_cast<const char *>(state) + bytes - l.stateBytes(), header.sourceLength != noSource);
  for (int k = 0; k < context->cacheCount; ++k) {
    BlockTable &table = s.tables[k];
    table.first = int64_t(header.firstBlock[k]);
    table.end = context->blocksFor(s.length);
    memset(table.blocks, 0, size_t(table.first) * sizeof(int32_t));
    blocks = loadBlocks(context->caches[k], table.blocks + table.first, table.end - table.first, blocks);
  }
  if (header.sourceLength != noSource) {
    s.hasSource = true;
    s.sourceLength = int64_t(header.sourceLength);
    s.sourceBlocks = sourceBlocks(*context, header);
    loadBlocks(context->caches[0], s.sourceTable, s.sourceBlocks, blocks);
  }
  if ((status = context->execution.wait(report))) { // for copies to a GPU
    context->endSequence(s);
    *sequence = 0;
  }
  return status;
}
}
