// A step: compute again what a sequence that outgrows short texts has in the cache (LongTexts.h), check everything,
// take the blocks, run the chunks part by part, and only then let the sequences grow. Blocks of layers with a window
// are taken part by part, for a long chunk needs few of them at a time.
#include "lib/Runtime/EntryCall.h"
#include "lib/Runtime/LongTexts.h"
#include "lib/Runtime/Top.h"
#include <algorithm>
#include <cstddef>
#include <cstring>

namespace rapt::runtime {
namespace {

using ll = long long;

class Step : SequenceCall {
public:
  Step(rapt_context &context, const StructArray<rapt_chunk> &chunks, size_t count, const Report &report,
       const StructArray<const rapt_top> *tops)
      : SequenceCall(context, context.entry, {"chunk", "step"}, count, report), chunks(chunks), tops(tops) {}
  rapt_status run();

private:
  rapt_status check();
  rapt_status lengthen();
  rapt_status checkChunk(size_t i);
  rapt_status checkEmbeddings(size_t i) const;
  rapt_status checkGrids(size_t i, Sequence &s) const;
  rapt_status checkWholeImages(size_t i, Sequence &s);
  /// Whether the sequence's last block of cache `k` is not full and shared, so that new tokens need a copy of it.
  bool copiesLast(const Sequence &s, int k) const {
    return s.tables[k].end && s.length % l.block &&
           c.caches[k].blocks.isShared(s.tables[k].blocks[s.tables[k].end - 1]);
  }
  /// Slots that the chunk's states take: the last ones, and those that its sequence keeps of fewer tokens.
  int64_t slotsOf(const rapt_chunk &chunk, const Sequence &s) const {
    return 1 + l.keptUntil(s.length + chunk.count - 1) - l.keptUntil(s.length);
  }
  /// Blocks of cache `k` that the chunk takes, most at a time.
  int64_t blocksOf(const rapt_chunk &chunk, const Sequence &s, int k) const;
  /// The first position to which the chunk's sequence can be truncated behind the step: its last part's, at most.
  int64_t truncatable(const rapt_chunk &chunk, const Sequence &s) const {
    return s.length + chunk.count - std::min(chunk.count, l.tokens) - l.slack;
  }
  rapt_status checkBlocks();
  rapt_status checkTop(size_t i);
  bool isTop(size_t i) const { return tops && (*tops)[i].count; }
  int64_t amongOf(size_t i) const { return (*tops)[i].among ? (*tops)[i].among : l.vocabulary; }
  void findChooser();
  rapt_status chooseOnDevice(EntryCall &call);
  void chooseOnHost();
  rapt_status placeLogits();
  void allocateBlocks(size_t i);
  void allocateUntil(int k, BlockTable &table, int64_t end, bool isPart);
  void allocateBlocksOfPart();
  void forgetPart();
  void keepStates(const Piece &piece);
  void giveBack(size_t i);
  void keep(size_t i);
  rapt_status runParts();
  rapt_status runPart();
  bool isDone() const { return entry.isSerial ? at >= longest : chunk >= count; }
  void collectPart();
  void collectColumn();
  bool isImage(const rapt_chunk &k, int64_t token) const { return k.tokens[token] == c.module->manifest->imageId(); }
  int64_t endOfImage(const rapt_chunk &k, int64_t token) const;
  int64_t withWholeImages(const rapt_chunk &k, int64_t take) const;
  bool addPiece();
  void addTokens(int64_t take, int64_t rowsHere);
  void fillArguments(int64_t table, int64_t sourceTable);
  int64_t fillEmbeddings();
  void fillSeenEnds();
  void scatter();
  Sequence &sequence(size_t chunk) { return *c.find(chunks[chunk].sequence); }

