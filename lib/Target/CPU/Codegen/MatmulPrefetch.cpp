//===- MatmulPrefetch.cpp - Prefetches of a micro-kernel tile ------------------------------===//
#include "lib/Target/CPU/Codegen/MatmulPrefetch.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Tile/Tile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using rapt::attn_cpu::kLineBytes;
using tile::index;

namespace {

/// Rows or columns from `panel`, [k, 32], to the next one: a packed weight is [n/32, k, 32], a row-major one [k, n].
MatmulPrefetch::Distance distanceOf(Value panel) {
  auto view = panel.getDefiningOp<memref::SubViewOp>();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!view || failed(view.getSourceType().getStridesAndOffset(strides, offset)) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return {};
  int64_t columns = view.getType().getDimSize(1);
  if (strides.size() == 2)
    return {0, columns};
  return strides.size() == 3 && strides[0] % strides[1] == 0 ? MatmulPrefetch::Distance{strides[0] / strides[1], 0}
                                                             : MatmulPrefetch::Distance{};
}

/// The panel in its storage type: the source of the loop that widens it into `panel` before the tiles of rows, or
/// `panel` itself.
Value storedPanel(Value panel, scf::ForOp rowLoop) {
  for (Operation *user : panel.getUsers()) {
    auto write = dyn_cast<vector::TransferWriteOp>(user);
    auto loop = write ? dyn_cast<scf::ForOp>(write->getParentOp()) : scf::ForOp();
    if (!rowLoop || !loop || loop->getBlock() != rowLoop->getBlock() || !loop->isBeforeInBlock(rowLoop))
      continue;
    for (auto read : loop.getOps<vector::TransferReadOp>())
      if (auto type = dyn_cast<MemRefType>(read.getBase().getType());
          type && type.hasStaticShape() && type.getRank() == 2 && loop.isDefinedOutsideOfLoop(read.getBase()))
        return read.getBase();
  }
  return panel;
}

/// The loop over panels [n/32, k, 32] around `rowLoop`, where `panel` is a k block of one of them; else null.
scf::ForOp loopOverPanels(Value panel, scf::ForOp rowLoop) {
  auto view = panel.getDefiningOp<memref::SubViewOp>();
  if (!view || view.getSourceType().getRank() != 3 || !view.getSourceType().hasStaticShape() ||
      view.getType().getRank() != 2 || view.getType().getDimSize(0) == view.getSourceType().getDimSize(1))
    return nullptr;
  // A loop of one iteration encloses a panel that is widened.
  auto loop = dyn_cast<scf::ForOp>(rowLoop->getParentOp());
  if (loop && loop.isDefinedOutsideOfLoop(view))
    loop = dyn_cast<scf::ForOp>(loop->getParentOp());
  auto from = dyn_cast<Value>(view.getMixedOffsets()[1]);
  bool isOfLoop = loop && from && loop.isDefinedOutsideOfLoop(from) && !loop.isDefinedOutsideOfLoop(view);
  return isOfLoop && getConstantIntValue(loop.getLowerBound()) == 0 && getConstantIntValue(loop.getStep()) == 1
             ? loop
             : nullptr;
}

} // namespace

scf::ForOp cpu::loopOverRows(Operation *matmul, Value panel, int64_t rows) {
  auto loop = dyn_cast<scf::ForOp>(matmul->getParentOp());
  return loop && loop.isDefinedOutsideOfLoop(panel) && getConstantIntValue(loop.getStep()) == rows ? loop
                                                                                                   : scf::ForOp();
}

SmallVector<memref::SubViewOp> cpu::viewsOfEpilogue(Operation *matmul, int64_t rows, int64_t columns) {
  SmallVector<memref::SubViewOp> views;
  for (auto view : matmul->getBlock()->getOps<memref::SubViewOp>())
    if (view.getType().getShape() == ArrayRef<int64_t>{rows, columns} && view->isBeforeInBlock(matmul))
      views.push_back(view);
  return views;
}

Value cpu::nthTile(ImplicitLocOpBuilder &b, scf::ForOp tiles) {
  return arith::DivUIOp::create(b, tiles.getInductionVar(), index(b, *getConstantIntValue(tiles.getStep())));
}

NextPanel::NextPanel(ImplicitLocOpBuilder &b, scf::ForOp tiles, int64_t most, int64_t elements, int64_t bytes,
                     int64_t steps, int64_t nth, int64_t each)
    : tiles(tiles), nth(nth), each(each) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(tiles);
  Value count = arith::CeilDivUIOp::create(b, tiles.getUpperBound(), index(b, *getConstantIntValue(tiles.getStep())));
  if (each > 1)
    count = arith::MulIOp::create(b, count, index(b, each));
  count = arith::MaxUIOp::create(b, count, index(b, std::max<int64_t>(elements * bytes * steps / kLineBytes, 1)));
  count = arith::MinUIOp::create(b, count, index(b, most));
  last = arith::SubIOp::create(b, count, index(b, 1));
  share = arith::DivUIOp::create(b, index(b, elements), count);
}

