//===- Tile.cpp - Norms as grids of tiles of thread blocks --------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Target/GPU/Norm/Norm.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::neutral;

namespace {

struct Operands {
  Value input, weight, bias; ///< no bias: RMS norm
  double epsilon;
  int64_t columns;
};

template <typename Op> Operands operandsOf(Op op) {
  Value bias;
  if constexpr (std::is_same_v<Op, attn::LayerNormOp>)
    bias = op.getBias();
  const int64_t width = cast<RankedTensorType>(op.getInput().getType()).getShape().back();
  return {op.getInput(), op.getWeight(), bias, op.getEpsilon().convertToDouble(),
          int64_t(op.getColumns().value_or(width))};
}

/// A grid over the leading dims but the last of them, of which a tile has as many rows as the schedule says.
Value tileNorm(Operation *op, const Operands &operands, attn_gpu::NormTilesAttr threads) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  const int64_t rows = threads.getThreads() / threads.getLanes();
  SmallVector<OpFoldResult> all = extents(b, operands.input), tiles(all);
  OpFoldResult width = tiles.pop_back_val(), extent = tiles.back();
  tiles.back() = affineOf(b, b.getAffineDimExpr(0).ceilDiv(rows), {extent});
  Value init = emptyFor(b, op->getResult(0), all);
  auto task = [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
    SmallVector<OpFoldResult> offsets(ids.begin(), ids.end()), sizes(ids.size(), b.getIndexAttr(1));
    offsets.back() = Value(arith::MulIOp::create(b, ids.back(), index(b, rows)));
    const std::optional<int64_t> known = getConstantIntValue(extent);
    OpFoldResult left = affineOf(b, b.getAffineDimExpr(0) - b.getAffineDimExpr(1), {extent, offsets.back()});
    sizes.back() = known && *known % rows == 0 ? OpFoldResult(b.getIndexAttr(rows))
                   : known && *known < rows    ? extent
                                               : affineMin(b, {b.getIndexAttr(rows), left});
    offsets.push_back(b.getIndexAttr(0)), sizes.push_back(width);
    const int64_t shape[] = {getConstantIntValue(sizes[sizes.size() - 2]).value_or(ShapedType::kDynamic),
                             *getConstantIntValue(width)};
    Value input = extract(b, operands.input, offsets, sizes, shape), dest = extract(b, dests[0], offsets, sizes, shape);
    auto tile = attn_gpu::NormTileOp::create(b, TypeRange(dest.getType()), input, operands.weight, operands.bias, dest,
                                             APFloat(operands.epsilon), operands.columns, threads);
    return SmallVector<Insertion>{{tile.getResults()[0], offsets, sizes}};
  };
  Value result = grid(b, tiles, init, task)[0];
  Attribute number = op->getAttr(attn::AttnDialect::opAttr);
  if (auto forall = result.getDefiningOp<scf::ForallOp>(); forall && number)
    forall->setAttr(attn::AttnDialect::opAttr, number);
  return result;
}

} // namespace

LogicalResult any_gpu::tileNorms(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (attn_gpu::scheduleOf<attn_gpu::NormTilesAttr>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (std::string reason = refusalOf(cast<RankedTensorType>(op->getOperand(0).getType())); !reason.empty())
      return op->emitOpError() << "has a schedule, but " << reason;
    const Operands operands =
        isa<attn::LayerNormOp>(op) ? operandsOf(cast<attn::LayerNormOp>(op)) : operandsOf(cast<attn::RMSNormOp>(op));
    op->getResult(0).replaceAllUsesWith(tileNorm(op, operands, attn_gpu::scheduleOf<attn_gpu::NormTilesAttr>(op)));
    op->erase();
  }
  return success();
}
