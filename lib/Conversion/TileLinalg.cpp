//===- TileLinalg.cpp - linalg ops as parallel grids of tiles --------------------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "lib/Conversion/Passes.h"
#include "lib/Conversion/Schedule.h"
#include "lib/Conversion/Tensors.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/TilingInterface.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNTILELINALG
#include "lib/Conversion/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// A tile's extent along each loop, along its last two parallel loops that of `tiles`; 0: whole.
SmallVector<OpFoldResult> tileOf(linalg::LinalgOp op, attn::LinalgTilesAttr tiles) {
  Builder b(op.getContext());
  SmallVector<OpFoldResult> sizes;
  int64_t next = 0; // parallel loops seen, from the last
  const SmallVector<utils::IteratorType> loops = op.getIteratorTypesArray();
  for (utils::IteratorType loop : llvm::reverse(loops)) {
    int64_t size = 0;
    if (loop == utils::IteratorType::parallel)
      size = next == 0 ? tiles.getColumns() : next == 1 ? tiles.getRows() : 1, ++next;
    sizes.push_back(b.getIndexAttr(size));
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

/// The grid counted from 0 in steps of 1, as an executor counts tasks.
scf::ForallOp normalized(IRRewriter &rewriter, scf::ForallOp grid) {
  const Location loc = grid.getLoc();
  rewriter.setInsertionPoint(grid);
  SmallVector<OpFoldResult> counts, steps = grid.getMixedStep();
  AffineExpr extent, step;
  bindSymbols(rewriter.getContext(), extent, step);
  for (auto [upper, by] : llvm::zip_equal(grid.getMixedUpperBound(), steps))
    counts.push_back(affine::makeComposedFoldedAffineApply(rewriter, loc, extent.ceilDiv(step), {upper, by}));
  auto result = scf::ForallOp::create(rewriter, loc, counts, grid.getOutputs(), /*mapping=*/std::nullopt);
  rewriter.eraseOp(result.getTerminator());
  rewriter.setInsertionPointToStart(result.getBody());
  SmallVector<Value> arguments;
  for (auto [id, by] : llvm::zip_equal(result.getInductionVars(), steps))
    arguments.push_back(getValueOrCreateConstantIndexOp(
        rewriter, loc, affine::makeComposedFoldedAffineApply(rewriter, loc, extent * step, {OpFoldResult(id), by})));
  llvm::append_range(arguments, result.getRegionIterArgs());
  rewriter.inlineBlockBefore(grid.getBody(), result.getBody(), result.getBody()->end(), arguments);
  rewriter.replaceOp(grid, result.getResults());
  return result;
}

LogicalResult tileByGrid(linalg::LinalgOp op, attn::LinalgTilesAttr tiles) {
  IRRewriter rewriter(op.getContext());
  // Without points an op leaves its destinations as they are; upstream's tiling takes an extent of 0 for that of no
  // tile.
  if (llvm::is_contained(op.getStaticLoopRanges(), 0)) {
    rewriter.replaceOp(op, op.getDpsInits());
    return success();
  }
  rewriter.setInsertionPoint(op);
  scf::SCFTilingOptions options;
  options.setTileSizes(tileOf(op, tiles)).setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
  FailureOr<scf::SCFTilingResult> tiled =
      scf::tileUsingSCF(rewriter, cast<TilingInterface>(op.getOperation()), options);
  if (failed(tiled))
    return op.emitOpError("has no tiles");
  Attribute number = op->getAttr(attn::AttnDialect::opAttr);
  rewriter.replaceOp(op, tiled->replacements);
  for (LoopLikeOpInterface loop : tiled->loops) {
    scf::ForallOp grid = normalized(rewriter, cast<scf::ForallOp>(loop.getOperation()));
    if (number)
      grid->setAttr(attn::AttnDialect::opAttr, number);
  }
  return success();
}

/// Whether `value` is made in the memory of `argument`, step by step.
bool isMadeIn(Value value, BlockArgument argument) {
  while (value != argument) {
    auto result = dyn_cast<OpResult>(value);
    if (!result)
      return false;
    Operation *op = result.getOwner();
    if (auto choice = dyn_cast<scf::IfOp>(op)) {
      auto isMade = [&](scf::YieldOp yield) { return isMadeIn(yield.getOperand(result.getResultNumber()), argument); };
      return isMade(choice.thenYield()) && isMade(choice.elseYield());
    }
    if (auto grid = dyn_cast<scf::ForallOp>(op))
      value = grid.getOutputs()[result.getResultNumber()];
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      value = loop.getInitArgs()[result.getResultNumber()];
    else if (auto styled = dyn_cast<DestinationStyleOpInterface>(op))
      value = styled.getDpsInits()[result.getResultNumber()];
    else
      return false;
  }
  return true;
}

/// A tensor that a loop carries stays in one buffer: one that an iteration makes elsewhere is copied there at its end,
/// since a loop whose memory changes hands allocates.
void keepInPlace(scf::ForOp loop) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  OpBuilder b(yield);
  for (auto [operand, argument] : llvm::zip_equal(yield->getOpOperands(), loop.getRegionIterArgs()))
    if (isa<RankedTensorType>(argument.getType()) && !isMadeIn(operand.get(), argument))
      operand.set(linalg::CopyOp::create(b, loop.getLoc(), operand.get(), argument).getResult(0));
}

/// The tensor before the loops and ops in whose memory `value` is made: its extents are those of `value`.
Value beginningOf(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument != loop.getInductionVar())
        value = loop.getTiedLoopInit(argument)->get();
      else if (auto grid = dyn_cast<scf::ForallOp>(parent); grid && isa<RankedTensorType>(value.getType()))
        value = grid.getTiedOpOperand(argument)->get();
      else
        return value;
      continue;
    }
    auto result = cast<OpResult>(value);
    if (auto choice = dyn_cast<scf::IfOp>(result.getOwner()))
      value = choice.thenYield().getOperand(result.getResultNumber());
    else if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
      value = loop.getInitArgs()[result.getResultNumber()];
    else if (auto grid = dyn_cast<scf::ForallOp>(result.getOwner()))
      value = grid.getOutputs()[result.getResultNumber()];
    else if (auto styled = dyn_cast<DestinationStyleOpInterface>(result.getOwner()))
      value = styled.getDpsInits()[result.getResultNumber()];
    else if (auto insertion = dyn_cast<tensor::InsertSliceOp>(result.getOwner()))
      value = insertion.getDest();
    else
      return value;
  }
}

