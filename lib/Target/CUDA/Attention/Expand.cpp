//===- Expand.cpp - The code of attn_gpu.attention_tile -----------------------------------===//
//
// FlashAttention-2 (Dao 2023): a warp has some rows of the tile, with their sums in registers.
// The keys of a block are copied while the values of the one before are multiplied, and its
// values while the scores are. Scores are in base-2 units.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CUDA/Attention/TileCode.h"
#include "lib/Target/CUDA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDAEXPANDATTENTION
#include "lib/Target/CUDA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kGroup = 16; ///< keys of a fragment of scores: the depth of an instruction

/// Code with `mma.sync`.
class MmaTile {
public:
  explicit MmaTile(AttentionTileOp op) : op(op), b(op.getLoc(), op), code(b, op) {
    MLIRContext *context = op.getContext();
    accLayout = MmaLayoutAttr::get(context, MatmulOperand::acc);
    rowsOfWarp = op.getRows() / op.getWarps();
    groups = op.getKeys() / kGroup;
    depth = llvm::divideCeil(op.getChannels(), kGroup);
    scores = FragmentType::get(context, rowsOfWarp, kGroup, b.getF32Type(), accLayout);
    sums = FragmentType::get(context, rowsOfWarp, llvm::alignTo(op.getValueChannels(), kGroup), b.getF32Type(),
                             accLayout);
    left = FragmentType::get(context, rowsOfWarp, kGroup, code.element, MmaLayoutAttr::get(context, MatmulOperand::a));
    right = MmaLayoutAttr::get(context, MatmulOperand::b);
    row = RowVectorType::get(context, rowsOfWarp, accLayout);
  }

  void emit() {
    Value warp = arith::DivUIOp::create(b, code.thread, code.index(32));
    firstRow = arith::MulIOp::create(b, warp, code.index(rowsOfWarp));
    NVVM::Barrier0Op::create(b); // of a tile before, whose shared memory this one has
    code.copyQueries();
    Value first = code.nextBlock(code.index(0));
    code.copyKeys(first);
    CopyCommitOp::create(b);
    CopyWaitOp::create(b, 0);
    NVVM::Barrier0Op::create(b);
    for (int64_t step = 0; step < depth; ++step)
      queries.push_back(LoadMatrixOp::create(b, left, code.queryTile, firstRow, code.index(step * kGroup), UnitAttr()));
    SmallVector<Value> state{first, FillOp::create(b, sums, code.number(0)), FillOp::create(b, row, code.lowest()),
                             FillOp::create(b, row, code.number(0))};
    state = code.overBlocks(state, [&](Value key, ValueRange carried) { return advance(key, carried); });
    finish(state[1], state[2], state[3]);
  }

private:
  /// A KV block, whose keys are being copied; the next one's are, too, when it is done.
  SmallVector<Value> advance(Value key, ValueRange state) {
    CopyWaitOp::create(b, 0);
    NVVM::Barrier0Op::create(b); // keys are there, and values of the block before are read
    code.copyValues(key);
    CopyCommitOp::create(b);
    SmallVector<Value> block = scoresOf();
    CopyWaitOp::create(b, 0);
    NVVM::Barrier0Op::create(b); // values are there, and keys are read
    Value next = code.nextBlock(arith::AddIOp::create(b, key, code.index(op.getKeys())));
    code.copyKeys(next);
    CopyCommitOp::create(b);
    block = code.finishScores(block, kGroup, firstRow, key);

    Value largest = state[2];
    for (Value part : block)
      largest = ReduceRowsOp::create(b, row, Reduction::max, part, largest, /*partial=*/true);
    largest = ReduceLanesOp::create(b, Reduction::max, largest);
    Value decay = code.decay(state[2], largest), scaled = code.scaled(largest), sum = code.times(state[3], decay),
          acc = code.times(state[1], decay);
    for (auto [i, part] : llvm::enumerate(block)) {
      Value p = code.exponentials(part, scaled);
      sum = ReduceRowsOp::create(b, row, Reduction::add, p, sum, /*partial=*/true);
      Value probabilities = PackOp::create(b, left, p);
      Value values = LoadMatrixOp::create(b, operand(sums.getColumns()), code.valueTile, code.index(int64_t(i) * kGroup),
                                          code.index(0), UnitAttr());
      acc = MmaOp::create(b, probabilities, values, acc);
    }
    return {next, acc, largest, sum};
  }

  FragmentType operand(int64_t columns) {
    return FragmentType::get(op.getContext(), kGroup, columns, code.element, right);
  }

  SmallVector<Value> scoresOf() {
    SmallVector<Value> block(groups, FillOp::create(b, scores, code.number(0)));
    for (int64_t step = 0; step < depth; ++step)
      for (int64_t group = 0; group < groups; ++group) {
        Value keys = LoadMatrixOp::create(b, operand(kGroup), code.keyTile, code.index(group * kGroup),
                                          code.index(step * kGroup), b.getUnitAttr());
        block[group] = MmaOp::create(b, queries[step], keys, block[group]);
      }
    return block;
  }

  void finish(Value acc, Value largest, Value sum) {
    sum = ReduceLanesOp::create(b, Reduction::add, sum);
    code.store(acc, largest, sum, firstRow);
  }

  AttentionTileOp op;
  ImplicitLocOpBuilder b;
  TileCode code;
  FragmentLayoutInterface accLayout, right;
  int64_t rowsOfWarp, groups, depth;
  FragmentType scores, sums, left;
  RowVectorType row;
  Value firstRow;
  SmallVector<Value> queries;
};

struct ExpandAttention : rapt::impl::AttnCUDAExpandAttentionBase<ExpandAttention> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    SmallVector<AttentionTileOp> tiles;
    getOperation()->walk([&](AttentionTileOp op) { tiles.push_back(op); });
    for (AttentionTileOp op : tiles) {
      if (!isa<MemRefType>(op.getQuery().getType()) || !op->getParentOfType<gpu::GPUModuleOp>()) {
        op.emitOpError("is expanded in a GPU module, on buffers");
        return signalPassFailure();
      }
      for (Value array : {op.getQuery(), op.getKey(), op.getValue(), op.getResult()})
        if (!cast<MemRefType>(array.getType()).isLastDimUnitStride()) {
          op.emitOpError("takes arrays whose channels are beside each other");
          return signalPassFailure();
        }
      MmaTile(op).emit();
      op.erase();
    }
  }
};

} // namespace
