//===- Expand.cpp - The code of attn_gpu.linear_tile --------------------------------------===//
//
// Copies of the steps of k that follow are under way while one is multiplied. A buffer is filled anew behind the
// barrier that all warps come to when they have read it, so that there is one barrier a step.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/CUDA/GlobalArray.h"
#include "lib/Target/CUDA/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDAEXPANDLINEAR
#include "lib/Target/CUDA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kGroup = 16; ///< the depth of an instruction, and the columns of a fragment of sums
constexpr int64_t kThreadsOfWarp = 32;

class LinearCode {
public:
  explicit LinearCode(LinearTileOp op)
      : op(op), b(op.getLoc(), op), input(b, op.getInput()), weight(b, op.getWeight()), result(b, op.getResult()) {
    thread = arith::IndexCastOp::create(b, b.getIndexType(), NVVM::ThreadIdXOp::create(b, b.getI32Type()));
    const auto [down, across] = op.getGridOfWarps();
    const int64_t rows = int64_t(op.getRows()) / down, columns = int64_t(op.getColumns()) / across;
    Value warp = arith::DivUIOp::create(b, thread, index(kThreadsOfWarp));
    firstRow = times(arith::DivUIOp::create(b, warp, index(across)), rows);
    firstColumn = times(arith::RemUIOp::create(b, warp, index(across)), columns);
    auto fragment = [&](int64_t rows, int64_t columns, Type element, MatmulOperand operand) {
      return FragmentType::get(b.getContext(), rows, columns, element, MmaLayoutAttr::get(b.getContext(), operand));
    };
    if (!op.multipliesFloats()) {
      left = fragment(rows, kGroup, input.element, MatmulOperand::a);
      right = fragment(kGroup, kGroup, input.element, MatmulOperand::b);
    }
    sums = fragment(rows, kGroup, b.getF32Type(), MatmulOperand::acc);
    groups = columns / kGroup;
    steps = arith::CeilDivUIOp::create(b, input.sizes[1], index(op.getDepth()));
  }

  void emit() {
    Value areAligned = arith::AndIOp::create(b, input.isAligned(b, GlobalArray::kCopyBytes),
                                             weight.isAligned(b, GlobalArray::kCopyBytes));
    NVVM::Barrier0Op::create(b); // of a tile before, whose shared memory this one has
    const SmallVector<Type> types(groups, sums);
    auto branch = scf::IfOp::create(b, types, areAligned, /*withElseRegion=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      scf::YieldOp::create(b, sumsOfCopies());
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, sumsOfElements());
    }
    // Group after group: operands of the epilogue are in registers for one at a time.
    store(branch.getResults());
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, value); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(x, y); }
  Value times(Value x, int64_t by) { return b.createOrFold<arith::MulIOp>(x, index(by)); }

  /// The sums over k, where copies are asynchronous: the ring of buffers is full but for the one that is read.
  SmallVector<Value> sumsOfCopies() {
    const int64_t ahead = int64_t(op.getStages()) - 1, bytes = op.getStageBytes();
    for (int64_t step = 0; step < ahead; ++step) {
      Value isStep = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index(step), steps);
      auto branch = scf::IfOp::create(b, isStep, /*withElseRegion=*/false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      copyStep(index(step), index(step * bytes), /*elements=*/false);
      b.setInsertionPointAfter(branch);
      CopyCommitOp::create(b);
    }
    // Behind the last copy the same goes on without copies.
    Value copied = arith::SubIOp::create(b, arith::MaxUIOp::create(b, steps, index(ahead)), index(ahead));
    SmallVector<Value> state = zeros();
    state.append({index(0), index(ahead * bytes)});
    for (bool copies : {true, false}) {
      auto loop = scf::ForOp::create(b, copies ? index(0) : copied, copies ? copied : steps, index(1), state);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      Value read = loop.getRegionIterArg(groups), filled = loop.getRegionIterArg(groups + 1);
      CopyWaitOp::create(b, uint32_t(ahead - 1));
      NVVM::Barrier0Op::create(b); // the step's operands are there, and those of the step before are read
      if (copies)
        copyStep(add(loop.getInductionVar(), index(ahead)), filled, /*elements=*/false);
      CopyCommitOp::create(b);
      SmallVector<Value> next = multiplied(read, loop.getRegionIterArgs().take_front(groups));
      next.append({nextBuffer(read), nextBuffer(filled)});
      scf::YieldOp::create(b, next);
      state.assign(loop.getResults().begin(), loop.getResults().end());
    }
    state.truncate(groups);
    return state;
  }

