//===- Context.h - Cache, sequences and workspace ------------------------------===//
//
// A context owns a pool of cache blocks. A sequence is a table of blocks; forks
// share blocks, and a block is copied before a sequence that shares it writes
// into it. A step takes the blocks it will need and gives them back unless it
// succeeds, so that it is all or nothing.
//
// Layers with a window have a pool of their own where others have none. There a
// sequence gives back the blocks that no later query reads. A part of a step gives
// back those of the step alone; the sequence's of before stay until it succeeds.
//
// A sequence's states, of recurrent cells, linear attention and short convolutions, are parts of one slot. A step reads
// its sequence's slot and writes another one: nobody writes a slot that a sequence has, so that forks share it, and a
// sequence can keep those of earlier lengths.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/CallerStruct.h"
#include "lib/Runtime/DeviceArguments.h"
#include "lib/Runtime/DeviceGraphs.h"
#include "lib/Runtime/DeviceTimes.h"
#include "lib/Runtime/Entry.h"
#include "lib/Runtime/Execution.h"
#include "lib/Runtime/ImageGrids.h"
#include "lib/Runtime/Memory.h"
#include "lib/Runtime/Module.h"
#include "lib/Runtime/Profile.h"
#include "rapt/rapt_top.h"
#include <numeric>
#include <unistd.h>

namespace rapt::runtime {

/// Sizes of a context, fixed when it is made.
struct Limits {
  int64_t block, blocks;        ///< tokens; most blocks of a cache
  int64_t tokens, rows, wanted; ///< of one part of a step
  int64_t table, sourceTable;   ///< blocks of the longest sequence, and of the longest source
  int64_t positions, vocabulary;
  int64_t longestSource;    ///< positions of it
  int64_t sourceVocabulary; ///< ids that the encoder reads
  SlotBytes slotBytes;      ///< of the parts of a sequence's states
  int64_t keepEvery;        ///< tokens between the states that a sequence keeps, 0: none
  int64_t slack;            ///< tokens by which a sequence can always be truncated

  /// Bytes of a sequence's states; 0: the model has none.
  int64_t stateBytes() const { return std::accumulate(slotBytes.begin(), slotBytes.end(), int64_t(0)); }
  /// How many of Sequence::kept a sequence of `length` tokens has.
  int64_t keptUntil(int64_t length) const { return keepEvery ? length / keepEvery + 1 : 0; }

  /// The most blocks that one chunk of a step takes at a time in layers with a window.
  int64_t blocksOfWindow(int64_t window) const { return ceilDivide(window - 1 + slack + tokens, block) + 1; }
};

/// A sequence's blocks in one cache.
struct BlockTable {
  int32_t *blocks;    ///< [Limits::table], kept when the sequence ends; 0 before `first`, where no query reads
  int64_t first, end; ///< entries that the sequence holds
  // While a step runs:
  int64_t before;   ///< `end` before it
  int64_t fresh;    ///< [fresh, end) are the step's own; those of [before, fresh) are given back already
  int32_t replaced; ///< the shared last block that a copy stands in for, -1 for none
};

struct Sequence {
  uint32_t generation; ///< counts the uses of this slot
  uint32_t nextFree;   ///< while it is free: 1 + the next free slot, 0 for none
  bool live;
  int64_t length; ///< tokens
  BlockTable tables[mostCaches];
  // The source of an encoder-decoder's sequence; forks share its blocks, which nobody writes again.
  bool hasSource;
  int64_t sourceLength, sourceBlocks;
  int32_t *sourceTable; ///< [Limits::sourceTable] behind the tables
  int32_t adapter;      ///< 1 + its index in the manifest, 0 for none
  int32_t state;        ///< slot of the states, 0 for zeros
  int32_t *kept;        ///< [keptUntil(positions)] behind the tables: slots after 0, keepEvery, ... tokens, or noState
  int64_t keptEnd;      ///< entries of it, behind which are a running step's own
  // Where rotary embedding depends on the length of the text:
  int32_t *tokens;       ///< [Entry::shortText] behind the tables, as many as the sequence has
  bool isLong;           ///< its keys are those of a long text
  bool isStale;          ///< its keys are gone: the next step computes them first
  SequenceImages images; ///< behind the tables, where the context keeps them
  // While a step runs:
  uint64_t step;                ///< number of the last step that names this sequence
  int32_t stateRead, stateNext; ///< slots that the next part reads and writes
};

inline constexpr int32_t noState = -1; ///< in place of a slot

/// The blocks that are free, shared, or hold old values. A block has a part in each of several arrays: a slot of states
/// has, a block of a cache is in one.
class BlockPool {
public:
  /// Blocks in the memory of a stream's GPU, or without one in the host's; `what` they are for. Parts of 0 bytes have
  /// no array.
  bool allocate(const Allocator &memory, DeviceStream *stream, int64_t blocks, const SlotBytes &bytes,
                const char *what);
  /// Grows until `wanted` blocks are free, and then some, but not above `most` for that. False when there is no memory;
  /// nothing changes then.
  bool reserve(const Allocator &memory, int64_t wanted, int64_t most = INT32_MAX);
  int64_t size() const { return int64_t(uses.size()); }
  int64_t available() const { return free; }
  bool isShared(int32_t block) const { return uses[block] > 1; }
  /// A block of zeros; a block whose elements are all written before they are read need not be. `available` must not be
  /// 0.
  int32_t allocate(bool isFilled = false);
  void share(int32_t block) { ++uses[block]; }
  void drop(int32_t block);
  void *data(size_t part = 0) { return arrays[part].data(); }
  void copy(int32_t to, int32_t from) {
    visit([&](CodeMemory &array, uint64_t size) {
      array.copyFrom(array, uint64_t(to) * size, uint64_t(from) * size, size);
    });
  }
  /// The parts of a block, one after the other.
  void write(int32_t block, const void *from) {
    const auto *part = static_cast<const char *>(from);
    visit([&](CodeMemory &array, uint64_t size) {
      array.write(uint64_t(block) * size, std::exchange(part, part + size), size);
    });
  }
  /// The bytes of a GPU's block are there once the stream has been waited for.
  void read(void *to, int32_t block) {
    auto *part = static_cast<char *>(to);
    visit([&](CodeMemory &array, uint64_t size) {
      array.read(std::exchange(part, part + size), uint64_t(block) * size, size);
    });
  }

private:
  /// Calls body(array, bytes of a part) for each array.
  template <typename Body> void visit(Body body) {
    for (size_t i = 0; i < arrays.size(); ++i)
      if (bytes[i])
        body(arrays[i], uint64_t(bytes[i]));
  }

