//===- TileCode.cpp - Parts of the code of attn_gpu.attention_tile ------------------------===//
#include "lib/Target/GPU/NVIDIA/Attention/TileCode.h"
#include "lib/Target/GPU/NVIDIA/Instructions.h"
#include "lib/Target/GPU/When.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include <numbers>

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();
constexpr int64_t kWarp = 32;      ///< threads
constexpr int64_t kLanesOfRow = 4; ///< lanes that hold elements of one row of accumulators
constexpr float kLeastFactor = 0x1p-20F;
constexpr auto kApproximate = arith::FastMathFlags::afn;

} // namespace

TileCode::TileCode(ImplicitLocOpBuilder &b, AttentionTileOp op)
    : element(cast<ShapedType>(op.getQuery().getType()).getElementType()), copyingThreads(op.getCopyingThreads()), b(b),
      op(op) {
  rows = arith::MulIOp::create(b, GlobalArray(b, op.getQuery()).sizes[0], index(op.getHeads()));
  count = op.getCount() ? Value(op.getCount()) : GlobalArray(b, op.getKey()).sizes[0];
  thread = arith::IndexCastOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()));
  // A positive factor keeps the order of scores, and a moderate one lets none overflow.
  APFloat scale(0.0f);
  const bool isConstant = op.getScore().empty() && matchPattern(op.getScale(), m_ConstantFloat(&scale));
  const float toBase2 = isConstant ? scale.convertToFloat() * std::numbers::log2e_v<float> : 0;
  isScaledLate = toBase2 >= kLeastFactor && toBase2 <= 1;
  factor = number(isScaledLate ? toBase2 : std::numbers::log2e_v<float>);
}

Value TileCode::uniform(Value number) {
  auto constant = [&](int32_t value) { return arith::ConstantOp::create(b, b.getI32IntegerAttr(value)); };
  Value lane = arith::IndexCastOp::create(b, b.getI32Type(), number);
  Value first = NVVM::ShflOp::create(b, b.getI32Type(), constant(-1), lane, constant(0), constant(31),
                                     NVVM::ShflKind::idx, UnitAttr());
  return arith::IndexCastUIOp::create(b, b.getIndexType(), first);
}

Value TileCode::index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }

Value TileCode::number(float value) { return arith::ConstantOp::create(b, b.getF32FloatAttr(value)); }

Value TileCode::lowest() { return number(kLowest); }

Value TileCode::add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }

void TileCode::copyRows(const GlobalArray &array, Value tile, Copiers copiers, Value rows, int64_t columns,
                        function_ref<Value(Value)> offsetOf) {
  Value barrier = copiers.barrier;
  auto copyAs = [&](bool elements) {
    auto copy =
        CopyRowsOp::create(b, array.pointer, rows, index(columns), tile, thread, uint32_t(copiers.threads), elements);
    {
      OpBuilder::InsertionGuard guard(b);
      Block *block = b.createBlock(&copy.getBody(), {}, b.getIndexType(), b.getLoc());
      YieldOp::create(b, offsetOf(block->getArgument(0)));
    }
    if (barrier && elements)
      MBarrierArriveOp::create(b, barrier);
    else if (barrier)
      CopyArriveOp::create(b, barrier);
  };
  if (copiers.asElements)
    return copyAs(true);
  auto branch = scf::IfOp::create(b, array.isAligned(b, GlobalArray::kCopyBytes), /*withElseRegion=*/true);
  for (bool elements : {false, true}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(elements ? branch.elseBlock() : branch.thenBlock());
    copyAs(elements);
  }
}

Value TileCode::rowOffset(const GlobalArray &array, Value row, bool hasHeads) {
  auto times = [&](Value count, Value stride) { return b.createOrFold<arith::MulIOp>(count, stride); };
  if (!hasHeads)
    return add(array.offset, times(row, array.strides[0]));
  Value heads = index(op.getHeads());
  Value query = arith::DivUIOp::create(b, row, heads), head = arith::RemUIOp::create(b, row, heads);
  return add(add(array.offset, times(query, array.strides[0])), times(head, array.strides[1]));
}