  StructArray<rapt_chunk> chunks;
  const StructArray<const rapt_top> *tops; ///< null: logits are wanted
  const Entry *chooser = nullptr;          ///< that finds all of them on a GPU, null where the host does
  int64_t neededBlocks[mostCaches] = {}, neededSlots = 0, longest = 0;
  size_t chunk = 0; ///< where the next part starts: chunk and token in it
  int64_t at = 0;
  int64_t embedding = 0; ///< the chunk's vector of the next token that stands for one
  // The part that is being put together:
  size_t rows = 0;
  int64_t tokens = 0, wanted = 0;
  float *direct = nullptr; ///< where all its logits go, null when they have to be scattered from `staged`
};

int64_t logitRows(const rapt_chunk &k) {
  return k.want == RAPT_LOGITS_ALL ? k.count : k.want == RAPT_LOGITS_LAST ? 1 : 0;
}

rapt_status Step::checkEmbeddings(size_t i) const {
  const rapt_chunk &k = chunks[i];
  const Manifest &m = *c.module->manifest;
  const float *embeddings = chunks.get(i, &rapt_chunk::embeddings);
  const size_t bytes = chunks.get(i, &rapt_chunk::embedding_bytes);
  if (!entry.has(Role::Embeddings))
    return embeddings ? report.fail(RAPT_INVALID, "chunk %zu has vectors of images, which the model %s does not read",
                                    i, m.name.c_str())
                      : RAPT_OK;
  const int64_t images = m.countPlaceholders(k.tokens, k.count);
  const uint64_t need = uint64_t(images) * uint64_t(entry.columns) * sizeof(float);
  if (need == 0 || (embeddings && bytes >= need && isAligned(embeddings)))
    return RAPT_OK;
  return report.fail(RAPT_INVALID,
                     "chunk %zu has %lld %s tokens and %zu bytes of vectors at %p; %llu bytes of floats [%lld, "
                     "%lld] are needed",
                     i, ll(images), m.audioToken ? "image and audio" : "image", bytes,
                     static_cast<const void *>(embeddings), (unsigned long long)need, ll(images), ll(entry.columns));
}

rapt_status Step::checkGrids(size_t i, Sequence &s) const {
  if (entry.has(Role::RotaryPositions))
    return placeImages(c, s, chunks, i, report);
  return chunks.get(i, &rapt_chunk::image_grids)
             ? report.fail(RAPT_INVALID, "chunk %zu has grids of images, which the model %s does not read", i,
                           c.module->manifest->name.c_str())
             : RAPT_OK;
}

/// The first token from `token` on that is no image token.
int64_t Step::endOfImage(const rapt_chunk &k, int64_t token) const {
  while (token < k.count && isImage(k, token))
    ++token;
  return token;
}

/// Tokens of an image that see one another are in one part of a step.
rapt_status Step::checkWholeImages(size_t i, Sequence &s) {
  const rapt_chunk &k = chunks[i];
  if (!entry.has(Role::SeenEnd))
    return RAPT_OK;
  SequenceImages &images = s.images;
  images.next = images.count;
  if (isImage(k, 0) && images.count && images.list[images.count - 1].end() == s.length)
    return report.fail(RAPT_INVALID,
                       "chunk %zu begins with image tokens, and its sequence ends with some: tokens of an image see "
                       "one another, so one chunk needs all of them",
                       i);
  for (int64_t begin = 0, end; begin < k.count; begin = end + 1) {
    if ((end = endOfImage(k, begin)) == begin)
      continue;
    if (end - begin > l.tokens)
      return report.fail(RAPT_TOO_LONG,
                         "chunk %zu has %lld image tokens in a row, which see one another; the context computes %lld "
                         "tokens together: give it a larger max_step_tokens",
                         i, ll(end - begin), ll(l.tokens));
    if (rapt_status status = checkRoom(images, i, report))
      return status;
    addImage(images, s.length + begin, 1, end - begin);
  }
  return RAPT_OK;
}

rapt_status Step::checkChunk(size_t i) {
  rapt_chunk &k = chunks[i];
  k.logits = nullptr;
  Sequence *s;
  if (rapt_status status = claim(i, k.sequence, s))
    return status;
  if (c.encode.code && !s->hasSource)
    return report.fail(RAPT_INVALID, "chunk %zu: its sequence has no source: give it one with rapt_encode first", i);
  if (rapt_status status = checkList(i, k.tokens, k.count, 1))
    return status;
  if (k.want < RAPT_LOGITS_NONE || k.want > RAPT_LOGITS_ALL)
    return report.fail(RAPT_INVALID, "chunk %zu wants logits %d, which is not 0, 1 or 2", i, k.want);
  if (k.count > l.positions - s->length)
    return report.fail(RAPT_TOO_LONG,
                       "chunk %zu: %lld tokens in the cache and %lld new ones; the model has %lld positions", i,
                       ll(s->length), ll(k.count), ll(l.positions));
  const uint64_t need = uint64_t(logitRows(k)) * uint64_t(l.vocabulary) * sizeof(float);
  if (rapt_status status = checkFloats(i, "output", k.output, k.output_bytes, need))
    return status;
  for (int cache = 0; cache < c.cacheCount; ++cache)
    neededBlocks[cache] += blocksOf(k, *s, cache);
  neededSlots += slotsOf(k, *s);
  total += k.count;
  longest = std::max(longest, k.count);
  rapt_status status = checkIds(i, k.tokens, k.count, l.vocabulary);
  if (!status)
    status = checkWholeImages(i, *s);
  if (!status)
    status = checkEmbeddings(i);
  return status ? status : checkGrids(i, *s);
}

rapt_status Step::checkTop(size_t i) {
  const rapt_top &top = (*tops)[i];
  if (top.count < 0 || top.count > mostTop)
    return report.fail(RAPT_INVALID, "top %zu asks for %lld tokens, not 0 to %lld", i, ll(top.count), ll(mostTop));
  if (!top.count)
    return RAPT_OK;
  if (chunks[i].want != RAPT_LOGITS_LAST || chunks[i].output)
    return report.fail(RAPT_INVALID, "chunk %zu has a top: it must want RAPT_LOGITS_LAST, without output", i);
  if (!top.ids || !top.logits || !isAligned(top.ids) || !isAligned(top.logits))
    return report.fail(RAPT_INVALID, "top %zu: its ids are at %p and its logits at %p", i, static_cast<void *>(top.ids),
                       static_cast<void *>(top.logits));
  if (top.among < 0 || top.among > l.vocabulary)
    return report.fail(RAPT_INVALID, "top %zu is among %lld ids, not 0 to %lld", i, ll(top.among), ll(l.vocabulary));
  return RAPT_OK;
}

/// Lets the GPU find the tokens if no chunk wants its logits, and none wants more tokens than the entries give.
void Step::findChooser() {
  int64_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    if (logitRows(chunks[i]) && !isTop(i))
      return;
    most = std::max(most, isTop(i) ? (*tops)[i].count : 0);
  }
  const Entry &wanted = most <= c.best.columns ? c.best : c.top;
  if (most && wanted.code && most <= wanted.columns)
    chooser = &wanted;
}

int64_t Step::blocksOf(const rapt_chunk &chunk, const Sequence &s, int k) const {
  int64_t taken = c.blocksFor(s.length + chunk.count) - s.tables[k].end;
  if (const int64_t window = c.caches[k].window; window && chunk.count > l.tokens)
    taken = std::min(taken, l.blocksOfWindow(window));
  return taken + copiesLast(s, k);
}

/// Layers with a window get more memory if need be: how many sequences there are is not known before.
rapt_status Step::checkBlocks() {
  for (int k = 0; k < c.cacheCount; ++k) {
    LayerCache &cache = c.caches[k];
    const char *of = cache.window ? " for layers with a window" : "";
    if (neededBlocks[k] > cache.available())
      return report.fail(
          RAPT_FULL,
          "the step's %lld tokens need %lld more cache blocks of %lld tokens%s, %lld are free: the cache "
          "holds %lld tokens",
          ll(total), ll(neededBlocks[k]), ll(l.block), of, ll(cache.available()), ll(l.blocks * l.block));
    if (!cache.blocks.reserve(c.memory, neededBlocks[k], cache.most))
      return report.fail(RAPT_NOMEM, "no memory for %lld more cache blocks of %lld tokens%s", ll(neededBlocks[k]),
                         ll(l.block), of);
  }
  return RAPT_OK;
}

/// Gives sequences that outgrow short texts the keys of long ones; what was checked is checked again then.
rapt_status Step::lengthen() {
  bool isAny = false;
  for (size_t i = 0; i < count; ++i)
    if (outgrows(c, sequence(i), chunks[i].count)) {
      isAny = true;
      if (rapt_status status = computeAgain(c, chunks[i].sequence, chunks[i].count, report))
        return status;
    }
  return isAny ? check() : RAPT_OK;
}

rapt_status Step::check() {
  ++c.steps;
  total = longest = neededSlots = 0;
  std::fill(std::begin(neededBlocks), std::end(neededBlocks), 0);
  for (size_t i = 0; i < count; ++i)
    if (rapt_status status = checkChunk(i); status || (tops && (status = checkTop(i))))
      return status;
  for (size_t i = 0; i < count; ++i)
    c.forgetBefore(sequence(i), sequence(i).length - l.slack);
  rapt_status status = checkBlocks();
  return status ? status : reserveStates(neededSlots);
}

/// Gives each chunk without memory of its own rows of the context's.
rapt_status Step::placeLogits() {
  int64_t own = 0;
  for (size_t i = 0; i < count; ++i)
    own += chunks[i].output || chooser ? 0 : logitRows(chunks[i]);
  uint64_t need;
  if (!multiply(uint64_t(own), uint64_t(l.vocabulary), need) ||
      (need > c.logits.size() && !c.logits.allocate(c.memory, need))) {
    if (!c.logits.data() && !c.logits.allocate(c.memory, l.vocabulary))
      return report.fail(RAPT_NOMEM, "no memory for any logits");
    return report.fail(RAPT_NOMEM, "no memory for %lld rows of logits of %lld floats", ll(own), ll(l.vocabulary));
  }
  int64_t row = 0;
  for (size_t i = 0; i < count && !chooser; ++i)
    if (int64_t rowsHere = logitRows(chunks[i])) {
      chunks[i].logits = chunks[i].output ? chunks[i].output : c.logits.data() + row * l.vocabulary;
      row += chunks[i].output ? 0 : rowsHere;
    }
  return RAPT_OK;
}

void Step::allocateBlocks(size_t i) {
  Sequence &s = sequence(i);
  s.stateRead = s.state;
  s.stateNext = c.hasStates() ? c.states.allocate() : 0;
  const bool isPart = count == 1 && chunks[i].count <= l.tokens && slotsOf(chunks[i], s) == 1 && !entry.isSerial;
  for (int k = 0; k < c.cacheCount; ++k) {
    BlockTable &table = s.tables[k];
    BlockPool &blocks = c.caches[k].blocks;
    table.before = table.fresh = table.end;
    table.replaced = -1;
    if (copiesLast(s, k)) {
      int32_t &last = table.blocks[table.end - 1];
      table.replaced = last; // held until the step succeeds
      int32_t copy = blocks.allocate(/*isFilled=*/true);
      blocks.copy(copy, last);
      last = copy;
    }
    if (!c.caches[k].window)
      allocateUntil(k, table, s.length + chunks[i].count, isPart);
  }
}

/// Allocates blocks for the positions up to `end`. An entry writes all tokens of a layer before it reads any, when the
/// chunk is one part.
void Step::allocateUntil(int k, BlockTable &table, int64_t end, bool isPart) {
  for (; table.end < c.blocksFor(end); ++table.end)
    table.blocks[table.end] = c.caches[k].blocks.allocate(isPart && (table.end + 1) * l.block <= end);
}

/// Allocates the part's blocks of layers with a window.
void Step::allocateBlocksOfPart() {
  for (size_t r = 0; r < rows; ++r) {
    const Piece &p = c.pieces[r];
    Sequence &s = sequence(p.chunk);
    for (int k = 0; k < c.cacheCount; ++k)
      if (c.caches[k].window)
        allocateUntil(k, s.tables[k], s.length + p.begin + p.count, /*isPart=*/rows == 1 && !entry.isSerial);
  }
}

/// Gives back the step's own blocks that neither the rest of it reads nor a query behind a truncation.
void Step::forgetPart() {
  for (size_t r = 0; r < rows; ++r) {
    const Piece &p = c.pieces[r];
    Sequence &s = sequence(p.chunk);
    const int64_t next = std::min(s.length + p.begin + p.count, truncatable(chunks[p.chunk], s));
    for (int k = 0; k < c.cacheCount; ++k) {
      BlockTable &table = s.tables[k];
      const int64_t first = c.caches[k].firstRead(std::max<int64_t>(next, 0)) / l.block;
      for (; table.fresh < std::min(first, table.end); ++table.fresh) {
        c.caches[k].blocks.drop(table.blocks[table.fresh]);
        table.blocks[table.fresh] = 0;
      }
    }
  }
}

/// The next part goes on from the states that this one left, in another slot where the sequence keeps these.
void Step::keepStates(const Piece &piece) {
  Sequence &s = sequence(piece.chunk);
  s.stateRead = s.stateNext;
  const int64_t end = piece.begin + piece.count;
  if (!l.keepEvery || (s.length + end) % l.keepEvery)
    return;
  s.kept[s.keptEnd++] = s.stateNext;
  if (end < chunks[piece.chunk].count)
    s.stateNext = c.states.allocate();
  else
    c.states.share(s.stateNext);
}

void Step::giveBack(size_t i) {
  Sequence &s = sequence(i);
  for (int k = 0; k < c.cacheCount; ++k) {
    BlockTable &table = s.tables[k];
    BlockPool &blocks = c.caches[k].blocks;
    while (table.end > table.fresh)
      blocks.drop(table.blocks[--table.end]);
    table.end = table.before;
    if (table.replaced >= 0) {
      blocks.drop(table.blocks[table.end - 1]);
      table.blocks[table.end - 1] = table.replaced;
    }
  }
  c.dropState(s.stateNext);
  while (s.keptEnd > l.keptUntil(s.length))
    c.dropState(s.kept[--s.keptEnd]);
  chunks[i].logits = nullptr;
}

/// Lets the chunk's sequence have its new tokens.
void Step::keep(size_t i) {
  Sequence &s = sequence(i);
  const int64_t first = truncatable(chunks[i], s);
  remember(c, s, chunks[i]);
  s.length += chunks[i].count;
  s.images.count = s.images.next;
  for (int k = 0; k < c.cacheCount; ++k) {
    BlockTable &table = s.tables[k];
    if (table.replaced >= 0)
      c.caches[k].blocks.drop(table.replaced);
    if (table.fresh == table.before)
      continue;
    // Blocks before those given back are no longer read.
    for (; table.first < table.before; ++table.first) {
      c.caches[k].blocks.drop(table.blocks[table.first]);
      table.blocks[table.first] = 0;
    }
    table.first = table.fresh;
  }
  c.forgetBefore(s, first);
  c.dropState(std::exchange(s.state, s.stateNext));
}

/// Adds `take` tokens of the chunk from `at` on, of which the last `rowsHere` want logits.
void Step::addTokens(int64_t take, int64_t rowsHere) {
  const rapt_chunk &k = chunks[chunk];
  if (rowsHere && !chooser) {
    float *to = const_cast<float *>(k.logits) + (k.want == RAPT_LOGITS_ALL ? at * l.vocabulary : 0);
    if (!wanted)
      direct = to;
    else if (direct && to != direct + wanted * l.vocabulary)
      direct = nullptr;
  }
  c.pieces[rows++] = {chunk, at, take, rowsHere, embedding};
  if (entry.has(Role::Embeddings))
    embedding += c.module->manifest->countPlaceholders(k.tokens + at, take);
  tokens += take;
  wanted += rowsHere;
}

/// The largest number of tokens up to `take` with which the part cuts no image whose tokens see one another.
int64_t Step::withWholeImages(const rapt_chunk &k, int64_t take) const {
  if (!entry.has(Role::SeenEnd) || at + take == k.count || !isImage(k, at + take))
    return take;
  while (take > 0 && isImage(k, at + take - 1))
    --take;
  return take;
}

/// Adds tokens of the next chunk to the part. False when the part is full. How a step is cut decides how its sums are
/// rounded, so it depends on counts alone, never on where the caller's memory lies.
bool Step::addPiece() {
  const rapt_chunk &k = chunks[chunk];
  int64_t take = std::min(k.count - at, l.tokens - tokens);
  if (l.keepEvery) // states are kept behind a part
    take = std::min(take, l.keepEvery - (sequence(chunk).length + at) % l.keepEvery);
  take = withWholeImages(k, take);
  int64_t rowsHere = k.want == RAPT_LOGITS_ALL ? take : k.want == RAPT_LOGITS_LAST && at + take == k.count;
  if (rowsHere && wanted) { // logits of several chunks may have to go through `staged`, which is small
    rowsHere = std::min(rowsHere, l.wanted - wanted);
    if (rowsHere < 1)
      return false;
    if (k.want == RAPT_LOGITS_ALL)
      rowsHere = take = withWholeImages(k, rowsHere);
  }
  if (take == 0) // an image, for which the next part has room
    return false;
  addTokens(take, rowsHere);
  at += take;
  if (at < k.count)
    return false; // a sequence has one row in a part
  ++chunk;
  at = embedding = 0;
  return true;
}

/// Adds token `at` of every chunk that has as many, up to the limits of a part.
void Step::collectColumn() {
  while (rows == 0 && !isDone()) {
    for (; chunk < count && int64_t(rows) < l.rows; ++chunk) {
      const rapt_chunk &k = chunks[chunk];
      if (at >= k.count)
        continue;
      bool wants = k.want == RAPT_LOGITS_ALL || (k.want == RAPT_LOGITS_LAST && at + 1 == k.count);
      if (wants && wanted == l.wanted)
        return;
      addTokens(1, wants);
    }
    if (chunk == count)
      chunk = 0, ++at;
  }
}

void Step::collectPart() {
  rows = 0;
  tokens = wanted = 0;
  direct = nullptr;
  if (entry.isSerial)
    return collectColumn();
  while (chunk < count && int64_t(rows) < l.rows && tokens < l.tokens && addPiece()) {
  }
}

/// Fills the arguments that the sequences and their tokens tell; the tables have these extents.
void Step::fillArguments(int64_t table, int64_t sourceTable) {
  auto argument = [&](Role role) { return entry.has(role) ? c.integers(role) : nullptr; };
  int32_t *const rowBegin = argument(Role::RowBegin), *const ids = argument(Role::Tokens),
                 *const want = argument(Role::Want), *const past = argument(Role::Past),
                 *const textLengths = argument(Role::TextLength), *const slots = argument(Role::StateSlot),
                 *const targets = argument(Role::StateTarget), *const sourceLengths = argument(Role::SourceLength),
                 *const sources = argument(Role::SourceTable), *const rotary = argument(Role::RotaryPositions),
                 *const blocks[mostCaches] = {argument(Role::BlockTable), argument(Role::WindowTable)};
  int64_t token = 0, next = 0;
  for (size_t r = 0; r < rows; ++r) {
    const Piece &p = c.pieces[r];
    const Sequence &s = sequence(p.chunk);
    rowBegin[r] = int32_t(token);
    if (past)
      past[r] = int32_t(s.length + p.begin);
    if (textLengths)
      textLengths[r] = int32_t(textLength(c, s, chunks[p.chunk].count));
    if (slots)
      slots[r] = s.stateRead, targets[r] = s.stateNext;
    if (rotary)
      fillRotaryPositions(s.images, s.length + p.begin, p.count, rotary + gridAxes * token);
    if (sourceLengths)
      sourceLengths[r] = int32_t(s.sourceLength);
    if (sources)
      fillTable(sources, r, sourceTable, s.sourceTable, s.sourceBlocks);
    for (int k = 0; k < mostCaches; ++k)
      if (blocks[k])
        fillTable(blocks[k], r, table, s.tables[k].blocks, std::min(s.tables[k].end, table));
    memcpy(ids + token, chunks[p.chunk].tokens + p.begin, size_t(p.count) * sizeof(int32_t));
    token += p.count;
    for (int64_t i = p.wanted; i > 0; --i)
      want[next++] = int32_t(token - i);
  }
  rowBegin[rows] = int32_t(token);
  fillSeenEnds();
}

/// Says how far the part's tokens see in layers with a window.
void Step::fillSeenEnds() {
  if (!entry.has(Role::SeenEnd))
    return;
  int32_t *const ends = c.integers(Role::SeenEnd);
  const int32_t *const rowBegin = c.integers(Role::RowBegin);
  for (size_t r = 0; r < rows; ++r) {
    const Piece &p = c.pieces[r];
    const rapt_chunk &k = chunks[p.chunk];
    const int64_t ahead = sequence(p.chunk).length;
    for (int64_t t = 0, end = 0; t < p.count; ++t) {
      if (t >= end)
        end = std::max(endOfImage(k, p.begin + t), p.begin + t + 1) - p.begin;
      ends[rowBegin[r] + t] = int32_t(ahead + p.begin + end);
    }
  }
}

/// Gives each of the part's tokens that stand for vectors its own. Returns how many there are.
int64_t Step::fillEmbeddings() {
  if (!entry.has(Role::Embeddings))
    return 0;
  const int64_t width = entry.columns;
  const Manifest &m = *c.module->manifest;
  const int32_t *const rowBegin = c.integers(Role::RowBegin), *const ids = c.integers(Role::Tokens);
  const bool namesTokens = entry.has(Role::EmbeddingTokens); // if not, each token names its vector
  int32_t *const named = c.integers(namesTokens ? Role::EmbeddingTokens : Role::EmbeddingOf);
  float *const vectors = c.numbers(Role::Embeddings);
  int32_t next = 0;
  for (size_t r = 0; r < rows; ++r) {
    const Piece &p = c.pieces[r];
    const int32_t first = next;
    for (int32_t t = rowBegin[r]; t < rowBegin[r + 1]; ++t) {
      const bool isPlaceholder = m.isPlaceholder(ids[t]);
      if (!namesTokens)
        named[t] = isPlaceholder ? next : -1;
      else if (isPlaceholder)
        named[next] = t;
      next += isPlaceholder;
    }
    if (next > first)
      memcpy(vectors + first * width, chunks.get(p.chunk, &rapt_chunk::embeddings) + p.embedding * width,
             size_t((next - first) * width) * sizeof(float));
  }
  if (namesTokens || next > 0)
    return next;
  memset(vectors, 0, size_t(width) * sizeof(float));
  return 1; // which no token names
}

void Step::scatter() {
  const float *from = c.staged.data();
  for (size_t r = 0; r < rows; ++r) {
    const Piece &p = c.pieces[r];
    if (!p.wanted)
      continue; // its chunk may have no buffer for logits
    const rapt_chunk &k = chunks[p.chunk];
    float *to = const_cast<float *>(k.logits) + (k.want == RAPT_LOGITS_ALL ? p.begin * l.vocabulary : 0);
    memcpy(to, from, p.wanted * l.vocabulary * sizeof(float));
    from += p.wanted * l.vocabulary;
  }
}

/// Finds the most likely tokens of the part's logits, which the GPU's memory holds.
rapt_status Step::chooseOnDevice(EntryCall &call) {
  int64_t row = 0;
  for (size_t r = 0; r < rows; ++r)
    if (c.pieces[r].wanted)
      c.integers(Role::Among)[row++] = int32_t(amongOf(c.pieces[r].chunk));
  c.choice->resident = chooser->bufferOf(Role::GivenLogits);
  call.logits = reinterpret_cast<void *>(c.arguments->addressOf(entry.bufferOf(Role::Logits)));
  if (rapt_status status = call.run(c.choice.get()))
    return status;
  row = 0;
  for (size_t r = 0; r < rows; ++r)
    if (c.pieces[r].wanted) {
      const rapt_top &top = (*tops)[c.pieces[r].chunk];
      const int64_t from = row++ * chooser->columns;
      memcpy(top.ids, c.integers(Role::TopIds) + from, size_t(top.count) * sizeof(int32_t));
      memcpy(top.logits, c.numbers(Role::TopLogits) + from, size_t(top.count) * sizeof(float));
    }
  return RAPT_OK;
}

void Step::chooseOnHost() {
  for (size_t r = 0; r < rows; ++r) {
    const size_t i = c.pieces[r].chunk;
    if (!c.pieces[r].wanted || !isTop(i))
      continue;
    findTop(chunks[i].logits, amongOf(i), (*tops)[i]);
    chunks[i].logits = nullptr;
  }
}

rapt_status Step::runPart() {
  int64_t table = 1, sourceTable = 1;
  for (size_t r = 0; r < rows; ++r) {
    const Piece &p = c.pieces[r];
    const Sequence &s = sequence(p.chunk);
    table = std::max(table, c.blocksFor(s.length + p.begin + p.count));
    sourceTable = std::max(sourceTable, s.sourceBlocks);
  }
  allocateBlocksOfPart();
  fillArguments(table, sourceTable);
  EntryCall call(c, entry, report);
  call[Dim::Tokens] = tokens;
  call[Dim::Rows] = int64_t(rows);
  call[Dim::Wanted] = wanted;
  call[Dim::Table] = table;
  call[Dim::SourceBlocks] = sourceTable;
  call[Dim::Embeddings] = fillEmbeddings();
  call[Dim::Adapted] = orderTokens(rows, [&](size_t row) { return sequence(c.pieces[row].chunk).adapter; });
  const bool choosesOnDevice = chooser && wanted;
  EntryCall choice(call, choosesOnDevice ? *chooser : entry);
  int64_t bytes = call.workspace();
  if (choosesOnDevice && bytes >= 0)
    bytes = std::max(bytes, choice.workspace());
  if (rapt_status status = c.reserveWorkspace(bytes, report))
    return status;
  const bool staged = wanted && !direct && !chooser;
  if (staged && !c.staged.data() && !c.staged.allocate(c.memory, l.wanted * l.vocabulary))
    return report.fail(RAPT_NOMEM, "no memory for %lld rows of logits", ll(l.wanted));
  call.logits = choosesOnDevice ? nullptr : staged ? c.staged.data() : direct ? direct : c.logits.data();
  rapt_status status = call.run();
  if (!status && staged)
    scatter();
  if (!status && choosesOnDevice)
    status = chooseOnDevice(choice);
  else if (!status && tops)
    chooseOnHost();
  for (size_t r = 0; r < rows && !status; ++r)
    keepStates(c.pieces[r]);
  for (size_t r = 0; r < rows && !status; ++r)
    c.copyMaps(entry, c.pieces[r].chunk, c.pieces[r].begin, c.integers(Role::RowBegin)[r], c.pieces[r].count);
  return status;
}

rapt_status Step::runParts() {
  while (!isDone()) {
    collectPart();
    if (rows == 0)
      break;
    if (rapt_status status = runPart())
      return status;
    forgetPart();
    if (rapt_status status = tell(tokens))
      return status;
  }
  return RAPT_OK;
}

rapt_status Step::run() {
  rapt_status status = check();
  if (!status && entry.shortText)
    status = lengthen();
  if (!status && tops)
    findChooser();
  if (!status)
    status = placeLogits();
  if (status)
    return status;
  for (size_t i = 0; i < count; ++i)
    allocateBlocks(i);
  status = runParts();
  if (!status) // the last moment at which the sequences can be left as they were
    status = c.execution.checkCancel(report);
  for (size_t i = 0; i < count; ++i) {
    if (status)
      giveBack(i);
    else
      keep(i);
  }
  return status;
}

} // namespace

