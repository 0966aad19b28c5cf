//===- VectorLoops.cpp - Loops over vectors of a linalg op --------------------------------===//
//
// A tile is a vector along one loop and a point along the others, so upstream's vectorizer
// makes vectors of one dim. The rows of a micro-kernel tile are such tiles side by side. A
// ragged end that whole vectors leave becomes scalar loops, so no lane is masked.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Generic/VectorLoops.h"
#include "lib/Target/Generic/Part.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/TilingInterface.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::generic;

Operation *generic::combinerOf(linalg::GenericOp op) {
  SmallVector<Operation *> combiners;
  if (op.getNumDpsInits() != 1 || !matchReduction(op.getRegionOutputArgs(), 0, combiners) || combiners.size() != 1)
    return nullptr;
  return arith::getNeutralElement(combiners[0]) ? combiners[0] : nullptr;
}

static void toScalarLoops(IRRewriter &rewriter, linalg::GenericOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  if (succeeded(linalg::linalgOpToLoops(rewriter, op)))
    rewriter.eraseOp(op);
}

static OpFoldResult sum(IRRewriter &rewriter, Location loc, OpFoldResult x, OpFoldResult y) {
  return affine::makeComposedFoldedAffineApply(
      rewriter, loc, rewriter.getAffineSymbolExpr(0) + rewriter.getAffineSymbolExpr(1), {x, y});
}

static OpFoldResult difference(IRRewriter &rewriter, Location loc, OpFoldResult x, OpFoldResult y) {
  return affine::makeComposedFoldedAffineApply(
      rewriter, loc, rewriter.getAffineSymbolExpr(0) - rewriter.getAffineSymbolExpr(1), {x, y});
}

/// As many of `count` points as whole tiles of `size` take.
static OpFoldResult inTiles(IRRewriter &rewriter, Location loc, OpFoldResult count, int64_t size) {
  return affine::makeComposedFoldedAffineApply(rewriter, loc, rewriter.getAffineSymbolExpr(0).floorDiv(size) * size,
                                               {count});
}

static scf::ForOp forLoop(IRRewriter &rewriter, Location loc, OpFoldResult begin, OpFoldResult end, int64_t step) {
  auto value = [&](OpFoldResult bound) { return getValueOrCreateConstantIndexOp(rewriter, loc, bound); };
  return scf::ForOp::create(rewriter, loc, value(begin), value(end), value(rewriter.getIndexAttr(step)));
}

VectorLoops::VectorLoops(IRRewriter &rewriter, linalg::GenericOp op, const VectorPlan &plan, const VectorSizes &sizes)
    : rewriter(rewriter), op(op), plan(plan), sizes(sizes) {
  for (Range range : cast<TilingInterface>(op.getOperation()).getIterationDomain(rewriter)) {
    offsets.push_back(range.offset);
    extents.push_back(range.size);
  }
}

void VectorLoops::make() {
  OpBuilder::InsertionGuard guard(rewriter);
  if (!plan.rows)
    return nest(axesOf(/*ofTiles=*/false));
  OFR &first = offsets[*plan.rows], &count = extents[*plan.rows];
  const OFR whole = inTiles(rewriter, op.getLoc(), count, sizes.rows);
  const OFR left = difference(rewriter, op.getLoc(), count, whole);
  count = whole;
  if (!isZeroInteger(whole))
    nest(axesOf(/*ofTiles=*/true));
  first = whole, count = left;
  if (!isZeroInteger(left))
    nest(axesOf(/*ofTiles=*/false));
}

/// Tiles of up to `most` columns. A number of columns that is known at run time alone has one size: a second one would
/// be more code for fewer scalars.
VectorLoops::Axis VectorLoops::lanesOf(int64_t most) {
  if (most == sizes.lanes)
    return {plan.lanes, {most}};
  if (!isa<Attribute>(extents[plan.lanes]))
    return {plan.lanes, {sizes.columns}};
  return {plan.lanes, {most, sizes.lanes}};
}

/// The loops, the first outermost. Tiles of rows go through the columns outside, so that they share what a tile of
/// columns reads; rows that are alone take as many columns as there are accumulators.
SmallVector<VectorLoops::Axis> VectorLoops::axesOf(bool ofTiles) {
  SmallVector<Axis> axes, reductions;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (loop != plan.lanes && loop != plan.rows)
      (isReduction(loop) ? reductions : axes).push_back({loop, {1}});
  const bool isAcross = !isReduction(plan.lanes);
  if (isAcross && ofTiles)
    axes.push_back(lanesOf(sizes.columns));
  if (plan.rows)
    axes.push_back({*plan.rows, {ofTiles ? sizes.rows : 1}});
  if (isAcross && !ofTiles)
    axes.push_back(lanesOf(reductions.empty() ? sizes.lanes : sizes.rows * sizes.columns));
  llvm::append_range(axes, reductions);
  return axes;
}

