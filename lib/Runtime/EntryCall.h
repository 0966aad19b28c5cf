//===- EntryCall.h - Calls of entries that keep sequences --------------------------===//
#pragma once
#include "lib/Runtime/Adapters.h"
#include "lib/Runtime/Context.h"

namespace rapt::runtime {

/// One call: its owner sets the dims that depend on tokens, fills the arguments that the context holds by role, and
/// runs. Nothing is allocated for a call that is no larger than those before, or than what the context was made for.
class EntryCall {
public:
  /// The dims of what the context keeps are set.
  EntryCall(rapt_context &context, const Entry &entry, const Report &report);
  /// A call on what another one leaves behind.
  EntryCall(const EntryCall &other, const Entry &entry)
      : c(other.c), entry(entry), report(other.report), dims(other.dims) {}

  int64_t &operator[](Dim dim) { return dims[dim]; }
  /// Makes the memory that the context holds for arguments large enough, which loses what was in it. False when there
  /// is none.
  [[nodiscard]] bool reserve();
  int64_t workspace() const { return entry.workspace(dims, c.execution.workers()); }
  /// Logits are in memory of the caller; null: they stay on the GPU.
  void *logits = nullptr;
  /// Runs in the workspace, which is large enough. `with`: arguments of its own on a GPU.
  rapt_status run(DeviceArguments *with = nullptr);

private:
  bool reserve(size_t buffer, const int64_t *ordered);
  void *memoryOf(Role role) const;

  rapt_context &c;
  const Entry &entry;
  const Report &report;
  DimValues dims;
};

/// What a step and an encode share: both get structs of a caller, one for each sequence, check all of them before
/// anything changes, and run them part by part.
class SequenceCall {
protected:
  /// What messages call a struct, and the call with all of them.
  struct Words {
    const char *one, *all;
  };
  SequenceCall(rapt_context &context, const Entry &entry, Words words, size_t count, const Report &report)
      : c(context), l(context.limits), entry(entry), words(words), count(count), report(report) {}

  /// Sets *sequence to that of struct `i`. A message where there is none, or another struct has named it.
  rapt_status claim(size_t i, rapt_sequence name, Sequence *&sequence);
  /// Whether `tokens` are at least `least` where they can be read.
  rapt_status checkList(size_t i, const int32_t *tokens, int64_t length, int64_t least) const;
  rapt_status checkIds(size_t i, const int32_t *tokens, int64_t length, int64_t vocabulary) const;
  /// Whether memory for `need` bytes of floats that the caller may give is large enough.
  rapt_status checkFloats(size_t i, const char *what, float *memory, size_t bytes, uint64_t need) const;
  /// Makes room for states, where the model has any.
  rapt_status reserveStates(int64_t slots);
  /// Orders the tokens of `rows` rows, whose offsets are filled, by adapter. Returns how many are in this order.
  template <typename AdapterOf> int64_t orderTokens(size_t rows, AdapterOf adapterOf) {
    if (!entry.has(Role::AdapterRows))
      return 0;
    return orderByAdapter(int32_t(c.module->manifest->adapters.size()), rows, c.integers(Role::RowBegin), adapterOf,
                          c.integers(Role::AdapterRows), c.integers(Role::AdapterGroups), c.integers(Role::AdapterOf));
  }
  /// Counts tokens that have run, and tells the caller, which may cancel.
  rapt_status tell(int64_t tokens);

  rapt_context &c;
  const Limits &l;
  const Entry &entry;
  const Words words;
  const size_t count; ///< structs
  const Report &report;
  int64_t total = 0, done = 0; ///< tokens
};

/// Row `row` of a table [rows, columns] of blocks, which begins with `used` ones; 0 behind them.
inline void fillTable(int32_t *table, size_t row, int64_t columns, const int32_t *blocks, int64_t used) {
  int32_t *to = table + row * size_t(columns);
  memcpy(to, blocks, size_t(used) * sizeof(int32_t));
  memset(to + used, 0, size_t(columns - used) * sizeof(int32_t));
}

} // namespace rapt::runtime
