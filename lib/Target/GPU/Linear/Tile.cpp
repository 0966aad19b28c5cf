//===- Tile.cpp - Matmuls as grids of tiles of thread blocks ------------------------------===//
//
// A task is a tile of the result: attn_gpu.linear_tile over all of k. Tiles that have the same columns of the weight
// follow each other, so that they read it from the cache; with groups those of so many rows of tiles, so that tiles at
// work at a time share columns of the weight and rows of the input.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Conversion/AttnToLinalg/Generic.h"
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/Linear/Quantized.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::neutral;
using attn_gpu::LinearGridAttr;
using attn_gpu::LinearScheduleAttr;
using attn_gpu::LinearTilesAttr;

namespace {

/// Where a tile begins along a dim, and how much of it there is.
struct Span {
  Value first;
  OpFoldResult size;
  Value last; ///< element of the dim; null where tiles are whole

  Span(ImplicitLocOpBuilder &b, OpFoldResult extent, Value nth, int64_t tile) {
    first = arith::MulIOp::create(b, nth, index(b, tile));
    const std::optional<int64_t> known = getConstantIntValue(extent);
    if (known && *known % tile == 0) {
      size = b.getIndexAttr(tile);
      return;
    }
    last = asValue(b, affineOf(b, b.getAffineDimExpr(0) - 1, {extent}));
    if (known && *known < tile) {
      size = extent;
      return;
    }
    OpFoldResult left = affineOf(b, b.getAffineDimExpr(0) - b.getAffineDimExpr(1), {extent, first});
    size = affineMin(b, {b.getIndexAttr(tile), left});
  }

  /// The index of an element of the tile; that of the last one for those that are not there.
  Value at(ImplicitLocOpBuilder &b, Value i) const {
    Value index = arith::AddIOp::create(b, first, i);
    return last ? Value(arith::MinSIOp::create(b, index, last)) : index;
  }
};

/// Whether two tensors have as many rows: a matmul's result has those of its operands by element, as residuals.
bool haveSameRows(Value result, Value other) {
  SmallVector<Value> left{result};
  SmallPtrSet<Operation *, 8> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (value == other)
      return true;
    auto op = value.getDefiningOp<attn::LinearOp>();
    if (!op || !seen.insert(op).second)
      continue;
    llvm::copy_if(op.getExtras(), std::back_inserter(left),
                  [](Value extra) { return cast<RankedTensorType>(extra.getType()).getRank() == 2; });
  }
  return false;
}

/// The state of a loop that the result becomes, where nothing reads it from the op on: its memory is free. A layer's
/// last matmul needs no memory of its own then, which would be copied to the state. Null where there is none.
Value freeState(attn::LinearOp op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || !op->hasOneUse() || !isa<scf::YieldOp>(*op->user_begin()))
    return {};
  BlockArgument state = loop.getRegionIterArg(op->use_begin()->getOperandNumber());
  const bool isFree = llvm::all_of(state.getUsers(), [&](Operation *user) {
    Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && inBlock->isBeforeInBlock(op);
  });
  return isFree && state.getType() == op.getResult().getType() && haveSameRows(op.getResult(), state) ? state : Value();
}

class LinearGrid {
public:
  /// `quantized` are the rows of a quantized matmul, `state` what the result is written to, and `rope` the rotation
  /// that the tiles do, if not null.
  LinearGrid(attn::LinearOp op, const QuantizedRows &quantized, Value state, attn::RopeOp rope)
      : op(op), b(op.getLoc(), op), quantized(quantized), rope(rope),
        rows(extent(b, op.isQuantized() ? quantized.codes : Value(op.getInput()), 0)),
        columns(op.isQuantized() ? OpFoldResult(b.getIndexAttr(panelsOf(op).getShape()[1]))
                                 : extent(b, op.getWeight(), op.getTransposed() ? 0 : 1)),
        init(state), bytes(op.isQuantized() ? bytesOf(b, op) : Value()) {
    if (!init)
      init = emptyFor(b, op.getResult(), {rows, columns});
  }

