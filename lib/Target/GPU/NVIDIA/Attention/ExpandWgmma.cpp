//===- ExpandWgmma.cpp - Attention tiles by wgmma -----------------------------------------===//
//
// FlashAttention-3 (Shah et al. 2024): a warpgroup copies keys and values into rings in shared
// memory, two or three others have 64 rows each. Scores of a block are multiplied while the
// values of the one before are, and its softmax is computed meanwhile. Two warpgroups that
// compute start their matmuls alternately, so that one has the tensor cores during the softmax
// of the other.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Attention/TileCode.h"
#include "lib/Target/GPU/NVIDIA/Instructions.h"
#include "lib/Target/GPU/When.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kWarpgroup = 128, kRows = 64; ///< threads and rows of a warpgroup
constexpr int64_t kWarp = 32;
/// Registers of a thread that copies and of one that computes: 64K of them in all.
struct Registers {
  uint32_t copying, computing;
};
Registers registersOf(int64_t groups, int64_t columns, bool byTMA) {
  if (groups == 2) // a thread that copies rows itself needs more
    return columns > 192 || byTMA ? Registers{40, 232} : Registers{72, 216};
  return groups == 1 ? Registers{56, 256} : Registers{32, 160};
}

class WgmmaTile {
public:
  explicit WgmmaTile(AttentionTileOp op) : op(op), b(op.getLoc(), op), code(b, op) {
    MLIRContext *context = op.getContext();
    auto acc = WgmmaLayoutAttr::get(context, MatmulOperand::acc),
         left = WgmmaLayoutAttr::get(context, MatmulOperand::a);
    scores = FragmentType::get(context, kRows, op.getTiles().getKeys(), b.getF32Type(), acc);
    probabilities = FragmentType::get(context, kRows, op.getTiles().getKeys(), code.element, left);
    sums = FragmentType::get(context, kRows, op.getValueTile().getColumns(), b.getF32Type(), acc);
    row = RowVectorType::get(context, kRows, acc);
    keyBytes = op.getKeyTile().getBytes(), valueBytes = op.getValueTile().getBytes();
    firstKeys = op.getQueryTile().getBytes();
    barriers = firstKeys + op.getStages() * (keyBytes + valueBytes);
    publishes = code.dropsBlocks();
  }