  DeviceStream *stream = nullptr;
  const char *what = "";
  SlotBytes bytes{}; ///< of the parts of a block
  std::array<CodeMemory, std::tuple_size_v<SlotBytes>> arrays;
  Array<int32_t> freeBlocks, uses;
  Array<uint8_t> written; ///< held values once: must be zeroed, as 0 * NaN would spread into masked rows
  int64_t free = 0;
};

/// The keys and values of some layers.
struct LayerCache {
  BlockPool blocks;
  int64_t window = 0; ///< keys that a query reads, the last ones; 0: all
  int64_t blockBytes = 0;
  int64_t most = 0; ///< blocks to which the pool may grow

  int64_t available() const { return most - (blocks.size() - blocks.available()); }
  /// The first position that a query at `position` reads.
  int64_t firstRead(int64_t position) const { return window && position >= window ? position - window + 1 : 0; }
};

/// Tokens of one chunk that run in one call of the entry.
struct Piece {
  size_t chunk;
  int64_t begin, count; ///< in the chunk's tokens
  int64_t wanted;       ///< rows of logits
  int64_t embedding;    ///< the chunk's vector of the first image token from `begin` on
};

} // namespace rapt::runtime

struct rapt_context {
  rapt_module *module = nullptr;
  rapt::runtime::Allocator memory;
  rapt::runtime::Execution execution;
  rapt::runtime::Entry entry;  ///< "step"; without code where the model keeps no sequences
  rapt::runtime::Entry encode; ///< without code where sequences have no source
  rapt::runtime::Entry best;   ///< the most likely token on a GPU; without code on CPUs
  rapt::runtime::Entry top;    ///< several of them; the same
  rapt::runtime::Limits limits{};
  int32_t adapter = 0; ///< of new sequences: 1 + its index in the manifest, 0 for none
  rapt_log_fn log = nullptr;
  rapt_progress_fn progress = nullptr;
  void *user = nullptr;
  pid_t owner = getpid();
  mutable std::atomic<bool> busy{false};
  std::unique_ptr<rapt::runtime::DeviceStream> stream;       ///< of code for GPUs, null otherwise
  std::unique_ptr<rapt::runtime::DeviceArguments> arguments; ///< the same
  std::unique_ptr<rapt::runtime::DeviceArguments> choice;    ///< of `best` and `top`: the step's hold the logits
  std::unique_ptr<rapt::runtime::DeviceGraphs> graphs;       ///< the same
  std::unique_ptr<rapt::runtime::DeviceTimes> times;         ///< the same

  rapt::runtime::LayerCache caches[rapt::runtime::mostCaches]; ///< sources are in the first
  int cacheCount = 0;
  rapt::runtime::BlockPool states; ///< slots; slot 0 stays zero: the states of a new sequence
  rapt::runtime::Array<rapt::runtime::Sequence> slots;
  uint32_t firstFree = 0; ///< 1 + a free slot, from which nextFree leads to all others; 0 for none
  uint64_t steps = 0;

  rapt::runtime::CodeMemory workspace;
  /// Arguments of the entries by role, of which entries share those that both have. They are as large as the largest
  /// part of a step needs; sources may be longer, for which they grow.
  rapt::runtime::Array<char> held[rapt::runtime::roleCount];
  rapt::runtime::Array<float> staged; ///< [wanted, vocabulary], for logits that go to scattered buffers
  rapt::runtime::Array<float> logits; ///< what rapt_chunk.logits points at, [rows, vocabulary]
  /// Where attention maps go, by role: for each chunk or source memory of [its tokens, columns]; empty where nobody
  /// asks.
  rapt::runtime::Array<float *> mapTargets[rapt::runtime::roleCount];
  rapt::runtime::Array<rapt::runtime::Piece> pieces;
  rapt::runtime::Array<char> staging; ///< tensors of an EntryRun
  rapt::runtime::Profile profile;     ///< of the calls since rapt_profile_start

