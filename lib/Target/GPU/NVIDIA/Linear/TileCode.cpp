//===- TileCode.cpp - Code that all tiles of matmuls share --------------------------------===//
//
// Copies of the steps of k that follow are under way while one is multiplied. A buffer is filled anew behind the
// barrier that all warps come to when they have read it, so that there is one barrier a step.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Linear/TileCode.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

constexpr int64_t kThreadsOfWarp = 32;

LinearTileCode::LinearTileCode(Operation *op, Value result, Epilogue epilogue, std::pair<int64_t, int64_t> grid,
                               int64_t rows, int64_t columns, int64_t parts)
    : b(op->getLoc(), op), result(b, result), epilogue(epilogue), rowsOfWarp(rows / grid.first),
      groups(columns / grid.second / kGroup) {
  thread = arith::IndexCastOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  Value warp = arith::DivUIOp::create(b, thread, index(kThreadsOfWarp));
  if (parts > 1) {
    Value ofPart = index(grid.first * grid.second);
    part = arith::DivUIOp::create(b, warp, ofPart), warp = arith::RemUIOp::create(b, warp, ofPart);
  }
  firstRow = times(arith::DivUIOp::create(b, warp, index(grid.second)), rowsOfWarp);
  firstColumn = times(arith::RemUIOp::create(b, warp, index(grid.second)), groups * kGroup);
  sums = FragmentType::get(b.getContext(), rowsOfWarp, kGroup, b.getF32Type(),
                           MmaLayoutAttr::get(b.getContext(), MatmulOperand::acc));
}

LinearTileCode::LinearTileCode(Operation *op, Value result, Epilogue epilogue, FragmentType sums, int64_t groups,
                               Value firstRow)
    : b(op->getLoc(), op), result(b, result), epilogue(epilogue), sums(sums), rowsOfWarp(sums.getRows()),
      groups(groups), firstRow(firstRow), firstColumn(index(0)) {}

Value LinearTileCode::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
Value LinearTileCode::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
Value LinearTileCode::times(Value x, int64_t by) { return b.createOrFold<arith::MulIOp>(x, index(by)); }

void LinearTileCode::aheadOfSteps(const Ring &ring, function_ref<void(Value, Value)> emit,
                                  function_ref<void()> behind) {
  for (int64_t step = 0; step < ring.stages - 1; ++step) {
    Value isStep = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index(step), ring.steps);
    auto branch = scf::IfOp::create(b, isStep, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emit(index(step), index(step * ring.bytes));
    b.setInsertionPointAfter(branch);
    if (behind)
      behind();
  }
}

SmallVector<Value> LinearTileCode::overSteps(const Ring &ring, ValueRange init,
                                             function_ref<void(Value, Value)> copyAhead,
                                             function_ref<void(Value, Value)> copy,
                                             function_ref<Values(Value, ValueRange)> multiply) {
  const int64_t ahead = ring.stages - 1;
  auto nextBuffer = [&](Value buffer) -> Value {
    Value next = add(buffer, index(ring.bytes));
    Value isEnd = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, index(ring.bytes * ring.stages));
    return arith::SelectOp::create(b, isEnd, index(0), next);
  };
  aheadOfSteps(ring, copyAhead, [&] { NVVM::CpAsyncCommitGroupOp::create(b); });
  // Behind the last copy the same goes on without copies.
  Value copied = arith::SubIOp::create(b, arith::MaxUIOp::create(b, ring.steps, index(ahead)), index(ahead));
  const unsigned count = init.size();
  Values state = llvm::to_vector(init);
  state.append({index(0), index(ahead * ring.bytes)});
  for (bool copies : {true, false}) {
    auto loop =
        scf::ForOp::create(b, copies ? index(0) : copied, copies ? copied : ring.steps, index(1), ValueRange(state));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value read = loop.getRegionIterArg(count), filled = loop.getRegionIterArg(count + 1);
    NVVM::CpAsyncWaitGroupOp::create(b, uint32_t(ahead - 1));
    NVVM::Barrier0Op::create(b); // the step's operands are there, and those of the step before are read
    if (copies)
      copy(add(loop.getInductionVar(), index(ahead)), filled);
    NVVM::CpAsyncCommitGroupOp::create(b);
    Values next = multiply(read, loop.getRegionIterArgs().take_front(count));
    next.append({nextBuffer(read), nextBuffer(filled)});
    scf::YieldOp::create(b, next);
    state.assign(loop.getResults().begin(), loop.getResults().end());
  }
  state.truncate(count);
  return state;
}

