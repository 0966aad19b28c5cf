//===- PanelCache.cpp - Elements of the cache, for neutral decompositions -----------------===//
#include "lib/Target/CPU/Tile/PanelCache.h"
#include "dialect/AttnCPU/CacheLayout.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::neutral;
using attn_cpu::CacheLayout;
using attn_cpu::kPanel;
using attn_cpu::padToPanel;

namespace {

class PanelCache : public CacheReader {
public:
  bool knows(attn::CacheLayoutInterface layout) const override { return isa<attn_cpu::CachePanelsAttr>(layout); }

  Value read(ImplicitLocOpBuilder &b, attn::CacheLayoutInterface attribute, Value slice, Part part,
             int64_t channels) const override {
    const CacheLayout layout{getElementTypeOrSelf(slice.getType()), attribute.getPositions(), padToPanel(channels)};
    Value result = emptyOf(b, {b.getIndexAttr(layout.block), b.getIndexAttr(channels)}, b.getF32Type());
    return forEach(b, {}, result, [&](ImplicitLocOpBuilder &b, ValueRange) {
      return element(b, layout, slice, part, at(b, 0), at(b, 1));
    });
  }

private:
  static Value element(ImplicitLocOpBuilder &b, const CacheLayout &layout, Value stored, Part part, Value position,
                       Value channel) {
    AffineExpr p = b.getAffineDimExpr(0), c = b.getAffineDimExpr(1);
    auto place = [&](AffineExpr expr) {
      return asValue(b, affineOf(b, expr, {OpFoldResult(position), OpFoldResult(channel)}));
    };
    // A line is of 32 positions of a key's channel, or of 32 channels of a position's value; in bf16 of two such, one
    // beside the other.
    const int64_t interleave = layout.interleave();
    AffineExpr along = part == Keys ? c : p, across = part == Keys ? p : c;
    const int64_t extent = part == Keys ? layout.channels : layout.paddedBlock();
    Value line = place(across.floorDiv(kPanel) * (extent / interleave) + along.floorDiv(interleave));
    Value column = place(across % kPanel * interleave + along % interleave);
    Value stands = tensor::ExtractOp::create(b, stored, ValueRange{line, column});
    if (!layout.hasScales())
      return widened(b, stands);
    Value code = arith::SIToFPOp::create(b, b.getF32Type(), stands), bits;
    const int64_t ofLine = kPanel / layout.scaleBytes();
    for (int64_t i = 0; i < layout.scaleBytes(); ++i) {
      Value row = place(p.floorDiv(ofLine) + layout.elementLines()), at = place(p % ofLine * layout.scaleBytes() + i);
      Value byte = arith::ExtUIOp::create(b, b.getI32Type(), tensor::ExtractOp::create(b, stored, ValueRange{row, at}));
      Value shift = arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(8 * i)));
      byte = arith::ShLIOp::create(b, byte, shift);
      bits = bits ? arith::OrIOp::create(b, bits, byte) : byte;
    }
    return arith::MulFOp::create(b, arith::BitcastOp::create(b, b.getF32Type(), bits), code);
  }
};

} // namespace

const CacheReader &tile::panelCache() {
  static const PanelCache cache;
  return cache;
}
