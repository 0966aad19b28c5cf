#include "lib/Runtime/Context.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace rapt::runtime;

// A name is generation << 32 | slot + 1, so that a freed sequence's is never met again.

rapt_sequence rapt_context::name(const Sequence &sequence) const {
  return uint64_t(sequence.generation) << 32 | uint64_t(&sequence - slots.data() + 1);
}

Sequence *rapt_context::find(rapt_sequence sequence) {
  uint64_t slot = (sequence & UINT32_MAX) - 1;
  if (slot >= slots.size() || !slots[slot].live || slots[slot].generation != sequence >> 32)
    return nullptr;
  return &slots[slot];
}

void rapt_context::dropBlocks(Sequence &sequence, int64_t from) {
  for (int k = 0; k < cacheCount; ++k) {
    BlockTable &table = sequence.tables[k];
    while (table.end > std::max(from, table.first))
      caches[k].blocks.drop(table.blocks[--table.end]);
    table.first = std::min(table.first, from); // all of them go then
    table.end = std::min(table.end, std::max(from, table.first));
  }
}

void rapt_context::forgetBefore(Sequence &sequence, int64_t position) {
  for (int k = 0; k < cacheCount; ++k) {
    BlockTable &table = sequence.tables[k];
    const int64_t first = std::min(caches[k].firstRead(std::max<int64_t>(position, 0)) / limits.block, table.end);
    for (; table.first < first; ++table.first) {
      caches[k].blocks.drop(table.blocks[table.first]);
      table.blocks[table.first] = 0;
    }
  }
}

void rapt_context::dropSource(Sequence &sequence) {
  while (sequence.sourceBlocks > 0)
    caches[0].blocks.drop(sequence.sourceTable[--sequence.sourceBlocks]);
  sequence.sourceLength = 0;
  sequence.hasSource = false;
}

int32_t rapt_context::shareState(int32_t slot) {
  if (slot > 0)
    states.share(slot);
  return slot;
}

void rapt_context::dropState(int32_t slot) {
  if (slot > 0)
    states.drop(slot);
}

int64_t rapt_context::lastKept(const Sequence &sequence, int64_t wanted) const {
  auto keepsAll = [&](int64_t length) {
    for (int k = 0; k < cacheCount; ++k)
      if (!keeps(sequence, k, length))
        return false;
    return sequence.kept[length / limits.keepEvery] != noState;
  };
  if (wanted == sequence.length)
    return wanted;
  if (!limits.keepEvery) // without a source the states before the first token are zeros
    return sequence.hasSource ? -1 : 0;
  int64_t length = wanted / limits.keepEvery * limits.keepEvery;
  while (length > 0 && !keepsAll(length))
    length -= limits.keepEvery;
  return length || sequence.kept[0] != noState ? length : -1;
}

void rapt_context::returnToState(Sequence &sequence, int64_t length) {
  dropState(std::exchange(sequence.state, 0));
  if (!limits.keepEvery)
    return;
  sequence.state = shareState(sequence.kept[length / limits.keepEvery]);
  while (sequence.keptEnd > limits.keptUntil(length))
    dropState(sequence.kept[--sequence.keptEnd]);
}

void rapt_context::skipStates(Sequence &sequence) {
  while (sequence.keptEnd < limits.keptUntil(sequence.length))
    sequence.kept[sequence.keptEnd++] = noState;
}

int64_t rapt_context::blocksFor(int64_t length) const {
  return entry.has(Role::BlockTable) ? ceilDivide(length, limits.block) : 0;
}

int64_t rapt_context::sourceBlocksFor(int64_t length) const {
  return encode.code && encode.has(Role::SourceTable) ? ceilDivide(length, limits.block) : 0;
}

// Their positions are of rows and columns, or tokens of an image see one another.
bool rapt_context::keepsImages() const { return entry.has(Role::RotaryPositions) || entry.has(Role::SeenEnd); }

size_t rapt_context::tableBytes() const {
  const int64_t integers = limits.table * mostCaches + (encode.code ? limits.sourceTable : 0) + entry.shortText +
                           limits.keptUntil(limits.positions);
  return size_t(integers) * sizeof(int32_t) + (keepsImages() ? imageListBytes : 0);
}

/// The first free slot, after doubling their number when there is none. Null when there is no memory.
static Sequence *freeSlot(rapt_context &c) {
  if (c.firstFree)
    return &c.slots[c.firstFree - 1];
  size_t used = c.slots.size(), wanted = used ? 2 * used : 8;
  Array<Sequence> more;
  if (wanted > UINT32_MAX || !more.allocate(c.memory, wanted, true))
    return nullptr;
  if (used)
    memcpy(more.data(), c.slots.data(), used * sizeof(Sequence));
  for (size_t i = used; i + 1 < wanted; ++i)
    more[i].nextFree = uint32_t(i + 2);
  c.slots.swap(more);
  c.firstFree = uint32_t(used + 1);
  return &c.slots[used];
}