Value NextPanel::at(ImplicitLocOpBuilder &b, Value step, int64_t steps) const {
  Value tile = nthTile(b, tiles);
  if (each > 1)
    tile = arith::AddIOp::create(b, arith::MulIOp::create(b, tile, index(b, each)), index(b, nth));
  Value done = arith::MulIOp::create(b, arith::MinUIOp::create(b, tile, last), index(b, steps));
  return arith::MulIOp::create(b, arith::AddIOp::create(b, done, step), share);
}

MatmulPrefetch::MatmulPrefetch(Operation *matmul, attn_cpu::PrefetchAttr sizes, Value input, Value panel,
                               const Tile &tile, int64_t rowsOfStep, int64_t together)
    : sizes(sizes), input(input), panel(panel), tile(tile), rowsOfStep(rowsOfStep), together(together) {
  auto type = cast<MemRefType>(panel.getType());
  // A dynamic depth has whole chunks.
  depth = type.isDynamicDim(0) ? kChunk : type.getDimSize(0);
  panelBytes = type.getElementTypeBitWidth() / 8;
  inputBytes = cast<MemRefType>(input.getType()).getElementTypeBitWidth() / 8;
  int64_t all = cast<MemRefType>(input.getType()).getDimSize(0), width = type.getDimSize(1) / rowsOfStep;
  hasFewQueries = isa<attn_cpu::PanelMatmulOp>(matmul) && all < (sizes ? sizes.getStreamRows() : 1);
  rowLoop = loopOverRows(matmul, panel, all);
  stored = storedPanel(panel, rowLoop);
  next = distanceOf(stored);
  if (stored != panel && next.column)
    next = {};
  if (rowLoop)
    epilogue = viewsOfEpilogue(matmul, all, width);
}

int64_t MatmulPrefetch::panelColumn(int64_t byte) const { return tile.column * rowsOfStep + byte / panelBytes; }

bool MatmulPrefetch::streams() const { return tile.rows < sizes.getStreamRows(); }

bool MatmulPrefetch::isUseful(bool isWidened) const {
  if (!sizes)
    return false;
  const bool isWhole = tile.columns * rowsOfStep == cast<MemRefType>(panel.getType()).getDimSize(1);
  return (tile.rows > 1 || (isWidened && isWhole)) && (streams() || depth % kChunk == 0);
}

bool MatmulPrefetch::hasChunks() const { return !streams() && (prefetchesRows() || rowLoop); }

bool MatmulPrefetch::prefetchesRows() const {
  return tile.rows * depth * rowsOfStep * inputBytes > sizes.getResidentBytes();
}

void MatmulPrefetch::prefetch(ImplicitLocOpBuilder &b, Value buffer, Value row, Value column, bool isWrite,
                              unsigned locality) {
  memref::PrefetchOp::create(b, buffer, ValueRange{row, column}, isWrite, locality, /*isDataCache=*/true);
}

Value MatmulPrefetch::distanceToNext(ImplicitLocOpBuilder &b) const {
  scf::ForOp panels = loopOverPanels(stored, rowLoop);
  if (!panels)
    return index(b, next.row);
  // The next panel's block of the same k; behind the last panel the next k block of the first one; behind the last k
  // block the first panel of the next task.
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(rowLoop);
  auto view = stored.getDefiningOp<memref::SubViewOp>();
  Value lines = index(b, view.getSourceType().getDimSize(1)), part = index(b, view.getType().getDimSize(0));
  Value from = cast<Value>(view.getMixedOffsets()[1]), p = panels.getInductionVar();
  auto isEqual = [&](Value x, Value y) { return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y); };
  Value back = arith::SubIOp::create(b, part, arith::MulIOp::create(b, p, lines));
  Value ends = isEqual(arith::AddIOp::create(b, from, part), lines);
  Value behind = arith::SelectOp::create(b, ends, arith::SubIOp::create(b, lines, from), back);
  Value isLast = isEqual(arith::AddIOp::create(b, p, index(b, 1)), panels.getUpperBound());
  return arith::SelectOp::create(b, isLast, behind, lines);
}

Value MatmulPrefetch::beginNextPanel(ImplicitLocOpBuilder &b, Value k) {
  auto type = cast<MemRefType>(stored.getType());
  NextPanel shared(b, rowLoop, sizes.getTiles(), llvm::divideCeil(type.getNumElements(), depth),
                   type.getElementTypeBitWidth() / 8, together, tile.nth, together > 1 ? tile.count : 1);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(rowLoop);
    spread = shared.elementsPerStep();
    if (together > 1)
      spread = arith::MulIOp::create(b, spread, index(b, together));
    nextPanel = viewFrom(b, stored, distanceToNext(b), index(b, 0), {type.getDimSize(0), type.getDimSize(1)});
  }
  return shared.at(b, k, depth);
}