  /// Grids of tiles of which the number of rows chooses one where the program runs.
  Value choose(LinearScheduleAttr schedule) {
    const LinearGridAttr few = schedule.getFewRows(), many = schedule.getManyRows(), most = schedule.getMostRows();
    auto compare = [&](arith::CmpIPredicate predicate, int64_t number) {
      return arith::CmpIOp::create(b, predicate, asValue(b, rows), index(b, number));
    };
    // The condition that asks for the most rows is the first.
    auto manyOrNot = [&] {
      if (!many)
        return tile(schedule.getCommon());
      return either(
          compare(arith::CmpIPredicate::sge, many.getLeast()), [&] { return tile(many); },
          [&] { return tile(schedule.getCommon()); });
    };
    auto mostOrNot = [&] {
      if (!most)
        return manyOrNot();
      Value takes = compare(arith::CmpIPredicate::sge, most.getLeast());
      if (most.getShare() && most.getTiles().getBlocks() && many && many.getTiles().getBlocks())
        takes = arith::AndIOp::create(b, takes, areFaster(most, many.getTiles()));
      return either(takes, [&] { return tile(most); }, manyOrNot);
    };
    if (!few)
      return mostOrNot();
    return either(compare(arith::CmpIPredicate::sle, few.getTiles().getRows()), [&] { return tile(few); }, mostOrNot);
  }

private:
  Value either(Value condition, function_ref<Value()> one, function_ref<Value()> other) {
    auto branch = scf::IfOp::create(b, TypeRange(init.getType()), condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, one());
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, other());
    return branch.getResult(0);
  }

  OpFoldResult count(OpFoldResult extent, int64_t of) {
    return affineOf(b, b.getAffineDimExpr(0).ceilDiv(of), {extent});
  }
  Value countTiles(LinearTilesAttr tiles) {
    return b.createOrFold<arith::MulIOp>(asValue(b, count(columns, tiles.getColumns())),
                                         asValue(b, count(rows, tiles.getRows())));
  }

  /// Whether thread blocks take less time for their tiles than for others. The last tiles may be
  /// those of a few blocks.
  Value areFaster(LinearGridAttr grid, LinearTilesAttr others) {
    auto timeOf = [&](LinearTilesAttr of, int64_t hundredths) {
      Value ofBlock = arith::CeilDivUIOp::create(b, countTiles(of), index(b, of.getBlocks()));
      return b.createOrFold<arith::MulIOp>(ofBlock, index(b, of.getRows() * of.getColumns() * hundredths));
    };
    Value time = timeOf(grid.getTiles(), grid.getShare());
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ule, time, timeOf(others, 100));
  }

  Value tile(LinearGridAttr of) {
    const LinearTilesAttr tiles = of.getTiles();
    const int64_t group = of.getGroup(), high = tiles.getRows(), wide = tiles.getColumns();
    OpFoldResult across = count(columns, wide), down = count(rows, high);
    SmallVector<OpFoldResult> extents{across, down};
    if (group)
      extents = {OpFoldResult(b.createOrFold<arith::MulIOp>(asValue(b, across), asValue(b, down)))};
    Value result = grid(b, extents, init, [&](ImplicitLocOpBuilder &b, ValueRange ids, ValueRange dests) {
      SmallVector<Value> at = group ? inGroups(ids[0], group, across, down) : SmallVector<Value>(ids);
      return SmallVector<Insertion>{task(tiles, Span(b, rows, at[1], high), Span(b, columns, at[0], wide), dests[0])};
    })[0];
    Attribute number = op->getAttr(attn::AttnDialect::opAttr);
    if (auto forall = result.getDefiningOp<scf::ForallOp>(); forall && number)
      forall->setAttr(attn::AttnDialect::opAttr, number);
    return result;
  }

  /// Column and row of the `nth` tile, where groups of so many rows follow each other, and in them columns.
  SmallVector<Value> inGroups(Value nth, int64_t group, OpFoldResult across, OpFoldResult down) {
    Value height = index(b, group), size = b.createOrFold<arith::MulIOp>(asValue(b, across), height);
    Value first = b.createOrFold<arith::MulIOp>(b.createOrFold<arith::DivUIOp>(nth, size), height);
    Value inGroup = b.createOrFold<arith::RemUIOp>(nth, size);
    height = arith::MinUIOp::create(b, height, b.createOrFold<arith::SubIOp>(asValue(b, down), first)); // of the last
    Value row = arith::AddIOp::create(b, first, b.createOrFold<arith::RemUIOp>(inGroup, height));
    return {b.createOrFold<arith::DivUIOp>(inGroup, height), row};
  }

  Insertion task(LinearTilesAttr tiles, const Span &row, const Span &column, Value dest) {
    if (op.isQuantized())
      return quantizedTask(tiles, row, column, dest);
    OpFoldResult zero = b.getIndexAttr(0), depth = extent(b, op.getInput(), 1);
    auto part = [&](Value tensor, OFRs offsets, OFRs sizes) { return slice(b, tensor, offsets, sizes); };
    Value input = part(op.getInput(), {row.first, zero}, {row.size, depth});
    Value weight = op.getTransposed() ? part(op.getWeight(), {column.first, zero}, {column.size, depth})
                                      : part(op.getWeight(), {zero, column.first}, {depth, column.size});
    Value result = part(dest, {row.first, column.first}, {row.size, column.size});
    auto made = attn_gpu::LinearTileOp::create(
        b, TypeRange(result.getType()), input, weight, /*inputMap=*/Value(), /*inputAt=*/ValueRange(),
        /*weightMap=*/Value(), /*weightAt=*/ValueRange(), /*made=*/Value(), result, op.getTransposed(), tiles,
        /*constant_weight=*/op.getWeight().getDefiningOp<attn::ParameterSliceOp>() != nullptr, /*waits=*/false);
    fillEpilogue(made.getEpilogue(), row, column);
    fillPairs(made.getPairs(), row, column);
    return {made.getResults()[0], {row.first, column.first}, {row.size, column.size}};
  }

  Insertion quantizedTask(LinearTilesAttr tiles, const Span &row, const Span &column, Value dest) {
    OpFoldResult zero = b.getIndexAttr(0);
    auto rowsOf = [&](Value tensor) { return slice(b, tensor, {row.first, zero}, {row.size, extent(b, tensor, 1)}); };
    const int64_t width = attn_gpu::QuantizedPanelsAttr::kColumns;
    AffineExpr d0 = b.getAffineDimExpr(0);
    OpFoldResult panel = affineOf(b, d0.floorDiv(width), {OpFoldResult(column.first)}),
                 panels = affineOf(b, d0.ceilDiv(width), {column.size});
    Value weight = slice(b, bytes, {panel, zero, zero}, {panels, extent(b, bytes, 1), extent(b, bytes, 2)});
    Value result = slice(b, dest, {row.first, column.first}, {row.size, column.size});
    auto made = attn_gpu::QuantizedLinearTileOp::create(b, TypeRange(result.getType()), rowsOf(quantized.codes),
                                                        rowsOf(quantized.scales), weight, result,
                                                        op.getWeight().getType().getElementType(), tiles);
    fillEpilogue(made.getEpilogue(), row, column);
    fillPairs(made.getPairs(), row, column);
    return {made.getResults()[0], {row.first, column.first}, {row.size, column.size}};
  }

  /// Rotates the pairs of channels of the heads that the rotation has.
  void fillPairs(Region &pairs, const Span &row, const Span &column) {
    if (!rope)
      return;
    OpBuilder::InsertionGuard guard(b);
    Type f32 = b.getF32Type(), type = b.getIndexType();
    Block *block = b.createBlock(&pairs, {}, {f32, f32, type, type}, SmallVector<Location>(4, b.getLoc()));
    RankedTensorType heads = rope.getInput().getType();
    const int64_t channels = heads.getDimSize(2),
                  count = cast<RankedTensorType>(rope.getCosines().getType()).getDimSize(1);
    Value x = block->getArgument(0), y = block->getArgument(1), i = row.at(b, block->getArgument(2)),
          j = column.at(b, block->getArgument(3));
    Value channel = arith::RemUIOp::create(b, j, index(b, channels)), isRotated;
    Value pair = arith::DivUIOp::create(b, channel, index(b, 2));
    auto require = [&](Value value, int64_t below) {
      Value isBelow = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, value, index(b, below));
      isRotated = isRotated ? Value(arith::AndIOp::create(b, isRotated, isBelow)) : isBelow;
    };
    if (rope.getHeads())
      require(j, int64_t(*rope.getHeads()) * channels);
    if (2 * count < channels) {
      require(channel, 2 * count);
      pair = arith::MinUIOp::create(b, pair, index(b, count - 1));
    }
    Value cosine = read(b, rope.getCosines(), {i, pair}), sine = read(b, rope.getSines(), {i, pair});
    auto times = [&](Value value, Value by) -> Value { return arith::MulFOp::create(b, value, by); };
    Value first = arith::SubFOp::create(b, times(x, cosine), times(y, sine)),
          second = arith::AddFOp::create(b, times(y, cosine), times(x, sine));
    if (isRotated) {
      first = arith::SelectOp::create(b, isRotated, first, x);
      second = arith::SelectOp::create(b, isRotated, second, y);
    }
    attn_gpu::YieldOp::create(b, ValueRange{first, second});
  }

  void fillEpilogue(Region &epilogue, const Span &row, const Span &column) {
    if (op.getEpilogue().empty())
      return;
    OpBuilder::InsertionGuard guard(b);
    Type index = b.getIndexType();
    Block *block = b.createBlock(&epilogue, {}, {b.getF32Type(), index, index}, SmallVector<Location>(3, b.getLoc()));
    Value i = row.at(b, block->getArgument(1)), j = column.at(b, block->getArgument(2));
    SmallVector<Value> numbers{block->getArgument(0)};
    for (Value extra : op.getExtras()) {
      const bool isVector = cast<RankedTensorType>(extra.getType()).getRank() == 1;
      numbers.push_back(read(b, extra, isVector ? ValueRange{j} : ValueRange{i, j}));
    }
    attn_gpu::YieldOp::create(b, inlineRegion(b, op.getEpilogue(), numbers));
  }

  attn::LinearOp op;
  ImplicitLocOpBuilder b;
  QuantizedRows quantized;
  attn::RopeOp rope;
  OpFoldResult rows, columns;
  Value init;
  Value bytes; ///< of a quantized weight
};

} // namespace

