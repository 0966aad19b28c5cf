//===- ExpandMma.cpp - Attention tiles by mma.sync ----------------------------------------===//
//
// FlashAttention-2 (Dao 2023): a warp has some rows of the tile, with their sums in registers.
// The keys of a block are copied while the values of the one before are multiplied, and its
// values while the scores are.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Attention/TileCode.h"
#include "lib/Target/GPU/When.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kGroup = 16; ///< keys of a fragment of scores: the depth of an instruction

/// Code with `mma.sync`.
class MmaTile {
public:
  explicit MmaTile(AttentionTileOp op) : op(op), b(op.getLoc(), op), code(b, op) {
    MLIRContext *context = op.getContext();
    accLayout = MmaLayoutAttr::get(context, MatmulOperand::acc);
    rowsOfWarp = op.getTiles().getRows() / op.getTiles().getWarps();
    groups = op.getTiles().getKeys() / kGroup;
    depth = llvm::divideCeil(op.getChannels(), kGroup);
    scores = FragmentType::get(context, rowsOfWarp, kGroup, b.getF32Type(), accLayout);
    sums =
        FragmentType::get(context, rowsOfWarp, llvm::alignTo(op.getValueChannels(), kGroup), b.getF32Type(), accLayout);
    left = FragmentType::get(context, rowsOfWarp, kGroup, code.element, MmaLayoutAttr::get(context, MatmulOperand::a));
    right = MmaLayoutAttr::get(context, MatmulOperand::b);
    row = RowVectorType::get(context, rowsOfWarp, accLayout);
    const int64_t ofQueries = op.getQueryTile().getBytes(), ofKeys = op.getKeyTile().getBytes();
    queryTile = SharedOp::create(b, op.getQueryTile(), code.index(0));
    keyTile = SharedOp::create(b, op.getKeyTile(), code.index(ofQueries));
    valueTile = SharedOp::create(b, op.getValueTile(), code.index(ofQueries + ofKeys));
    saved = ofQueries + ofKeys + op.getValueTile().getBytes();
  }

  void emit() {
    Value warp = arith::DivUIOp::create(b, code.thread, code.index(32));
    firstRow = arith::MulIOp::create(b, warp, code.index(rowsOfWarp));
    NVVM::Barrier0Op::create(b); // of a tile before, whose shared memory this one has
    when(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, code.thread, code.index(0)), [&] { code.save(saved); });
    code.copyQueries(queryTile);
    Value first = code.nextBlock(code.index(0));
    code.copyKeys(first, keyTile);
    NVVM::CpAsyncCommitGroupOp::create(b);
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
    NVVM::Barrier0Op::create(b);
    for (int64_t step = 0; step < depth; ++step)
      queries.push_back(LoadMatrixOp::create(b, left, queryTile, firstRow, code.index(step * kGroup), UnitAttr()));
    SmallVector<Value> state{first, FillOp::create(b, sums, code.number(0)), FillOp::create(b, row, code.lowest()),
                             FillOp::create(b, row, code.number(0))};
    state = code.overBlocks(state, [&](Value key, ValueRange carried) { return advance(key, carried); });
    code.store(state[1], state[2], state[3], firstRow);
  }

private:
  /// A KV block, whose keys are being copied; the next one's are, too, when it is done.
  SmallVector<Value> advance(Value key, ValueRange state) {
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
    NVVM::Barrier0Op::create(b); // keys are there, and values of the block before are read
    code.copyValues(key, valueTile);
    NVVM::CpAsyncCommitGroupOp::create(b);
    SmallVector<Value> block = scoresOf();
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
    NVVM::Barrier0Op::create(b); // values are there, and keys are read
    Value next = code.nextBlock(arith::AddIOp::create(b, key, code.index(op.getTiles().getKeys())));
    code.copyKeys(next, keyTile);
    NVVM::CpAsyncCommitGroupOp::create(b);
    block = code.finishScores(block, kGroup, firstRow, key);

    Value maximum = state[2], sum = state[3];
    Value acc = code.times(state[1], code.advance(block, maximum, sum));
    for (auto [i, part] : llvm::enumerate(block)) {
      Value probabilities = PackOp::create(b, left, part);
      Value values = LoadMatrixOp::create(b, operand(sums.getColumns()), valueTile, code.index(int64_t(i) * kGroup),
                                          code.index(0), UnitAttr());
      acc = MmaOp::create(b, probabilities, values, acc);
    }
    return {next, acc, maximum, sum};
  }

  FragmentType operand(int64_t columns) {
    return FragmentType::get(op.getContext(), kGroup, columns, code.element, right);
  }

  SmallVector<Value> scoresOf() {
    SmallVector<Value> block(groups, FillOp::create(b, scores, code.number(0)));
    for (int64_t step = 0; step < depth; ++step)
      for (int64_t group = 0; group < groups; ++group) {
        Value keys = LoadMatrixOp::create(b, operand(kGroup), keyTile, code.index(group * kGroup),
                                          code.index(step * kGroup), b.getUnitAttr());
        block[group] = MmaOp::create(b, queries[step], keys, block[group]);
      }
    return block;
  }

  AttentionTileOp op;
  ImplicitLocOpBuilder b;
  TileCode code;
  FragmentLayoutInterface accLayout, right;
  int64_t rowsOfWarp, groups, depth, saved;
  FragmentType scores, sums, left;
  RowVectorType row;
  Value queryTile, keyTile, valueTile, firstRow;
  SmallVector<Value> queries;
};

} // namespace

void cuda::emitMmaTile(AttentionTileOp op) { MmaTile(op).emit(); }