Value TileCode::rowOffset(const GlobalArray &array, Value row) {
  return rowOffset(array, row, array.strides.size() == 3);
}

void TileCode::copyQueries(Value tile, Value barrier) {
  const GlobalArray query = arrayOf(op.getQuery());
  copyRows(query, tile, {barrier, copyingThreads, /*asElements=*/false}, rows, op.getChannels(),
           [&](Value row) { return rowOffset(query, row); });
}

void TileCode::copyBlock(Value memref, Value tile, Copiers copiers, Value key, int64_t columns) {
  const GlobalArray array = arrayOf(memref);
  Value left = arith::SubIOp::create(b, count, key);
  auto branch = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, left, index(0)),
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  // The table of a cache has no numbers of blocks for keys that are not there.
  Value last = arith::SubIOp::create(b, count, index(1));
  copyRows(array, tile, copiers, left, columns, [&](Value row) {
    Value at = add(key, row);
    return keyOffset(array, op.getTable() ? Value(arith::MinSIOp::create(b, at, last)) : at);
  });
}

Value TileCode::keyOffset(const GlobalArray &array, Value key) {
  if (!op.getTable())
    return add(array.offset, b.createOrFold<arith::MulIOp>(key, array.strides[0]));
  key = add(op.getFirst(), key);
  Value positions = array.sizes[1], block = arith::DivUIOp::create(b, key, positions);
  Value number = memref::LoadOp::create(b, op.getTable(), block);
  number = arith::IndexCastOp::create(b, b.getIndexType(), number);
  Value inBlock = arith::RemUIOp::create(b, key, positions);
  return add(add(array.offset, b.createOrFold<arith::MulIOp>(number, array.strides[0])),
             b.createOrFold<arith::MulIOp>(inBlock, array.strides[1]));
}

/// Rows that TMA does not copy are no others than those that do not begin at multiples of 16 bytes.
void TileCode::copyKeys(Value first, Value tile, Value barrier) {
  copyBlock(op.getKey(), tile, {barrier, copyingThreads, bool(op.getMade())}, first, op.getChannels());
}

void TileCode::copyValues(Value first, Value tile, Value barrier) {
  copyBlock(op.getValue(), tile, {barrier, copyingThreads, bool(op.getMade())}, first, op.getValueChannels());
}

void TileCode::copyValuesByWarp(Value key, Value tile, Value barrier) {
  copyBlock(op.getValue(), tile, {Value(), kWarp, /*asElements=*/false}, key, op.getValueChannels());
  NVVM::CpAsyncCommitGroupOp::create(b);
  NVVM::CpAsyncWaitGroupOp::create(b, 0);
  fenceAsync(b);
  NVVM::SyncWarpOp::create(b, arith::ConstantOp::create(b, b.getI32IntegerAttr(-1)));
  Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, index(0));
  when(b, isFirst, [&] { MBarrierArriveOp::create(b, barrier); });
}

Value TileCode::isWhole(Value key) {
  Value left = arith::SubIOp::create(b, count, key);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::sge, left, index(op.getTiles().getKeys()));
}

void TileCode::loadTile(Value map, ValueRange at, Value key, Value tile, Value barrier) {
  SmallVector<Value> coordinates(at);
  coordinates[1] = add(coordinates[1], key);
  for (Value &coordinate : coordinates)
    coordinate = arith::IndexCastOp::create(b, b.getI32Type(), coordinate);
  MBarrierExpectOp::create(b, barrier, uint32_t(cast<TileType>(tile.getType()).getBytes()));
  LoadTileOp::create(b, map, coordinates, tile, barrier);
}

void TileCode::loadKeys(Value key, Value tile, Value barrier) {
  loadTile(op.getKeyMap(), op.getKeyAt(), key, tile, barrier);
}

void TileCode::loadValues(Value key, Value tile, Value barrier) {
  loadTile(op.getValueMap(), op.getValueAt(), key, tile, barrier);
}