LogicalResult any_gpu::tileMatmuls(ModuleOp module) {
  SmallVector<attn::LinearOp> ops;
  module.walk([&](attn::LinearOp op) {
    if (attn_gpu::scheduleOf<LinearScheduleAttr>(op))
      ops.push_back(op);
  });
  SmallVector<Value> states = llvm::map_to_vector(ops, freeState); // while all matmuls are there
  llvm::MapVector<Operation *, QuantizedRows> quantized;           // rows that several matmuls read are quantized once
  for (auto [op, state] : llvm::zip_equal(ops, states)) {
    if (failed(verifySchedule(op)))
      return failure();
    auto schedule = attn_gpu::scheduleOf<LinearScheduleAttr>(op);
    QuantizedRows rows;
    if (op.isQuantized()) {
      auto quantize = op.getInput().getDefiningOp<attn::QuantizeRowsOp>(); // there, as the schedule says
      QuantizedRows &known = quantized[quantize];
      rows = known = known.codes ? known : quantizeRows(quantize);
    }
    Operation *weight = op.getWeight().getDefiningOp();
    StringRef reason;
    attn::RopeOp rope = schedule.getRotates() ? rotationOf(op, reason) : attn::RopeOp();
    op.getResult().replaceAllUsesWith(LinearGrid(op, rows, state, rope).choose(schedule));
    if (rope) {
      rope.getResult().replaceAllUsesWith(rope.getInput());
      rope.erase();
    }
    op.erase();
    if (rows.codes && weight->use_empty())
      weight->erase();
  }
  for (Operation *op : llvm::make_first_range(quantized))
    if (op->use_empty())
      op->erase();
  return success();
}