void VectorLoops::nest(ArrayRef<Axis> axes) {
  if (axes.empty())
    return tile();
  const Axis &axis = axes.front();
  const OFR first = offsets[axis.loop], count = extents[axis.loop];
  OFR begin = first, left = count;
  for (int64_t size : axis.tiles) {
    const OFR whole = inTiles(rewriter, op.getLoc(), left, size);
    const OFR end = sum(rewriter, op.getLoc(), begin, whole);
    if (!isZeroInteger(whole))
      loopOver(axes, begin, end, size);
    begin = end, left = difference(rewriter, op.getLoc(), left, whole);
  }
  if (!isZeroInteger(left)) {
    offsets[axis.loop] = begin, extents[axis.loop] = left;
    toScalarLoops(rewriter, partOf(rewriter, op, offsets, extents));
  }
  offsets[axis.loop] = first, extents[axis.loop] = count;
}

void VectorLoops::loopOver(ArrayRef<Axis> axes, OFR begin, OFR end, int64_t size) {
  const unsigned along = axes.front().loop;
  scf::ForOp loop = forLoop(rewriter, op.getLoc(), begin, end, size);
  offsets[along] = loop.getInductionVar();
  extents[along] = rewriter.getIndexAttr(along == plan.lanes ? size : 1);
  if (along == plan.rows)
    rowsOfTile = size;
  rewriter.setInsertionPoint(loop.getBody()->getTerminator());
  nest(axes.drop_front());
  if (isReduction(along))
    loop = keepInRegisters(loop);
  else
    accumulators.clear();
  rewriter.setInsertionPointAfter(accumulators.empty() ? loop.getOperation() : accumulators.back().write);
}

/// The points of a micro-kernel tile.
void VectorLoops::tile() {
  SmallVector<linalg::GenericOp> rows{partOf(rewriter, op, offsets, extents)};
  for (int64_t i = 1; i < rowsOfTile; ++i) {
    const OFR first = offsets[*plan.rows];
    offsets[*plan.rows] = sum(rewriter, op.getLoc(), first, rewriter.getIndexAttr(i));
    rows.push_back(partOf(rewriter, op, offsets, extents));
    offsets[*plan.rows] = first;
  }
  if (isReduction(plan.lanes))
    return reduceLanes(rows);
  for (linalg::GenericOp row : rows)
    vectorize(row);
}

void VectorLoops::vectorize(linalg::GenericOp part) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(part);
  if (failed(linalg::vectorize(rewriter, part)))
    return toScalarLoops(rewriter, part);
  for (Value result : part.getDpsInits()) {
    Accumulator sum;
    for (Operation *user : result.getUsers())
      if (user->getBlock() == part->getBlock()) {
        if (auto read = dyn_cast<vector::TransferReadOp>(user))
          sum.read = read;
        else if (auto write = dyn_cast<vector::TransferWriteOp>(user))
          sum.write = write;
      }
    if (sum.read && sum.write)
      accumulators.push_back(sum);
  }
  rewriter.eraseOp(part);
}

/// Sums that an iteration reads and writes again become values that the loop carries. Upstream's
/// hoistRedundantVectorTransfers takes no views; here a result has one reader and one writer.
scf::ForOp VectorLoops::keepInRegisters(scf::ForOp loop) {
  auto outer = cast<LoopLikeOpInterface>(loop.getOperation());
  moveLoopInvariantCode(outer);
  llvm::erase_if(accumulators, [&](const Accumulator &sum) {
    return !llvm::all_of(sum.read->getOperands(), [&](Value operand) { return outer.isDefinedOutsideOfLoop(operand); });
  });
  SmallVector<Value> before, after;
  for (const Accumulator &sum : accumulators) {
    rewriter.moveOpBefore(sum.read, loop);
    before.push_back(sum.read->getResult(0));
    after.push_back(sum.write->getOperand(0));
  }
  OpBuilder::InsertionGuard guard(rewriter);
  const unsigned first = loop.getNumResults();
  FailureOr<LoopLikeOpInterface> carrying =
      outer.replaceWithAdditionalYields(rewriter, before, /*replaceInitOperandUsesInLoop=*/true,
                                        [&](OpBuilder &, Location, ArrayRef<BlockArgument>) { return after; });
  assert(succeeded(carrying) && "scf.for carries values");
  Operation *last = *carrying;
  for (auto [i, sum] : llvm::enumerate(accumulators)) {
    rewriter.moveOpAfter(sum.write, last);
    sum.write->setOperand(0, carrying->getOperation()->getResult(first + i));
    last = sum.write;
  }
  return cast<scf::ForOp>(carrying->getOperation());
}