Value TileCode::clone(Region &region, ValueRange arguments, unsigned result) {
  IRMapping mapping = ofMask;
  mapping.map(region.getArguments(), arguments);
  for (Operation &inner : region.front().without_terminator())
    b.clone(inner, mapping);
  return mapping.lookupOrDefault(region.front().getTerminator()->getOperand(result));
}

bool TileCode::dropsBlocks() {
  return !op.getBlocks().empty() && !matchPattern(op.getBlocks().front().getTerminator()->getOperand(0), m_One());
}

Value TileCode::keepsAll(Value key) {
  if (op.getMask().empty() || op.getBlocks().empty())
    return arith::ConstantOp::create(b, b.getBoolAttr(op.getMask().empty()));
  Value left = arith::SubIOp::create(b, count, key);
  return clone(op.getBlocks(), {key, arith::MinSIOp::create(b, left, index(op.getTiles().getKeys()))}, 1);
}

Value TileCode::nextBlock(Value first) {
  if (!dropsBlocks())
    return first;
  Type type = b.getIndexType();
  auto loop = scf::WhileOp::create(b, TypeRange(type), ValueRange(first));
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&loop.getBefore(), {}, type, b.getLoc());
  Value at = before->getArgument(0), left = arith::SubIOp::create(b, count, at);
  Value isKey = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, left, index(0));
  auto branch = scf::IfOp::create(b, TypeRange(b.getI1Type()), isKey, /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value size = arith::MinSIOp::create(b, left, index(op.getTiles().getKeys()));
    Value isDropped =
        arith::XOrIOp::create(b, clone(op.getBlocks(), {at, size}), arith::ConstantOp::create(b, b.getBoolAttr(true)));
    scf::YieldOp::create(b, isDropped);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, Value(arith::ConstantOp::create(b, b.getBoolAttr(false))));
  }
  scf::ConditionOp::create(b, branch.getResult(0), at);
  Block *after = b.createBlock(&loop.getAfter(), {}, type, b.getLoc());
  scf::YieldOp::create(b, add(after->getArgument(0), index(op.getTiles().getKeys())));
  return loop.getResult(0);
}

Value TileCode::isKey(Value key) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, key, count); }

Value TileCode::isRow(Value row) { return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, row, rows); }

SmallVector<Value> TileCode::overBlocks(ValueRange state, Body body) {
  auto loop = scf::WhileOp::create(b, state.getTypes(), state);
  OpBuilder::InsertionGuard guard(b);
  const SmallVector<Location> locs(state.size(), b.getLoc());
  Block *before = b.createBlock(&loop.getBefore(), {}, state.getTypes(), locs);
  scf::ConditionOp::create(b, isKey(before->getArgument(0)), before->getArguments());
  Block *after = b.createBlock(&loop.getAfter(), {}, state.getTypes(), locs);
  scf::YieldOp::create(b, body(after->getArgument(0), after->getArguments()));
  return SmallVector<Value>(loop.getResults());
}

Value TileCode::map(Type type, ValueRange operands, function_ref<Value(ValueRange)> body, bool ownColumns) {
  auto map = MapOp::create(b, TypeRange(type), operands, ownColumns);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Type> types(operands.size(), b.getF32Type());
  types.append(isa<FragmentType>(type) ? 2 : 1, b.getIndexType());
  Block *block = b.createBlock(&map.getBody(), {}, types, SmallVector<Location>(types.size(), b.getLoc()));
  YieldOp::create(b, body(block->getArguments()));
  return map.getResult(0);
}

Value TileCode::exp2(Value value) { return math::Exp2Op::create(b, value, kApproximate); }

Value TileCode::scoreOf(Value sum, Value row, Value column) {
  if (isScaledLate)
    return sum;
  Value score = arith::MulFOp::create(b, sum, op.getScale());
  return op.getScore().empty() ? score : clone(op.getScore(), {score, row, column});
}

