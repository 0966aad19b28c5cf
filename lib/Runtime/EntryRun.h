//===- EntryRun.h - Entries that keep nothing, on tensors -------------------------===//
//
// Runs an encoder's forward, for example. The first extent of a buffer tells how it
// relates to the caller's tensor. `rows` is the batch. The dim whose offsets are row_begin
// has packed tokens, where the caller's tensor is [batch, length, ...], padded on the
// right. Other buffers are the caller's tensor as a whole. Where a module has adapters, the
// caller's `adapter` [batch] names that of each row, 1 for the first one and 0 for none, or
// all have the context's; entries with packed tokens take their order by adapter instead. Rows run in groups, so that
// the compiled code does not bound the batch.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "lib/Runtime/Context.h"
#include "lib/Runtime/Tensor.h"

namespace rapt::runtime {

/// Sets *used to the number of leading ones of row `row` of `mask` [batch, length]. Reports a row that has anything but
/// zeros behind them.
rapt_status readMaskRow(const rapt_tensor &mask, int64_t row, int64_t &used, const Report &report,
                        const char *name = caller::attentionMask);

/// Fills `adapters` with those of the rows of a batch: what `given`, integers [batch], has for them, or the context's
/// where it is null.
rapt_status readAdapters(const rapt_context &c, const rapt_tensor *given, int64_t batch, Array<int32_t> &adapters,
                         const Report &report);

class EntryRun {
public:
  EntryRun(rapt_context &context, const ManifestEntry &entry, const rapt_artifact_entry &code, const Report &report)
      : c(context), entry(entry), code(code), report(report) {}

  /// Binds the tensors, solves for every dim, and checks all arguments. Outputs may be missing.
  rapt_status bind(size_t count, const char *const *names, const Tensors &tensors);
  /// The caller's shape of an input or output, once bound.
  rapt_status shapeOf(const char *name, int64_t *shape, int32_t *rank) const;
  rapt_status run();

private:
  enum class Form : uint8_t { None, Offsets, Adapters, Packed, Rows, Whole };
  struct Slot {
    const rapt_tensor *tensor; ///< null: left out
    Form form;
    size_t offset; ///< in the staging memory
  };
  using Shape = int64_t[maxRank + 1];

  void classify();
  rapt_status match(size_t count, const char *const *names, const Tensors &tensors);
  rapt_status unknown(const char *name) const;
  rapt_status bindInput(size_t buffer);
  rapt_status checkOutput(size_t buffer) const;
  rapt_status solve(int dim, int64_t value, const char *from);
  rapt_status readLengths();
  rapt_status checkAdapterBuffers() const;
  /// Whether the runtime alone fills the buffer.
  bool isOwn(size_t buffer) const {
    return slots[buffer].form == Form::Offsets || slots[buffer].form == Form::Adapters;
  }
  /// Whether an input or output has the dim. An entry names the dims of all entries.
  bool isUsed(int dim) const;
  rapt_status checkDims();
  int64_t extent(const ManifestExtent &e) const { return extentOf(e, dims.data()); }
  int callerShape(size_t buffer, Shape &shape) const;
  /// Elements of a buffer behind its first extent.
  int64_t inner(size_t buffer) const;
  /// Returns how many rows from `first` on run together; sets the dims.
  int64_t chooseGroup(int64_t first);
  rapt_status stage(int64_t first, int64_t rows);
  rapt_status fill(size_t buffer, int64_t first, int64_t rows);
  void fillAdapters(int64_t first, int64_t rows);
  int32_t *integersOf(Role role) const;
  rapt_status fillRun(size_t buffer, int64_t row, int64_t count, int64_t to);
  void empty(size_t buffer, int64_t first, int64_t rows);
  rapt_status runGroup(int64_t first, int64_t rows);

  rapt_context &c;
  const ManifestEntry &entry;
  const rapt_artifact_entry &code;
  const Report &report;
  Array<Slot> slots;       ///< one a buffer
  Array<int64_t> dims;     ///< -1 until known
  Array<int64_t> lengths;  ///< tokens of each row of the batch
  Array<int32_t> adapters; ///< of each row of the batch; empty where the entry has none
  const rapt_tensor *mask = nullptr, *adapter = nullptr;
  int rowsDim = -1, packedDim = -1, adaptedDim = -1;
  int64_t batch = -1, length = -1;
};

} // namespace rapt::runtime