rapt_status rapt_context::newSequence(rapt_sequence &sequence, const Report &report) {
  if (!entry.code)
    return report.fail(RAPT_UNSUPPORTED, "the model %s keeps no sequences: run its entries with rapt_run",
                       module->manifest->name.c_str());
  Sequence *slot = freeSlot(*this);
  int32_t *table = slot ? slot->tables[0].blocks : nullptr;
  if (slot && !table)
    table = static_cast<int32_t *>(memory.allocate(tableBytes()));
  if (!slot || !table)
    return report.fail(RAPT_NOMEM, "no memory for a sequence");
  uint32_t generation = slot->generation + 1;
  firstFree = slot->nextFree;
  *slot = {};
  for (BlockTable &one : slot->tables) {
    one.blocks = table;
    one.replaced = -1;
    table += limits.table;
  }
  slot->sourceTable = encode.code ? table : nullptr;
  slot->tokens = table + (encode.code ? limits.sourceTable : 0);
  slot->kept = slot->tokens + entry.shortText;
  slot->images.list = reinterpret_cast<ImageGrid *>(slot->kept + limits.keptUntil(limits.positions));
  if (limits.keepEvery)
    slot->kept[slot->keptEnd++] = 0;
  slot->generation = generation;
  slot->adapter = adapter;
  slot->live = true;
  sequence = name(*slot);
  return RAPT_OK;
}

void rapt_context::endSequence(Sequence &sequence) {
  dropBlocks(sequence, 0);
  dropSource(sequence);
  dropState(sequence.state);
  while (sequence.keptEnd > 0)
    dropState(sequence.kept[--sequence.keptEnd]);
  sequence.live = false;
  if (sequence.generation == UINT32_MAX)
    return; // another use would have a name that was there before
  sequence.nextFree = firstFree;
  firstFree = uint32_t(&sequence - slots.data() + 1);
}

rapt_status rapt::runtime::findAdapter(const Manifest &manifest, const char *name, int32_t &adapter,
                                       const Report &report) {
  adapter = 0;
  if (!name)
    return RAPT_OK;
  const std::vector<std::string> &names = manifest.adapters;
  if (const auto found = std::find(names.begin(), names.end(), name); found != names.end()) {
    adapter = int32_t(found - names.begin()) + 1;
    return RAPT_OK;
  }
  char known[512] = "";
  for (size_t i = 0, used = 0; i < names.size() && used < sizeof known; ++i)
    used += size_t(snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "; it has ", names[i].c_str()));
  return report.fail(RAPT_INVALID, "the model %s has no adapter %.64s%s", manifest.name.c_str(), name, known);
}

Sequence *rapt::runtime::findOrTell(rapt_context &context, rapt_sequence sequence, const Report &report) {
  Sequence *found = context.find(sequence);
  if (!found)
    report.fail(RAPT_INVALID, "sequence %llu does not exist in this context", (unsigned long long)sequence);
  return found;
}