SmallVector<Value> TileCode::finishScores(ArrayRef<Value> scores, int64_t columns, Value firstRow, Value key,
                                          Value isKept) {
  SmallVector<Value> block(scores);
  if (!isScaledLate)
    for (auto [i, part] : llvm::enumerate(block))
      part = map(
          part.getType(), part,
          [&, i = i](ValueRange x) {
            return scoreOf(x[0], add(x[1], firstRow), add(add(x[2], index(int64_t(i) * columns)), key));
          },
          /*ownColumns=*/!op.getScore().empty());
  Value left = arith::SubIOp::create(b, count, key);
  Value isMasked = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, left, index(op.getTiles().getKeys()));
  if (!op.getMask().empty()) {
    if (!isKept)
      isKept = keepsAll(key);
    isMasked = arith::OrIOp::create(
        b, isMasked, arith::XOrIOp::create(b, isKept, arith::ConstantOp::create(b, b.getBoolAttr(true))));
  }
  auto branch = scf::IfOp::create(b, ValueRange(block).getTypes(), isMasked, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, block);
  b.setInsertionPointToStart(branch.thenBlock());
  withSavedOfMask([&] {
    for (auto [i, part] : llvm::enumerate(block))
      part = map(
          part.getType(), part,
          [&, i = i](ValueRange x) -> Value {
            Value inBlock = add(x[2], index(int64_t(i) * columns));
            Value isKept = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, inBlock, left);
            if (!op.getMask().empty())
              isKept = arith::AndIOp::create(b, isKept, clone(op.getMask(), {add(x[1], firstRow), add(inBlock, key)}));
            return arith::SelectOp::create(b, isKept, x[0], number(-std::numeric_limits<float>::infinity()));
          },
          /*ownColumns=*/true);
  });
  scf::YieldOp::create(b, block);
  return SmallVector<Value>(branch.getResults());
}

/// 2^(factor * (score - maximum)).
Value TileCode::power(Value score, Value maximum) {
  return exp2(arith::MulFOp::create(b, arith::SubFOp::create(b, score, maximum), factor));
}

Value TileCode::times(Value values, Value rows) {
  return map(values.getType(), {values, rows},
             [&](ValueRange x) -> Value { return arith::MulFOp::create(b, x[0], x[1]); });
}

Value TileCode::exponentials(Value scores, Value maximum) {
  // The exponents of f32 are as exact as their distance to the largest.
  if (!isScaledLate || op.multipliesFloats())
    return map(scores.getType(), {scores, maximum}, [&](ValueRange x) { return power(x[0], x[1]); });
  // One instruction scales and subtracts.
  Value ofRow = map(maximum.getType(), maximum, [&](ValueRange x) -> Value {
    return arith::NegFOp::create(b, arith::MulFOp::create(b, x[0], factor));
  });
  return map(scores.getType(), {scores, ofRow},
             [&](ValueRange x) { return exp2(math::FmaOp::create(b, x[0], factor, x[1])); });
}

Value TileCode::advance(MutableArrayRef<Value> scores, Value &maximum, Value &sum) {
  const auto type = cast<RowVectorType>(maximum.getType());
  Value largest = maximum;
  for (Value part : scores)
    largest = ReduceRowsOp::create(b, type, Reduction::max, part, largest, /*partial=*/true);
  largest = ReduceLanesOp::create(b, Reduction::max, largest);
  Value shrunk = map(type, {maximum, largest}, [&](ValueRange x) { return power(x[0], x[1]); });
  sum = times(sum, shrunk);
  for (Value &part : scores) {
    part = exponentials(part, largest);
    sum = ReduceRowsOp::create(b, type, Reduction::add, part, sum, /*partial=*/true);
  }
  maximum = largest;
  return shrunk;
}

void TileCode::store(Value acc, Value maximum, Value sum, Value firstRow) {
  withSaved([&] { storeRows(acc, maximum, sum, saved ? hidden(firstRow) : firstRow); });
}

