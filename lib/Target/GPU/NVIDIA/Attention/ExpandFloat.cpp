//===- ExpandFloat.cpp - Attention tiles of f32 -------------------------------------------===//
//
// The schedule of ExpandMma.cpp with matmuls of f32 from shared memory (attn_gpu.multiply). The
// probabilities go through shared memory, too, as a thread needs those of all keys of its rows.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Attention/TileCode.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kGroup = 16; ///< keys of a fragment of scores
constexpr int64_t kDepth = 8;  ///< of an iteration of a matmul: more would be too many instructions

class FloatTile {
public:
  explicit FloatTile(AttentionTileOp op) : op(op), b(op.getLoc(), op), code(b, op), kind(op.getTiles().getMatmul()) {
    MLIRContext *context = op.getContext();
    auto layout = MmaLayoutAttr::get(context, MatmulOperand::acc);
    const int64_t rowsOfWarp = op.getTiles().getRows() / op.getTiles().getWarps();
    scores = FragmentType::get(context, rowsOfWarp, kGroup, b.getF32Type(), layout);
    sums = FragmentType::get(context, rowsOfWarp, llvm::alignTo(op.getValueChannels(), 8), b.getF32Type(), layout);
    row = RowVectorType::get(context, rowsOfWarp, layout);
    int64_t offset = 0;
    for (auto [tile, type] :
         {std::pair(&queryTile, op.getQueryTile()), std::pair(&keyTile, op.getKeyTile()),
          std::pair(&valueTile, op.getValueTile()), std::pair(&probabilityTile, op.getProbabilityTile())}) {
      *tile = SharedOp::create(b, type, code.index(offset));
      offset += type.getBytes();
    }
    Value warp = arith::DivUIOp::create(b, code.thread, code.index(32));
    firstRow = arith::MulIOp::create(b, warp, code.index(rowsOfWarp));
    hasRows = code.isRow(firstRow);
  }

  void emit() {
    NVVM::Barrier0Op::create(b); // of a tile before, whose shared memory this one has
    code.copyQueries(queryTile);
    Value first = code.nextBlock(code.index(0));
    code.copyKeys(first, keyTile);
    NVVM::CpAsyncCommitGroupOp::create(b);
    SmallVector<Value> state{first, FillOp::create(b, sums, code.number(0)), FillOp::create(b, row, code.lowest()),
                             FillOp::create(b, row, code.number(0))};
    state = code.overBlocks(state, [&](Value key, ValueRange carried) { return advance(key, carried); });
    NVVM::CpAsyncWaitGroupOp::create(b, 0); // of queries without keys
    code.store(state[1], state[2], state[3], firstRow);
  }

private:
  using Values = SmallVector<Value>;

  /// `compute` by warps that have rows: a tile of few queries leaves arithmetic to others. The rest keep `values`.
  Values ofRows(ValueRange values, function_ref<Values()> compute) {
    auto branch = scf::IfOp::create(b, values.getTypes(), hasRows, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, values);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, compute());
    return Values(branch.getResults());
  }

  /// A KV block, whose keys are being copied; the next one's are, too, when it is done.
  Values advance(Value key, ValueRange state) {
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
    NVVM::Barrier0Op::create(b); // keys are there, and values of the block before are read
    code.copyValues(key, valueTile);
    NVVM::CpAsyncCommitGroupOp::create(b);
    const Values zeros(op.getTiles().getKeys() / kGroup, FillOp::create(b, scores, code.number(0)));
    const Values block = ofRows(zeros, [&] { return multiply(queryTile, keyTile, op.getChannels(), true, zeros); });
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
    NVVM::Barrier0Op::create(b); // values are there, and keys are read
    Value next = code.nextBlock(arith::AddIOp::create(b, key, code.index(op.getTiles().getKeys())));
    code.copyKeys(next, keyTile);
    NVVM::CpAsyncCommitGroupOp::create(b);
    Values carried = ofRows(state.drop_front(), [&] { return summed(key, block, state); });
    carried.insert(carried.begin(), next);
    return carried;
  }

  /// The sums, the running max and the running sum with a block of scores.
  Values summed(Value key, ArrayRef<Value> scores, ValueRange state) {
    Values block = code.finishScores(scores, kGroup, firstRow, key);
    Value maximum = state[2], sum = state[3];
    Value acc = code.times(state[1], code.advance(block, maximum, sum));
    for (auto [i, part] : llvm::enumerate(block))
      StoreMatrixOp::create(b, part, probabilityTile, firstRow, code.index(int64_t(i) * kGroup));
    // A warp reads its own rows alone. Those of the block before are read, as there was a barrier.
    NVVM::SyncWarpOp::create(b, arith::ConstantOp::create(b, b.getI32IntegerAttr(-1)));
    acc = multiply(probabilityTile, valueTile, op.getTiles().getKeys(), /*isTransposed=*/false, acc)[0];
    return {acc, maximum, sum};
  }

  /// Adds the matmul of the warp's rows of a tile by another one.
  Values multiply(Value input, Value weight, int64_t depth, bool isTransposed, ValueRange acc) {
    auto loop = scf::ForOp::create(b, code.index(0), code.index(llvm::alignTo(depth, kDepth)), code.index(kDepth), acc);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    auto multiplied = MultiplyOp::create(b, kind, input, weight, firstRow, code.index(0), loop.getInductionVar(),
                                         uint32_t(kDepth), loop.getRegionIterArgs(), isTransposed);
    scf::YieldOp::create(b, multiplied.getResults());
    return Values(loop.getResults());
  }

  AttentionTileOp op;
  ImplicitLocOpBuilder b;
  TileCode code;
  MatmulKind kind;
  FragmentType scores, sums;
  RowVectorType row;
  Value queryTile, keyTile, valueTile, probabilityTile, firstRow, hasRows;
};

} // namespace

void cuda::emitFloatTile(AttentionTileOp op) { FloatTile(op).emit(); }
