//===- CachePages.cpp - How pages of a cache lie in memory, in words -------------------------===//
#include "lib/Driver/CachePages.h"
#include "lib/Host/CacheMemory.h"

using namespace mlir;
using namespace rapt;

namespace {

std::string text(int64_t number) { return std::to_string(number); }

/// The keys, or values, of a head.
void describeHead(std::vector<std::string> &lines, attn::CacheLayoutInterface layout, const attn::KVPart &part,
                  bool areValues) {
  const std::string what = areValues ? "value" : "key";
  lines.push_back("  channel c of the " + what + " at p: element " +
                  layout.getElementAt(part.element, part.channels, areValues) + ", c below " + text(part.channels));
  const int64_t padded = layout.getPadded(part.channels);
  if (padded > part.channels)
    lines.push_back("    channels " + text(part.channels) + " to " + text(padded - 1) + " are 0, and must be");
  if (const std::string scale = layout.getScaleAt(part.element, part.channels); !scale.empty())
    lines.push_back("    times the float of position p at byte " + scale + " of these elements, lowest byte first");
}

} // namespace

std::vector<std::string> driver::describePages(attn::KVCacheType cache, ShapedType memory, const Target &target) {
  auto layoutOf = [&](const attn::KVSegment &segment, int64_t block) { return target.layoutOfCache(segment, block); };
  const std::optional<CacheParts> parts = partsOfCache(cache, layoutOf);
  const std::optional<int64_t> bytes = bytesOfCacheBlock(memory);
  if (!parts || !bytes)
    return {};
  const std::string block = text(cache.getBlock());
  std::vector<std::string> lines{"pages of " + text(*bytes) + " bytes, aligned to 64",
                                 "A page has " + block +
                                     " positions of a sequence, in all layers: position i is p = i % " + block +
                                     " of the page",
                                 "that the sequence's row of the block table has at i / " + block + ". In a page are"};
  int64_t layer = 0;
  for (auto [i, segment] : llvm::enumerate(cache.getSegments())) {
    const auto first = size_t(parts->first[i]);
    const std::string layers = segment.layers == 1
                                   ? "layer " + text(layer)
                                   : "layers " + text(layer) + " to " + text(layer + segment.layers - 1);
    layer += segment.layers;
    for (const bool areValues : {false, true}) {
      const bool isShared = segment.isUniform();
      const size_t pool = first + (areValues && !isShared ? 1 : 0);
      const attn::KVPart &part = areValues ? segment.values : segment.keys;
      int64_t elements = 1;
      for (int64_t extent : parts->pools[pool].getShape().drop_front(4))
        elements *= extent; // partsOfCache has counted them
      const std::string shape = "[" + text(segment.layers) + "][" + text(segment.heads) + "]" +
                                (isShared ? "[2]" : "") + "[" + text(elements) + "]";
      if (!areValues || !isShared)
        lines.push_back("at byte " + text(parts->at[pool]) + ": " + attn::nameOfStorage(part.element).str() + shape +
                        ", " +
                        (isShared    ? "keys and values"
                         : areValues ? "values"
                                     : "keys") +
                        " of " + layers + ": [layer][head]" + (isShared ? "[0: keys, 1: values]" : "") + "[element]");
      describeHead(lines, parts->segments[i], part, areValues);
    }
  }
  return lines;
}