  void emit() {
    initialize();
    Value isCopying = compare(arith::CmpIPredicate::slt, code.thread, code.index(kWarpgroup));
    auto branch = scf::IfOp::create(b, isCopying, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    const Registers registers = registersOf(op.getTiles().getWarps() / 4, sums.getColumns(), bool(op.getMade()));
    b.setInsertionPointToStart(branch.thenBlock());
    setRegisters(b, registers.copying, /*increase=*/false);
    code.withSaved([&] { copy(); });
    b.setInsertionPointToStart(branch.elseBlock());
    setRegisters(b, registers.computing, /*increase=*/true);
    compute();
  }

private:
  enum Barrier { Queries, KeysFull, ValuesFull, KeysEmpty, ValuesEmpty };

  Value compare(arith::CmpIPredicate predicate, Value x, Value y) { return arith::CmpIOp::create(b, predicate, x, y); }
  Value at(int64_t first, Value nth, int64_t step) {
    return arith::AddIOp::create(b, code.index(first), arith::MulIOp::create(b, nth, code.index(step)));
  }
  Value barrier(Barrier which, Value stage) {
    const int64_t first = barriers + 8 * (which == Queries ? 0 : 1 + (which - KeysFull) * op.getStages());
    return SharedOp::create(b, MBarrierType::get(op.getContext()), at(first, stage, 8));
  }
  Value stageOf(Value block) { return arith::RemUIOp::create(b, block, code.index(op.getStages())); }
  /// The parity of the phase of a ring that block `block` has, or of the one before.
  Value parityOf(Value block, bool before) {
    Value round = arith::DivUIOp::create(b, block, code.index(op.getStages()));
    if (before)
      round = arith::AddIOp::create(b, round, code.index(1));
    return arith::IndexCastOp::create(b, b.getI32Type(), arith::AndIOp::create(b, round, code.index(1)));
  }
  Value queryTile() { return SharedOp::create(b, op.getQueryTile(), code.index(0)); }
  Value keyTile(Value stage) { return SharedOp::create(b, op.getKeyTile(), at(firstKeys, stage, keyBytes)); }
  Value valueTile(Value stage) {
    return SharedOp::create(b, op.getValueTile(), at(firstKeys + op.getStages() * keyBytes, stage, valueBytes));
  }

  using Code = function_ref<void()>;
  /// `code` where TMA copies keys and values.
  void whenByTMA(Code code, Code otherwise) {
    if (op.getMade())
      when(b, op.getMade(), code, otherwise);
    else
      otherwise();
  }
  Value is(Value value, int64_t number) { return compare(arith::CmpIPredicate::eq, value, code.index(number)); }

  void initialize(Barrier which, int64_t arrivals) {
    for (int64_t stage = 0; stage < (which == Queries ? 1 : op.getStages()); ++stage)
      MBarrierInitOp::create(b, barrier(which, code.index(stage)), uint32_t(arrivals));
  }

  /// One thread initializes the mbarriers and saves offsets.
  void initialize() {
    when(b, is(code.thread, 0), [&] {
      code.save(barriers + 8 * (1 + 5 * op.getStages()));
      initialize(Queries, code.copyingThreads);
      for (Barrier full : {KeysFull, ValuesFull})
        whenByTMA([&] { initialize(full, 1); },
                  [&] { initialize(full, code.copyingThreads + (publishes && full == KeysFull)); });
      for (Barrier empty : {KeysEmpty, ValuesEmpty})
        initialize(empty, op.getTiles().getWarps());
      NVVM::FenceMbarrierInitOp::create(b);
    });
    NVVM::Barrier0Op::create(b);
  }

  void copy() {
    code.copyQueries(queryTile(), barrier(Queries, code.index(0)));
    // A warp finds the blocks, one thread of which copies them.
    whenByTMA(
        [&] { when(b, compare(arith::CmpIPredicate::slt, code.thread, code.index(kWarp)), [&] { copyBlocks(true); }); },
        [&] { copyBlocks(false); });
  }

  // Where the mask drops blocks, the threads that copy find those that are left, and publish the first key of each in
  // its stage: the registers of those that compute are for sums.

  /// Half `half` of what a stage publishes: the first key, and whether the mask keeps all keys.
  Value publishedAt(Value stage, int64_t half) {
    return SharedOp::create(b, LLVM::LLVMPointerType::get(b.getContext(), /*shared*/ 3),
                            at(barriers + 8 * (1 + 4 * op.getStages()) + 4 * half, stage, 8));
  }

  void publish(Value stage, Value key, Value keepsAll, bool isByTMA) {
    when(b, is(code.thread, 0), [&] {
      const Type i32 = b.getI32Type();
      LLVM::StoreOp::create(b, Value(arith::IndexCastOp::create(b, i32, key)), publishedAt(stage, 0), 4);
      LLVM::StoreOp::create(b, Value(arith::ExtUIOp::create(b, i32, keepsAll)), publishedAt(stage, 1), 4);
      if (!isByTMA) // a copy that arrives orders no stores
        MBarrierArriveOp::create(b, barrier(KeysFull, stage));
    });
  }

  /// A key beyond all says that there are no more blocks.
  void publishEnd(Value block, bool isByTMA) {
    Value stage = stageOf(block), full = barrier(KeysFull, stage);
    MBarrierWaitOp::create(b, barrier(KeysEmpty, stage), parityOf(block, /*before=*/true));
    publish(stage, code.index(INT32_MAX), arith::ConstantOp::create(b, b.getBoolAttr(false)), isByTMA);
    if (isByTMA)
      when(b, is(code.thread, 0), [&] { MBarrierArriveOp::create(b, full); });
    else
      MBarrierArriveOp::create(b, full);
  }

  /// A block of keys: the first one, and whether the mask keeps all, where that is known.
  struct Block {
    Value key, keepsAll;
  };

  /// Waits for the keys of block `block`, or for the end.
  Block published(Value block) {
    await(KeysFull, block);
    auto load = [&](int64_t half) {
      Value number = LLVM::LoadOp::create(b, b.getI32Type(), publishedAt(stageOf(block), half), 4, /*isVolatile=*/true);
      return code.uniform(arith::IndexCastUIOp::create(b, b.getIndexType(), number));
    };
    return {load(0), compare(arith::CmpIPredicate::ne, load(1), code.index(0))};
  }

  void copyBlocks(bool isByTMA) {
    SmallVector<Value> state{code.nextBlock(code.index(0)), code.index(0)};
    state = code.overBlocks(state, [&](Value key, ValueRange carried) -> SmallVector<Value> {
      Value block = carried[1], stage = stageOf(block), free = parityOf(block, /*before=*/true);
      MBarrierWaitOp::create(b, barrier(KeysEmpty, stage), free);
      if (publishes)
        publish(stage, key, code.keepsAll(key), isByTMA);
      if (isByTMA)
        when(b, is(code.thread, 0), [&] { code.loadKeys(key, keyTile(stage), barrier(KeysFull, stage)); });
      else
        code.copyKeys(key, keyTile(stage), barrier(KeysFull, stage));
      MBarrierWaitOp::create(b, barrier(ValuesEmpty, stage), free);
      Value values = valueTile(stage), full = barrier(ValuesFull, stage);
      auto load = [&] { when(b, is(code.thread, 0), [&] { code.loadValues(key, values, full); }); };
      if (isByTMA)
        when(b, code.isWhole(key), load, [&] { code.copyValuesByWarp(key, values, full); });
      else
        code.copyValues(key, values, full);
      return {following(key), arith::AddIOp::create(b, block, code.index(1))};
    });
    if (publishes)
      publishEnd(state[1], isByTMA);
  }

  Value following(Value key) {
    return code.nextBlock(arith::AddIOp::create(b, key, code.index(op.getTiles().getKeys())));
  }

  /// The block behind block `block`, which begins at `key`, for threads that compute.
  Block blockBehind(Value key, Value block) {
    return publishes ? published(arith::AddIOp::create(b, block, code.index(1))) : Block{following(key), {}};
  }

  /// Waits until the keys of block `block` are there, which they are where they had to be published.
  void awaitKeys(Value block) {
    if (!publishes)
      await(KeysFull, block);
  }

  /// The state of the loop over blocks: `block` is the next one.
  static SmallVector<Value> stateOf(const Block &block, ArrayRef<Value> rest) {
    SmallVector<Value> state{block.key};
    llvm::append_range(state, rest);
    if (block.keepsAll)
      state.push_back(block.keepsAll);
    return state;
  }

  /// Waits until block `block` is there.
  void await(Barrier full, Value block) {
    MBarrierWaitOp::create(b, barrier(full, stageOf(block)), parityOf(block, /*before=*/false));
    fenceAsync(b); // not all copies are by TMA
  }

  /// One thread of a warp tells that the warp has read a stage.
  void release(Barrier empty, Value block) {
    when(b, is(arith::RemUIOp::create(b, code.thread, code.index(kWarp)), 0),
         [&] { MBarrierArriveOp::create(b, barrier(empty, stageOf(block))); });
  }

  /// Whether two warpgroups start their matmuls alternately.
  bool alternates() { return op.getTiles().getWarps() == 2 * kWarpgroup / kWarp; }
  /// Waits until the warpgroup may start matmuls. Barriers 1 and 2 are those of the two.
  void awaitStart() {
    if (alternates())
      attn_gpu::BarrierSyncOp::create(b, arith::IndexCastOp::create(b, b.getI32Type(), group), 2 * kWarpgroup);
  }
  void passStart() {
    if (!alternates())
      return;
    Value other = arith::SubIOp::create(b, code.index(3), group);
    attn_gpu::BarrierArriveOp::create(b, arith::IndexCastOp::create(b, b.getI32Type(), other), 2 * kWarpgroup);
  }

  void compute() {
    group = code.uniform(arith::DivUIOp::create(b, code.thread, code.index(kWarpgroup)));
    firstRow = arith::MulIOp::create(b, arith::SubIOp::create(b, group, code.index(1)), code.index(kRows));
    const TileType tile = op.getQueryTile();
    auto part = TileType::get(op.getContext(), kRows, tile.getColumns(), tile.getElementType(), tile.getSwizzle(),
                              tile.getPitch());
    queries = SubtileOp::create(b, part, queryTile(), firstRow, code.index(0));
    const Block first = publishes ? published(code.index(0)) : Block{code.nextBlock(code.index(0)), {}};
    Value zero = code.number(0);
    SmallVector<Value> empty{FillOp::create(b, sums, zero), FillOp::create(b, row, code.lowest()),
                             FillOp::create(b, row, zero)};
    auto branch = scf::IfOp::create(b, ValueRange(empty).getTypes(), code.isKey(first.key), /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, empty);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, attend(first, empty));
    }
    code.store(branch.getResult(0), branch.getResult(1), branch.getResult(2), firstRow);
  }

  /// Sums, max and sum of all blocks.
  SmallVector<Value> attend(const Block &first, ArrayRef<Value> empty) {
    Value zero = code.index(0);
    MBarrierWaitOp::create(b, barrier(Queries, zero), arith::ConstantOp::create(b, b.getI32IntegerAttr(0)));
    awaitKeys(zero);
    if (publishes) // the fence behind the keys was ahead of the queries
      fenceAsync(b);
    Value issued = multiplyKeys(zero);
    Value finished = WgmmaWaitOp::create(b, 0, issued).getResult(0);
    release(KeysEmpty, zero);
    Value maximum = empty[1], sum = empty[2];
    SmallVector<Value> block =
        code.finishScores(finished, op.getTiles().getKeys(), firstRow, first.key, first.keepsAll);
    code.advance(block, maximum, sum);
    Value packed = PackOp::create(b, probabilities, block[0]);
    // The block whose values are to be multiplied is the one before that of the key.
    SmallVector<Value> state = stateOf(blockBehind(first.key, zero), {zero, packed, empty[0], maximum, sum});
    if (alternates()) // the first one starts first
      when(b, is(group, 2), [&] { passStart(); });
    state = code.overBlocks(state, [&](Value key, ValueRange carried) { return advance(key, carried); });
    if (alternates())
      when(b, is(group, 1), [&] { awaitStart(); });
    Value acc = multiplyValues(state[2], state[3], state[1]);
    acc = WgmmaWaitOp::create(b, 0, acc).getResult(0);
    release(ValuesEmpty, state[1]);
    return {acc, state[4], state[5]};
  }

  SmallVector<Value> advance(Value key, ValueRange state) {
    Value before = state[1], block = arith::AddIOp::create(b, before, code.index(1));
    awaitKeys(block);
    awaitStart();
    Value issued = multiplyKeys(block), acc = multiplyValues(state[2], state[3], before);
    passStart();
    Value finished = WgmmaWaitOp::create(b, 1, issued).getResult(0);
    release(KeysEmpty, block);
    Value maximum = state[4], sum = state[5];
    SmallVector<Value> scores =
        code.finishScores(finished, op.getTiles().getKeys(), firstRow, key, publishes ? Value(state.back()) : Value());
    Value decay = code.advance(scores, maximum, sum);
    acc = WgmmaWaitOp::create(b, 0, acc).getResult(0);
    release(ValuesEmpty, before);
    acc = code.times(acc, decay);
    Value packed = PackOp::create(b, probabilities, scores[0]);
    return stateOf(blockBehind(key, block), {block, packed, acc, maximum, sum});
  }

  /// Starts the matmul of the queries with the keys of a block.
  Value multiplyKeys(Value block) {
    WgmmaFenceOp::create(b, ValueRange());
    Value issued = WgmmaOp::create(b, scores, queries, keyTile(stageOf(block)), /*acc=*/Value(), b.getUnitAttr());
    NVVM::WgmmaGroupSyncAlignedOp::create(b);
    return issued;
  }

  /// Starts that of probabilities with the values of a block.
  Value multiplyValues(Value packed, Value acc, Value block) {
    await(ValuesFull, block);
    auto fence = WgmmaFenceOp::create(b, ValueRange{packed, acc});
    Value issued =
        WgmmaOp::create(b, sums, fence.getResult(0), valueTile(stageOf(block)), fence.getResult(1), UnitAttr());
    NVVM::WgmmaGroupSyncAlignedOp::create(b);
    return issued;
  }

  AttentionTileOp op;
  ImplicitLocOpBuilder b;
  TileCode code;
  FragmentType scores, probabilities, sums;
  RowVectorType row;
  int64_t keyBytes, valueBytes, firstKeys, barriers; ///< of a tile, and where they begin in shared memory
  bool publishes;
  Value group, firstRow, queries;
};

} // namespace

void cuda::emitWgmmaTile(AttentionTileOp op) { WgmmaTile(op).emit(); }
