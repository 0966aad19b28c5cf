//===- Forward.h - A decoder's logits for whole texts -------------------------------===//
#pragma once
#include "lib/Runtime/Context.h"
#include "lib/Runtime/Tensor.h"
#include <array>

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
  Forward(rapt_context &context, const Report &report) : c(context), report(report) {
    if (c.encode.code)
      target.idsName = "decoder_input_ids", target.maskName = "decoder_attention_mask";
  }
  rapt_status bind(size_t count, const char *const *names, const Tensors &tensors);
  /// The shape of an input or output, once the inputs are bound.
  rapt_status shapeOf(const char *name, int64_t *shape, int32_t *rank) const;
  rapt_status run();

private:
  const rapt_tensor **slotOf(const char *name);
  rapt_status unknown(const char *name) const;
  bool readsFeatures() const { return c.encode.features != 0; }
  bool readsPixels() const { return c.encode.has(Role::PixelValues); }
  const char *featuresName() const { return readsPixels() ? "pixel_values" : "input_features"; }
  rapt_status checkSource();
  rapt_status checkFeatures();
  rapt_status readSource();
  bool readsImages() const { return c.entry.has(Role::Embeddings); }
  rapt_status checkEmbeddings() const;
  void giveEmbeddings(rapt_chunk &chunk);
  /// The source of row `row`, without its sequence.
  rapt_source sourceOf(int64_t row) const;
  /// All inputs that are given.
  std::array<const rapt_tensor *, 6> inputs() const {
    return {target.ids, target.mask, source.ids, source.mask, features, embeddings};
  }
  rapt_status checkOutput(const char *name, const rapt_tensor &output, const PaddedIds &rows, int64_t columns) const;
  /// The attention map that `slot` is for, and its rows; null for other tensors.
  const AttentionMap *mapOf(const rapt_tensor *const *slot, const PaddedIds *&rows) const;
  rapt_status checkMaps() const;
  rapt_status prepareMaps(size_t rows);
  void addMaps(int64_t row, size_t position);
  rapt_status addRow(int64_t row, size_t &count);
  rapt_status runRows(int64_t &row);
  int64_t blocksOf(int64_t row) const;
  int64_t hiddenSize() const { return c.module->manifest->hidden; }

  rapt_context &c;
  const Report &report;
  PaddedIds target{"input_ids", "attention_mask"}; ///< what gets logits
  PaddedIds source{"input_ids", "attention_mask"}; ///< of an encoder; its ids are null where it reads features
  const rapt_tensor *features = nullptr;           ///< [batch, ...], of an encoder that reads them, or images
  const rapt_tensor *embeddings = nullptr;         ///< [images, vectors, hidden], of a decoder that reads images
  int64_t embeddingsRead = 0;                      ///< vectors of the rows before
  const rapt_tensor *logits = nullptr, *hidden = nullptr;
  const rapt_tensor *stepMaps[mostAttentionMaps]{},
      *encodeMaps[mostAttentionMaps]{}; ///< attention's weights, as Entry::map
  Array<rapt_chunk> chunks;             ///< rows that run together
  Array<rapt_source> sources;
};

} // namespace rapt::runtime