void TileCode::storeRows(Value acc, Value maximum, Value sum, Value firstRow) {
  sum = ReduceLanesOp::create(b, Reduction::add, sum);
  if (op.getSink()) { // joins as a key without a value
    Type type = sum.getType();
    Value sinks = map(type, {}, [&](ValueRange x) -> Value {
      Value head = arith::RemUIOp::create(b, add(x[0], firstRow), index(op.getHeads()));
      Value sink = memref::LoadOp::create(b, op.getSink(), head);
      if (!sink.getType().isF32())
        sink = arith::ExtFOp::create(b, b.getF32Type(), sink);
      return isScaledLate ? Value(arith::DivFOp::create(b, sink, op.getScale())) : sink;
    });
    Value largest =
        map(type, {maximum, sinks}, [&](ValueRange x) -> Value { return arith::MaxNumFOp::create(b, x[0], x[1]); });
    auto ofRow = [&](Value score) {
      return map(type, {score, largest}, [&](ValueRange x) { return power(x[0], x[1]); });
    };
    Value shrunk = ofRow(maximum);
    acc = times(acc, shrunk);
    sum = map(type, {sum, shrunk, ofRow(sinks)},
              [&](ValueRange x) -> Value { return math::FmaOp::create(b, x[0], x[1], x[2]); });
    maximum = largest;
  }
  // A query without keys gives 0 (A11).
  Value inverse = map(sum.getType(), sum, [&](ValueRange x) -> Value {
    Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[0], number(0));
    return arith::SelectOp::create(b, isEmpty, number(0),
                                   arith::DivFOp::create(b, number(1), x[0], arith::FastMathFlags::afn));
  });
  acc = times(acc, inverse);
  const int64_t columns = op.getValueChannels();
  const GlobalArray result = arrayOf(op.getResult());
  // Pairs of columns are stored at once where rows begin at multiples of two.
  Value arePairs = columns % 2 == 0 ? result.isAligned(b, 2 * result.bytes())
                                    : Value(arith::ConstantOp::create(b, b.getBoolAttr(false)));
  auto branch = scf::IfOp::create(b, arePairs, /*withElseRegion=*/true);
  for (bool elements : {false, true}) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(elements ? branch.elseBlock() : branch.thenBlock());
    auto store = StoreRowsOp::create(b, acc, result.pointer, firstRow, rows, index(columns),
                                     TypeAttr::get(cast<MemRefType>(op.getResult().getType()).getElementType()),
                                     elements ? b.getUnitAttr() : UnitAttr());
    Block *block = b.createBlock(&store.getBody(), {}, b.getIndexType(), b.getLoc());
    YieldOp::create(b, rowOffset(result, block->getArgument(0)));
  }
  if (!op.getMask().empty())
    storeWithoutMaskedValues(acc, maximum, inverse, firstRow);
  if (op.getLse())
    storeOfRows(maximum, sum, firstRow);
}

void TileCode::storeRow(Value number, Value memref, Value row) {
  const GlobalArray array = arrayOf(memref);
  LLVM::StoreOp::create(b, number, array.pointerAt(b, rowOffset(array, row, array.strides.size() == 2)),
                        unsigned(array.bytes()));
}

void TileCode::storeOfRows(Value maximum, Value sum, Value firstRow) {
  map(sum.getType(), {maximum, sum}, [&](ValueRange x) -> Value {
    Value row = add(x[2], firstRow);
    // One of the lanes that share the row.
    Value lane = arith::RemUIOp::create(b, thread, index(kLanesOfRow));
    Value isOne = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, index(0));
    auto branch = scf::IfOp::create(b, arith::AndIOp::create(b, isOne, isRow(row)), /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value lse = isScaledLate ? Value(arith::MulFOp::create(b, x[0], op.getScale())) : x[0];
    if (op.getSum()) {
      storeRow(x[1], op.getSum(), row);
    } else {
      Value logarithm =
          arith::MulFOp::create(b, math::Log2Op::create(b, x[1], kApproximate), number(std::numbers::ln2_v<float>));
      lse = isScaledLate ? Value(math::FmaOp::create(b, x[0], op.getScale(), logarithm))
                         : Value(arith::AddFOp::create(b, x[0], logarithm));
    }
    Value isEmpty = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x[1], number(0));
    lse = arith::SelectOp::create(b, isEmpty, number(-std::numeric_limits<float>::infinity()), lse);
    storeRow(lse, op.getLse(), row);
    return x[0];
  });
}