rapt_status step(rapt_context &context, const StructArray<rapt_chunk> &chunks, size_t count, const Report &report,
                 const StructArray<const rapt_top> *tops) {
  return Step(context, chunks, count, report, tops).run();
}

} // namespace rapt::runtime

static rapt_status runStep(rapt_context *context, rapt_chunk *chunks, const rapt_top *const *tops, size_t count,
                           const rapt::runtime::Report &report) {
  using namespace rapt::runtime;
  return runCall(context, report, [&]() -> rapt_status {
    ProfiledCall call(context->execution.profile);
    if (!chunks || count == 0)
      return report.fail(RAPT_INVALID, "the step has no chunks");
    if (tops && !*tops)
      return report.fail(RAPT_INVALID, "the tops are NULL");
    StructArray<rapt_chunk> list;
    StructArray<const rapt_top> topList;
    rapt_status status = list.adopt(chunks, count, "rapt_chunk", report, offsetof(rapt_chunk, embeddings));
    if (!status && tops)
      status = topList.adopt(*tops, count, "rapt_top", report);
    return status ? status : step(*context, list, count, report, tops ? &topList : nullptr);
  });
}

extern "C" rapt_status rapt_step(rapt_context *context, rapt_chunk *chunks, size_t count, char *message,
                                 size_t message_size) {
  return runStep(context, chunks, nullptr, count, rapt::runtime::Report(message, message_size));
}

extern "C" rapt_status rapt_step_top(rapt_context *context, rapt_chunk *chunks, const rapt_top *tops, size_t count,
                                     char *message, size_t message_size) {
  return runStep(context, chunks, &tops, count, rapt::runtime::Report(message, message_size));
}