/// A vector of partial sums that are neutral elements.
Value VectorLoops::partialSums(int64_t width) {
  Operation *combiner = combinerOf(op);
  auto type = MemRefType::get({width}, combiner->getResult(0).getType());
  Value sums, neutral = arith::ConstantOp::create(rewriter, op.getLoc(), *arith::getNeutralElement(combiner));
  {
    OpBuilder::InsertionGuard guard(rewriter); // outside of all loops, which would grow the stack
    rewriter.setInsertionPointToStart(&op->getParentOfType<FunctionOpInterface>().getFunctionBody().front());
    sums = memref::AllocaOp::create(rewriter, op.getLoc(), type);
  }
  Value vector =
      vector::BroadcastOp::create(rewriter, op.getLoc(), VectorType::get({width}, neutral.getType()), neutral);
  Value zero = arith::ConstantIndexOp::create(rewriter, op.getLoc(), 0);
  vector::TransferWriteOp::create(rewriter, op.getLoc(), vector, sums, ValueRange{zero}, ArrayRef<bool>{true});
  return sums;
}

/// Each lane combines every element whose number is the lane modulo `width`.
void VectorLoops::addLanes(scf::ForOp loop, ArrayRef<linalg::GenericOp> rows, ValueRange sums, int64_t width) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(loop.getBody()->getTerminator());
  for (auto [row, sum] : llvm::zip_equal(rows, sums)) {
    const OFR begin = loop.getInductionVar(), count = rewriter.getIndexAttr(width);
    linalg::GenericOp part = partOf(rewriter, row, {begin}, {count});
    SmallVector<AffineMap> maps = part.getIndexingMapsArray();
    maps.back() = rewriter.getMultiDimIdentityMap(1);
    auto lanewise = linalg::GenericOp::create(rewriter, op.getLoc(), TypeRange(), part.getDpsInputs(), ValueRange(sum),
                                              maps, {utils::IteratorType::parallel});
    lanewise.getRegion().takeBody(part.getRegion());
    rewriter.eraseOp(part);
    vectorize(lanewise);
  }
}

/// The row's result and its partial sums.
void VectorLoops::combineLanes(linalg::GenericOp row, Value sums) {
  AffineMap lane = rewriter.getMultiDimIdentityMap(1), none = row.getIndexingMapsArray().back();
  vectorize(linalg::GenericOp::create(rewriter, op.getLoc(), TypeRange(), ValueRange(sums), row.getDpsInits(),
                                      {lane, none}, {utils::IteratorType::reduction},
                                      [&](OpBuilder &b, Location loc, ValueRange elements) {
                                        Operation *combined = b.clone(*combinerOf(op));
                                        combined->setOperands({elements[1], elements[0]});
                                        linalg::YieldOp::create(b, loc, combined->getResults());
                                      }));
}

/// Reduces each row along the lanes: a vector of partial sums, their sum, and the elements of the ragged end.
void VectorLoops::reduceLanes(ArrayRef<linalg::GenericOp> rows) {
  const OFR zero = rewriter.getIndexAttr(0), count = extents[plan.lanes];
  const int64_t width =
      getConstantIntValue(count).value_or(sizes.columns) < sizes.columns ? sizes.lanes : sizes.columns;
  const OFR whole = inTiles(rewriter, op.getLoc(), count, width),
            left = difference(rewriter, op.getLoc(), count, whole);
  SmallVector<Value> sums;
  for (size_t i = 0; i < rows.size(); ++i)
    sums.push_back(partialSums(width));
  scf::ForOp loop = forLoop(rewriter, op.getLoc(), zero, whole, width);
  addLanes(loop, rows, sums, width);
  loop = keepInRegisters(loop);
  rewriter.setInsertionPointAfter(accumulators.empty() ? loop.getOperation() : accumulators.back().write);
  for (auto [row, sum] : llvm::zip_equal(rows, sums)) {
    combineLanes(row, sum);
    if (!isZeroInteger(left))
      toScalarLoops(rewriter, partOf(rewriter, row, {whole}, {left}));
    rewriter.eraseOp(row);
  }
  accumulators.clear();
}