extern "C" {

rapt_status rapt_sequence_new(rapt_context *context, rapt_sequence *sequence, char *message, size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  if (!sequence)
    return report.fail(RAPT_INVALID, "the pointer to the sequence is NULL");
  *sequence = 0;
  return context->newSequence(*sequence, report);
}

rapt_status rapt_sequence_set_adapter(rapt_context *context, rapt_sequence sequence, const char *name, char *message,
                                      size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  Sequence *found = findOrTell(*context, sequence, report);
  if (!found)
    return RAPT_INVALID;
  int32_t adapter;
  if (rapt_status status = findAdapter(*context->module->manifest, name, adapter, report))
    return status;
  if (found->length > 0 && adapter != found->adapter)
    return report.fail(RAPT_INVALID, "the sequence has %lld tokens of another adapter; truncate it to 0 first",
                       (long long)found->length);
  if (found->hasSource && adapter != found->adapter)
    return report.fail(RAPT_INVALID, "the sequence has a source, which another adapter has read; free it instead");
  found->adapter = adapter;
  return RAPT_OK;
}

const char *rapt_sequence_adapter(const rapt_context *context, rapt_sequence sequence) {
  Use use(context, Report(nullptr, 0));
  const Sequence *found = use.status ? nullptr : const_cast<rapt_context *>(context)->find(sequence);
  return found && found->adapter ? context->module->manifest->lists.adapters[size_t(found->adapter) - 1] : nullptr;
}

rapt_status rapt_sequence_free(rapt_context *context, rapt_sequence sequence, char *message, size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  Sequence *found = findOrTell(*context, sequence, report);
  if (!found)
    return RAPT_INVALID;
  context->endSequence(*found);
  return RAPT_OK;
}

int64_t rapt_sequence_length(const rapt_context *context, rapt_sequence sequence) {
  Use use(context, Report(nullptr, 0));
  const Sequence *found = use.status ? nullptr : const_cast<rapt_context *>(context)->find(sequence);
  return found ? found->length : -1;
}

rapt_status rapt_sequence_truncate(rapt_context *context, rapt_sequence sequence, int64_t length, char *message,
                                   size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  Sequence *found = findOrTell(*context, sequence, report);
  if (!found)
    return RAPT_INVALID;
  if (length < 0 || length > found->length)
    return report.fail(RAPT_INVALID, "cannot truncate to %lld tokens: the sequence has %lld", (long long)length,
                       (long long)found->length);
  const int64_t nearest = context->hasStates() ? context->lastKept(*found, length) : length;
  if (nearest < 0)
    return report.fail(RAPT_UNSUPPORTED,
                       "cannot truncate to %lld tokens: the sequence keeps no state of as few, but that after %lld",
                       (long long)length, (long long)found->length);
  if (nearest < length)
    return report.fail(RAPT_UNSUPPORTED,
                       "cannot truncate to %lld tokens: the sequence keeps no state of that length; the nearest one "
                       "below is %lld",
                       (long long)length, (long long)nearest);
  for (int k = 0; k < context->cacheCount && length > 0; ++k)
    if (!context->keeps(*found, k, length))
      return report.fail(
          RAPT_UNSUPPORTED,
          "cannot truncate to %lld tokens: layers with a window of %lld keep those from %lld on; truncate "
          "to 0, or to %lld or more, or set window_slack",
          (long long)length, (long long)context->caches[k].window,
          (long long)(found->tables[k].first * context->limits.block),
          (long long)(found->tables[k].first * context->limits.block + context->caches[k].window - 1));
  for (int64_t n = 0; context->entry.has(Role::SeenEnd) && n < found->images.count; ++n)
    if (const ImageGrid &image = found->images.list[n]; image.begin < length && length < image.end())
      return report.fail(RAPT_UNSUPPORTED,
                         "cannot truncate to %lld tokens: they end within image tokens that have seen one another; "
                         "truncate to %d or to %lld",
                         (long long)length, image.begin, (long long)image.end());
  if (length < found->length)
    context->returnToState(*found, length);
  context->dropBlocks(*found, context->blocksFor(length));
  found->length = length;
  forgetImages(found->images, length);
  if (length == 0)
    found->isLong = found->isStale = false;
  return RAPT_OK;
}

rapt_status rapt_sequence_fork(rapt_context *context, rapt_sequence sequence, rapt_sequence *fork, char *message,
                               size_t message_size) {
  Report report(message, message_size);
  Use use(context, report);
  if (use.status)
    return use.status;
  if (!fork)
    return report.fail(RAPT_INVALID, "the pointer to the fork is NULL");
  *fork = 0;
  if (!findOrTell(*context, sequence, report))
    return RAPT_INVALID;
  if (rapt_status status = context->newSequence(*fork, report))
    return status;
  const Sequence &from = *context->find(sequence); // slots may have moved
  Sequence &to = *context->find(*fork);
  to.length = from.length;
  to.adapter = from.adapter;
  to.isLong = from.isLong;
  to.isStale = from.isStale;
  memcpy(to.tokens, from.tokens, size_t(std::min(from.length, context->entry.shortText)) * sizeof(int32_t));
  std::copy_n(from.images.list, from.images.count, to.images.list);
  to.images.count = from.images.count;
  for (int k = 0; k < context->cacheCount; ++k) {
    const BlockTable &old = from.tables[k];
    BlockTable &table = to.tables[k];
    table.first = old.first;
    table.end = old.end;
    memcpy(table.blocks, old.blocks, size_t(old.end) * sizeof(int32_t));
    for (int64_t i = old.first; i < old.end; ++i)
      context->caches[k].blocks.share(old.blocks[i]);
  }
  to.state = context->shareState(from.state);
  for (to.keptEnd = 0; to.keptEnd < from.keptEnd; ++to.keptEnd)
    to.kept[to.keptEnd] = context->shareState(from.kept[to.keptEnd]);
  to.hasSource = from.hasSource;
  to.sourceLength = from.sourceLength;
  to.sourceBlocks = from.sourceBlocks;
  for (int64_t i = 0; i < from.sourceBlocks; ++i)
    context->caches[0].blocks.share(to.sourceTable[i] = from.sourceTable[i]);
  return RAPT_OK;
}
}
