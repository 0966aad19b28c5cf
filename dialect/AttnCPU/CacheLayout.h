//===- CacheLayout.h - Memory layout of the KV cache --------------------*- C++ -*-===//
#pragma once
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"

namespace rapt::attn_cpu {

/// The layout of a segment of a cache.
inline attn::CacheLayoutInterface cachePanelsOf(const attn::KVSegment &segment, int64_t block) {
  return CachePanelsAttr::get(segment.keys.element.getContext(), block, segment.keys.channels, segment.values.channels);
}

/// Where keys, or values, of one head lie in a block: `#attn_cpu.cache_panels` for an element type.
struct CacheLayout {
  mlir::Type element;
  int64_t block;    ///< positions
  int64_t channels; ///< of a head, a multiple of 32

  /// The layout of what `append` or `view` (attn.kv_append, attn.kv_view) works on; none for a cache that is no memory.
  template <typename Op> static std::optional<CacheLayout> ofKeys(Op op) {
    return of(op.getLayout(), op.getCache(), [](CachePanelsAttr layout) { return layout.getKeys(); });
  }
  template <typename Op> static std::optional<CacheLayout> ofValues(Op op) {
    return of(op.getLayout(), op.getValuePool(), [](CachePanelsAttr layout) { return layout.getValues(); });
  }

  /// Interleave factor.
  int64_t interleave() const { return interleaveOf(element); }
  int64_t columns() const { return kPanel * interleave(); }
  bool hasScales() const { return element.isInteger(8); }
  int64_t scaleBytes() const { return hasScales() ? 4 : 0; }
  /// Positions of a block with those that fill up its last panel.
  int64_t paddedBlock() const { return padToPanel(block); }
  /// Lines before the scales.
  int64_t elementLines() const { return paddedBlock() * channels / columns(); }
  int64_t lines() const { return elementLines() + paddedBlock() * scaleBytes() / kPanel; }

private:
  static std::optional<CacheLayout> of(std::optional<attn::CacheLayoutInterface> layout, mlir::Value pool,
                                       llvm::function_ref<int64_t(CachePanelsAttr)> channelsOf) {
    auto panels = layout ? mlir::dyn_cast<CachePanelsAttr>(*layout) : CachePanelsAttr();
    if (!panels)
      return std::nullopt;
    return CacheLayout{mlir::getElementTypeOrSelf(pool.getType()), panels.getPositions(),
                       padToPanel(channelsOf(panels))};
  }
};

} // namespace rapt::attn_cpu
