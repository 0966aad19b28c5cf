//===- Forward.h - A decoder's logits for whole texts -------------------------------===//
#pragma once
#include "lib/Runtime/Context.h"
#include "lib/Runtime/Tensor.h"

namespace rapt::runtime {

/// Token ids [batch, length], padded on the right.
struct PaddedIds {
  const char *idsName, *maskName;
  const rapt_tensor *ids = nullptr, *mask = nullptr;
  int64_t batch = 0, length = 0;
  Array<int32_t> tokens;  ///< [batch, length], once read
  Array<int64_t> lengths; ///< [batch]: tokens before the padding

  rapt_status check(int64_t positions, const Report &report);
  rapt_status read(const Allocator &memory, int64_t vocabulary, const Report &report);

private:
  rapt_status readRow(int64_t row, int64_t vocabulary, const Report &report);
};

/// "forward" of a model that keeps sequences: its step with logits for all tokens, on sequences of its own. Where the
/// model has an encoder, it encodes their sources first.
class Forward {
public:
  Forward(rapt_context &context, const Report &report);
  rapt_status bind(size_t count, const char *const *names, const Tensors &tensors);
  /// The shape of an input or output, once the inputs are bound.
  rapt_status shapeOf(const char *name, int64_t *shape, int32_t *rank) const;
  rapt_status run();

private:
  /// What callers may give, in the order in which messages list it: inputs, then outputs.
  enum : int {
    SourceIds,
    SourceMask,
    Features,
    TargetIds,
    TargetMask,
    Embeddings,
    Grids,
    Adapter,
    Logits,
    Hidden,
    FirstMap
  };
  struct Slot {
    const char *name = nullptr;      ///< null: the model has no such tensor
    const PaddedIds *rows = nullptr; ///< texts whose [batch, length] the shape begins with, or null
    int inner = 0;                   ///< extents behind those of texts or of the batch
    int64_t extents[3]{};            ///< these; images have as many as the caller gives
    const AttentionMap *map = nullptr;
    const rapt_tensor *tensor = nullptr; ///< the caller's

    int rank() const { return inner + (rows ? 2 : 1); }
  };
  using Shape = int64_t[maxRank];

  void add(int slot, const char *name, const PaddedIds *rows, const int64_t *extents, int inner);
  void addMapsOf(const Entry &entry, const PaddedIds &rows);
  Slot *find(const char *name);
  rapt_status unknown(const char *name) const;
  void fullShape(const Slot &slot, Shape &shape) const;
  bool readsFeatures() const { return c.encode.features != 0; }
  rapt_status checkSource();
  rapt_status checkFeatures();
  rapt_status readSource();
  rapt_status checkEmbeddings() const;
  void giveEmbeddings(rapt_chunk &chunk);
  rapt_status readGrids();
  void giveGrids(rapt_chunk &chunk, int64_t tokens);
  /// The source of row `row`, without its sequence.
  rapt_source sourceOf(int64_t row) const;
  rapt_status checkOutput(const Slot &slot) const;
  rapt_status prepareMaps(size_t rows);
  void addMaps(int64_t row, size_t position);
  rapt_status addRow(int64_t row, size_t &count);
  rapt_status runRows(int64_t &row);
  int64_t blocksOf(int64_t row) const;
  int64_t hiddenSize() const { return c.module->manifest->hidden; }

  rapt_context &c;
  const Report &report;
  PaddedIds target{caller::inputIds, caller::attentionMask}; ///< what gets logits
  PaddedIds source{caller::inputIds, caller::attentionMask}; ///< of an encoder; its ids are null where it reads
                                                             ///< features
  Slot slots[FirstMap + 2 * mostAttentionMaps];
  int used = FirstMap;        ///< of `slots`
  int64_t embeddingsRead = 0; ///< vectors of the rows before
  Array<int32_t> grids;       ///< [images, 2]
  size_t gridsRead = 0;       ///< images of the rows before
  Array<int32_t> adapters;    ///< [batch]
  Array<rapt_chunk> chunks;   ///< rows that run together
  Array<rapt_source> sources;
};

} // namespace rapt::runtime