static Value rowOffset(ImplicitLocOpBuilder &b, const GlobalArray &array, Value row) {
  return b.createOrFold<arith::AddIOp>(array.offset, b.createOrFold<arith::MulIOp>(row, array.strides[0]));
}

void cuda::copyRows(ImplicitLocOpBuilder &b, const GlobalArray &array, const RowCopy &copy) {
  auto rows = CopyRowsOp::create(b, array.pointerAt(b, copy.at), copy.rows, copy.columns, copy.tile, copy.thread,
                                 uint32_t(copy.threads), copy.elements);
  OpBuilder::InsertionGuard guard(b);
  Block *block = b.createBlock(&rows.getBody(), {}, b.getIndexType(), b.getLoc());
  Value offset = rowOffset(b, array, block->getArgument(0));
  if (copy.elementsOfTile != 1)
    offset = b.createOrFold<arith::DivUIOp>(offset, arith::ConstantIndexOp::create(b, copy.elementsOfTile).getResult());
  YieldOp::create(b, offset);
}

void LinearTileCode::copyRows(const GlobalArray &array, Value tile, Value at, Value rows, Value columns,
                              int64_t threads, bool elements, int64_t elementsOfTile) {
  cuda::copyRows(b, array, {tile, at, rows, columns, thread, threads, elements, elementsOfTile});
}

/// The values that a region of the epilogue gives of those in columns from `column` on.
Value LinearTileCode::mapped(Value acc, Value column, Region &region, bool isOfPairs) {
  if (region.empty())
    return acc;
  auto map = MapOp::create(b, TypeRange(sums), ValueRange(acc), /*own_columns=*/UnitAttr(),
                           isOfPairs ? b.getUnitAttr() : UnitAttr());
  OpBuilder::InsertionGuard guard(b);
  const TypeRange types = region.getArgumentTypes();
  Block *block = b.createBlock(&map.getBody(), {}, types, SmallVector<Location>(types.size(), b.getLoc()));
  SmallVector<Value> arguments(block->getArguments());
  Value &row = arguments.end()[-2], &columnOfTile = arguments.back();
  row = add(row, firstRow);
  columnOfTile = add(columnOfTile, column);
  IRMapping mapping;
  mapping.map(region.getArguments(), arguments);
  for (Operation &inner : region.front().without_terminator())
    b.clone(inner, mapping);
  YieldOp::create(b, llvm::map_to_vector(region.front().getTerminator()->getOperands(),
                                         [&](Value value) { return mapping.lookupOrDefault(value); }));
  return map.getResult(0);
}

void LinearTileCode::store(ValueRange values, bool fours) {
  // Pairs or fours of columns are stored at once where rows begin at multiples of as many, and have whole ones.
  const int64_t bytes = result.element.getIntOrFloatBitWidth() / 8;
  fours &= bytes == 2;
  const int64_t count = fours ? 4 : 2;
  Value rest = arith::AndIOp::create(b, result.sizes[1], index(count - 1));
  Value areWhole = arith::AndIOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, rest, index(0)),
                                         result.isAligned(b, count * bytes));
  for (auto [group, acc] : llvm::enumerate(values)) {
    Value column = add(firstColumn, index(int64_t(group) * kGroup));
    Value value = mapped(acc, column, epilogue.ofElements, /*isOfPairs=*/false);
    value = mapped(value, column, epilogue.ofPairs, /*isOfPairs=*/true);
    auto branch = scf::IfOp::create(b, areWhole, /*withElseRegion=*/true);
    for (bool elements : {false, true}) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(elements ? branch.elseBlock() : branch.thenBlock());
      auto store = StoreRowsOp::create(b, value, result.pointerAt(b, column), firstRow, result.sizes[0],
                                       Value(arith::SubIOp::create(b, result.sizes[1], column)),
                                       TypeAttr::get(result.element), elements ? b.getUnitAttr() : UnitAttr());
      store.setFours(fours && !elements);
      Block *block = b.createBlock(&store.getBody(), {}, b.getIndexType(), b.getLoc());
      YieldOp::create(b, rowOffset(b, result, block->getArgument(0)));
    }
  }
}