  ~rapt_context();
  int32_t *integers(rapt::runtime::Role role) { return reinterpret_cast<int32_t *>(held[int(role)].data()); }
  float *numbers(rapt::runtime::Role role) { return reinterpret_cast<float *>(held[int(role)].data()); }
  /// Copies the maps of `count` tokens: from token `from` of the call to token `at` of a chunk or source.
  void copyMaps(const rapt::runtime::Entry &entry, size_t chunk, int64_t at, int64_t from, int64_t count);
  /// Where compiled code finds them.
  const void *weights() const;
  /// At least `need` bytes of workspace.
  rapt_status reserveWorkspace(int64_t need, const rapt::runtime::Report &report);
  rapt::runtime::Sequence *find(rapt_sequence sequence);
  /// Ends all use of a sequence's blocks from entry `from` on.
  void dropBlocks(rapt::runtime::Sequence &sequence, int64_t from);
  /// Gives back the blocks that no query from `position` on reads.
  void forgetBefore(rapt::runtime::Sequence &sequence, int64_t position);
  /// Whether each query of cache `k` that comes at `position` finds what it reads.
  bool keeps(const rapt::runtime::Sequence &sequence, int k, int64_t position) const {
    return caches[k].firstRead(position) >= sequence.tables[k].first * limits.block;
  }
  void dropSource(rapt::runtime::Sequence &sequence);
  bool hasStates() const { return limits.stateBytes() > 0; }
  bool keepsImages() const; ///< whether sequences keep theirs
  /// One owner of a slot more, or less; of zeros, or where there is none, nothing. Gives the slot.
  int32_t shareState(int32_t slot);
  void dropState(int32_t slot);
  /// The greatest length up to `wanted` to which a sequence with states can be truncated; -1: there is none.
  int64_t lastKept(const rapt::runtime::Sequence &sequence, int64_t wanted) const;
  /// Gives the sequence the states that it keeps of `length` tokens, which is 0 or from lastKept, and forgets those of
  /// more.
  void returnToState(rapt::runtime::Sequence &sequence, int64_t length);
  /// Says that it keeps no states between those that it has and its length.
  void skipStates(rapt::runtime::Sequence &sequence);
  /// Cache blocks of a sequence's own tokens, and of a source; 0 where no layer has keys and values of them.
  int64_t blocksFor(int64_t length) const;
  int64_t sourceBlocksFor(int64_t length) const;
  /// Bytes of all tables of a sequence.
  size_t tableBytes() const;
  rapt_status newSequence(rapt_sequence &sequence, const rapt::runtime::Report &report);
  void endSequence(rapt::runtime::Sequence &sequence);
  rapt_sequence name(const rapt::runtime::Sequence &sequence) const;
};

namespace rapt::runtime {

/// Holds a context during a call: a second thread gets RAPT_BUSY, a forked child RAPT_FORKED.
class Use {
public:
  Use(const rapt_context *context, const Report &report);
  ~Use() {
    if (held)
      context->busy.store(false, std::memory_order_release);
  }
  Use(const Use &) = delete;
  Use &operator=(const Use &) = delete;
  rapt_status status = RAPT_OK;

private:
  const rapt_context *context;
  bool held = false;
};

/// Sets *adapter to 1 + the index of the adapter `name`, 0 for NULL. RAPT_INVALID where the model has none of that
/// name.
rapt_status findAdapter(const Manifest &manifest, const char *name, int32_t &adapter, const Report &report);

/// The sequence's slot; null, with a message, where there is none.
Sequence *findOrTell(rapt_context &context, rapt_sequence sequence, const Report &report);

/// rapt_step for a caller that holds the context already; rapt_step_top with `tops`, one for each chunk.
rapt_status step(rapt_context &context, const StructArray<rapt_chunk> &chunks, size_t count, const Report &report,
                 const StructArray<const rapt_top> *tops = nullptr);

/// rapt_encode for such a caller.
rapt_status encode(rapt_context &context, const StructArray<const rapt_source> &sources, size_t count,
                   const Report &report);

/// Calls `body`, which runs compiled code, while it holds the context. A cancel that is pending at the beginning or
/// arrives meanwhile is obeyed and reset, whatever else is wrong with the call.
template <typename Body> rapt_status runCall(rapt_context *context, const Report &report, Body body) {
  Use use(context, report);
  if (use.status)
    return use.status;
  rapt_status status = context->execution.cause(body(), report);
  if (status && context->execution.consumeCancel() && status != RAPT_CANCELLED)
    return report.fail(RAPT_CANCELLED, "canceled");
  return status;
}

} // namespace rapt::runtime