void MatmulPrefetch::prefetchNextColumns(ImplicitLocOpBuilder &b, Value k) {
  // Steps [(nth tile * depth + k) / tiles, + chunk / tiles).
  const int64_t steps = kChunk / sizes.getTiles();
  auto divide = [&](Value x) { return arith::DivUIOp::create(b, x, index(b, sizes.getTiles())); };
  Value done = divide(arith::MulIOp::create(b, nthTile(b, rowLoop), index(b, depth)));
  Value from = arith::MinUIOp::create(b, arith::AddIOp::create(b, done, divide(k)), index(b, depth - steps));
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t c = 0; c < tile.columns * rowsOfStep * panelBytes; c += kLineBytes)
      prefetch(b, panel, step == 0 ? from : Value(arith::AddIOp::create(b, from, index(b, step))),
               index(b, next.column + panelColumn(c)), /*isWrite=*/false, kSecondLevel);
}

Value MatmulPrefetch::beforeChunk(ImplicitLocOpBuilder &b, Value k) {
  // The chunk of the input after the next one; behind the end of the rows, a chunk of the next tile's rows.
  if (prefetchesRows()) {
    Value next = arith::AddIOp::create(b, k, index(b, 2 * kChunk));
    Value ends = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, next, index(b, depth));
    Value nextRow = arith::SelectOp::create(b, ends, index(b, tile.row + tile.rows), index(b, tile.row));
    Value nextColumn = arith::SelectOp::create(b, ends, Value(arith::SubIOp::create(b, next, index(b, depth))), next);
    if (rowsOfStep > 1)
      nextColumn = arith::MulIOp::create(b, nextColumn, index(b, rowsOfStep));
    nextRows = viewFrom(b, input, nextRow, nextColumn, {tile.rows, kChunk * rowsOfStep});
  }
  Value element;
  if (rowLoop && next.row)
    element = beginNextPanel(b, k);
  else if (rowLoop && next.column)
    prefetchNextColumns(b, k);
  if (!epilogue.empty()) {
    // One row per chunk, so that the last chunk prefetches the last row.
    int64_t late = depth / kChunk - tile.rows;
    Value r = arith::DivUIOp::create(b, k, index(b, kChunk));
    if (late > 0)
      r = arith::SubIOp::create(b, arith::MaxUIOp::create(b, r, index(b, late)), index(b, late));
    for (memref::SubViewOp view : epilogue)
      for (int64_t c = 0; c < tile.columns * 4; c += kLineBytes)
        prefetch(b, view, arith::AddIOp::create(b, r, index(b, tile.row)), index(b, tile.column + c / 4),
                 /*isWrite=*/true, kFirstLevel);
  }
  return element;
}

void MatmulPrefetch::atStep(ImplicitLocOpBuilder &b, Value panel, Value k) {
  const int64_t lineBytes = tile.columns * rowsOfStep * panelBytes;
  Value line = arith::AddIOp::create(b, k, index(b, streams() ? sizes.getStreamBytes() / lineBytes : sizes.getSteps()));
  for (int64_t c = 0; c < lineBytes; c += kLineBytes)
    prefetch(b, panel, line, index(b, panelColumn(c)), /*isWrite=*/false, hasFewQueries ? kSecondLevel : kFirstLevel);
}

void MatmulPrefetch::rowsInChunk(ImplicitLocOpBuilder &b, Value nth) {
  for (int64_t c = 0; nextRows && c < kChunk * rowsOfStep * inputBytes; c += kLineBytes)
    prefetch(b, nextRows, nth, index(b, c / inputBytes), /*isWrite=*/false, kFirstLevel);
}

Value MatmulPrefetch::nextInChunk(ImplicitLocOpBuilder &b, Value element) {
  prefetch(b, nextPanel, index(b, 0), element, /*isWrite=*/false, kSecondLevel);
  return arith::AddIOp::create(b, element, spread);
}

Value MatmulPrefetch::viewFrom(ImplicitLocOpBuilder &b, Value matrix, Value row, Value column,
                               std::array<int64_t, 2> shape) {
  auto type = cast<MemRefType>(matrix.getType());
  SmallVector<OpFoldResult> from{row, column}, sizes{b.getIndexAttr(shape[0]), b.getIndexAttr(shape[1])},
      strides(type.getRank(), b.getIndexAttr(1));
  if (type.getRank() == 3) {
    from.insert(from.begin(), b.getIndexAttr(0));
    sizes.insert(sizes.begin(), b.getIndexAttr(type.getDimSize(0)));
  }
  return memref::SubViewOp::create(b, matrix, from, sizes, strides);
}