  /// The same where elements are copied, one step after the other.
  SmallVector<Value> sumsOfElements() {
    auto loop = scf::ForOp::create(b, index(0), steps, index(1), zeros());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    NVVM::Barrier0Op::create(b); // the step before is read
    copyStep(loop.getInductionVar(), index(0), /*elements=*/true);
    NVVM::Barrier0Op::create(b);
    scf::YieldOp::create(b, multiplied(index(0), loop.getRegionIterArgs()));
    return SmallVector<Value>(loop.getResults());
  }

  SmallVector<Value> zeros() {
    Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
    return SmallVector<Value>(groups, FillOp::create(b, sums, zero));
  }

  Value nextBuffer(Value buffer) {
    Value next = add(buffer, index(op.getStageBytes()));
    Value isEnd = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, next, index(op.getSharedBytes()));
    return arith::SelectOp::create(b, isEnd, index(0), next);
  }

  Value inputTile(Value buffer) { return SharedOp::create(b, op.getInputTile(), buffer); }
  Value weightTile(Value buffer) {
    return SharedOp::create(b, op.getWeightTile(), add(buffer, index(op.getInputTile().getBytes())));
  }

  void copyStep(Value step, Value buffer, bool elements) {
    Value first = times(step, op.getDepth()), left = whole(first);
    const bool transposed = op.getTransposed();
    copyRows(input, inputTile(buffer), first, input.sizes[0], left, elements);
    if (transposed)
      copyRows(weight, weightTile(buffer), first, weight.sizes[0], left, elements);
    else
      copyRows(weight, weightTile(buffer), arith::MulIOp::create(b, first, weight.strides[0]), left, weight.sizes[1],
               elements);
  }

  /// The elements of k from `first` on; a constant where steps are whole.
  Value whole(Value first) {
    const int64_t depth = cast<MemRefType>(op.getInput().getType()).getDimSize(1);
    if (!ShapedType::isDynamic(depth) && depth % int64_t(op.getDepth()) == 0)
      return index(op.getDepth());
    return arith::SubIOp::create(b, input.sizes[1], first);
  }

  /// Copies rows from `at` elements behind an array's first on. The offsets of rows do not depend on the step then.
  void copyRows(const GlobalArray &array, Value tile, Value at, Value rows, Value columns, bool elements) {
    auto copy =
        CopyRowsOp::create(b, array.pointerAt(b, at), rows, columns, tile, thread, uint32_t(op.getThreads()), elements);
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&copy.getBody(), {}, b.getIndexType(), b.getLoc());
    YieldOp::create(b, rowOffset(array, block->getArgument(0)));
  }

  Value rowOffset(const GlobalArray &array, Value row) {
    return add(array.offset, b.createOrFold<arith::MulIOp>(row, array.strides[0]));
  }

  SmallVector<Value> multiplied(Value buffer, ValueRange before) {
    Value ofInput = inputTile(buffer), ofWeight = weightTile(buffer);
    if (op.multipliesFloats())
      return multipliedFloats(ofInput, ofWeight, before);
    SmallVector<Value> acc(before);
    for (int64_t k = 0; k < int64_t(op.getDepth()); k += kGroup) {
      Value x = LoadMatrixOp::create(b, left, ofInput, firstRow, index(k), /*transpose=*/false);
      for (int64_t group = 0; group < groups; ++group) {
        Value column = add(firstColumn, index(group * kGroup));
        const bool transposed = op.getTransposed();
        Value w = LoadMatrixOp::create(b, right, ofWeight, transposed ? column : index(k),
                                       transposed ? index(k) : column, transposed);
        acc[group] = MmaOp::create(b, x, w, acc[group]);
      }
    }
    return acc;
  }

  /// Sums of f32: a loop over 8 of k, as the instructions of a whole step would be too many.
  SmallVector<Value> multipliedFloats(Value ofInput, Value ofWeight, ValueRange before) {
    constexpr int64_t depth = 8;
    auto loop = scf::ForOp::create(b, index(0), index(op.getDepth()), index(depth), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    auto multiply =
        MultiplyOp::create(b, op.getFloatMatmul().value_or(FloatMatmul::fma), ofInput, ofWeight, firstRow, firstColumn,
                           loop.getInductionVar(), depth, loop.getRegionIterArgs(), op.getTransposed());
    scf::YieldOp::create(b, multiply.getResults());
    return SmallVector<Value>(loop.getResults());
  }

  /// The epilogue of the sums of columns from `column` on.
  Value finished(Value acc, Value column) {
    if (op.getEpilogue().empty())
      return acc;
    auto map = MapOp::create(b, TypeRange(sums), acc);
    OpBuilder::InsertionGuard guard(b);
    Type index = b.getIndexType();
    Block *block =
        b.createBlock(&map.getBody(), {}, {b.getF32Type(), index, index}, SmallVector<Location>(3, b.getLoc()));
    IRMapping mapping;
    mapping.map(op.getEpilogue().getArguments(),
                SmallVector<Value>{block->getArgument(0), add(block->getArgument(1), firstRow),
                                   add(block->getArgument(2), column)});
    Block &epilogue = op.getEpilogue().front();
    for (Operation &inner : epilogue.without_terminator())
      b.clone(inner, mapping);
    YieldOp::create(b, mapping.lookupOrDefault(epilogue.getTerminator()->getOperand(0)));
    return map.getResult(0);
  }

  void store(ValueRange values) {
    // Pairs of columns are stored at once where rows begin at multiples of two, and have whole pairs.
    Value odd = arith::AndIOp::create(b, result.sizes[1], index(1));
    Value arePairs = arith::AndIOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, odd, index(0)),
                                           result.isAligned(b, 2 * result.element.getIntOrFloatBitWidth() / 8));
    for (auto [group, acc] : llvm::enumerate(values)) {
      Value column = add(firstColumn, index(int64_t(group) * kGroup)), value = finished(acc, column);
      auto branch = scf::IfOp::create(b, arePairs, /*withElseRegion=*/true);
      for (bool elements : {false, true}) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(elements ? branch.elseBlock() : branch.thenBlock());
        auto store = StoreRowsOp::create(b, value, result.pointerAt(b, column), firstRow, result.sizes[0],
                                         Value(arith::SubIOp::create(b, result.sizes[1], column)),
                                         TypeAttr::get(result.element), elements ? b.getUnitAttr() : UnitAttr());
        Block *block = b.createBlock(&store.getBody(), {}, b.getIndexType(), b.getLoc());
        YieldOp::create(b, rowOffset(result, block->getArgument(0)));
      }
    }
  }

  LinearTileOp op;
  ImplicitLocOpBuilder b;
  GlobalArray input, weight, result;
  FragmentType left, right, sums;
  int64_t groups; ///< of a warp's columns
  Value thread, firstRow, firstColumn, steps;
};

struct ExpandLinear : rapt::impl::AttnCUDAExpandLinearBase<ExpandLinear> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    SmallVector<LinearTileOp> tiles;
    getOperation()->walk([&](LinearTileOp op) { tiles.push_back(op); });
    for (LinearTileOp op : tiles) {
      if (!isa<MemRefType>(op.getInput().getType()) || !op->getParentOfType<gpu::GPUModuleOp>()) {
        op.emitOpError("is expanded in a GPU module, on buffers");
        return signalPassFailure();
      }
      LinearCode(op).emit();
      op.erase();
    }
  }
};

} // namespace