/// Extents come from those of the entry's arguments: sizes decide allocations, which must not depend on a loop.
void resolve(tensor::DimOp dim) {
  std::optional<int64_t> place = dim.getConstantIndex();
  if (!place)
    return;
  ImplicitLocOpBuilder b(dim.getLoc(), dim);
  OpFoldResult extent = b.getIndexAttr(0);
  Value tensor = dim.getSource();
  for (Value before; before != tensor;) {
    before = tensor, tensor = beginningOf(tensor);
    extent = tile::extent(b, tensor, *place);
    auto inner = isa<Value>(extent) ? cast<Value>(extent).getDefiningOp<tensor::DimOp>() : tensor::DimOp();
    if (inner && inner.getConstantIndex()) {
      tensor = inner.getSource(), place = inner.getConstantIndex();
      if (tensor == before)
        break;
    } else {
      break;
    }
  }
  dim.replaceAllUsesWith(tile::asValue(b, extent));
  dim.erase();
}

struct TileLinalg : rapt::impl::AttnTileLinalgBase<TileLinalg> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::LaidOut)))
      return signalPassFailure();
    getOperation()->walk(keepInPlace);
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (!op->getParentOfType<scf::ForallOp>() && op.getNumParallelLoops() > 0)
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops) {
      auto module = op->getParentOfType<ModuleOp>();
      if (failed(neutral::verifyLinalgTiles(module)) || failed(tileByGrid(op, neutral::linalgTilesOf(module))))
        return signalPassFailure();
    }
    SmallVector<tensor::DimOp> dims;
    getOperation()->walk([&](tensor::DimOp dim) { dims.push_back(dim); });
    llvm::for_each(dims, resolve);
  }
};

} // namespace
