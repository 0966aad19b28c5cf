//===- Expand.cpp - The code of tiles of matmuls ------------------------------------------===//
#include "lib/Target/GPU/NVIDIA/Expand.h"
#include "lib/Target/GPU/NVIDIA/Linear/TileCode.h"
#include "lib/Target/GPU/When.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

class LinearCode : LinearTileCode {
public:
  explicit LinearCode(LinearTileOp op)
      : LinearTileCode(op, op.getResult(), {op.getEpilogue(), op.getPairs()}, op.getGridOfWarps(),
                       op.getTiles().getRows(), op.getTiles().getColumns(), op.getTiles().getParts()),
        op(op), tiles(op.getTiles()), input(b, op.getInput()), weight(b, op.getWeight()) {
    auto fragment = [&](int64_t rows, MatmulOperand operand) {
      return FragmentType::get(b.getContext(), rows, kGroup, input.element,
                               MmaLayoutAttr::get(b.getContext(), operand));
    };
    if (!op.multipliesFloats()) {
      left = fragment(rowsOfWarp, MatmulOperand::a);
      right = fragment(kGroup, MatmulOperand::b);
    }
    steps = arith::CeilDivUIOp::create(b, input.sizes[1], index(tiles.getDepth()));
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
    if (part)
      storeSums(branch.getResults());
    else
      store(branch.getResults());
  }

private:
  /// Each part finishes and stores some columns of the sums of all parts.
  void storeSums(ValueRange ofPart) {
    NVVM::Barrier0Op::create(b); // the last step is read, whose shared memory the sums have
    const int64_t columns = groups * kGroup, atom = sums.getLayout().getAtom().columns,
                  each = std::max(atom, columns / tiles.getParts());
    sums = FragmentType::get(b.getContext(), rowsOfWarp, each, sums.getElementType(), sums.getLayout());
    Value all = SumWarpsOp::create(b, sums, ofPart, uint32_t(tiles.getParts()), uint32_t(op.getThreads()), index(0));
    firstColumn = add(firstColumn, times(part, each));
    groups = 1;
    if (each * tiles.getParts() == columns)
      return store(all);
    when(b, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, part, index(columns / each)), [&] { store(all); });
  }

  /// The sums over k, where copies are asynchronous.
  SmallVector<Value> sumsOfCopies() {
    const Ring ring{tiles.getStages(), op.getStageBytes(), steps};
    auto copy = [&](Value step, Value buffer) { copyStep(step, buffer, /*elements=*/false); };
    auto copyOfInput = [&](Value step, Value buffer) { copyInput(step, buffer, /*elements=*/false); };
    auto multiply = [&](Value buffer, ValueRange before) { return multiplied(buffer, before); };
    if (!op.getWaits())
      return overSteps(ring, zeros(), copy, multiply);
    // The weight of the steps ahead, which is what takes time, is on its way while the kernel before still runs.
    aheadOfSteps(ring, [&](Value step, Value buffer) { copyWeight(step, buffer, /*elements=*/false); });
    WaitForKernelOp::create(b);
    return overSteps(ring, zeros(), copyOfInput, copy, multiply);
  }

  /// The same where elements are copied, one step after the other.
  SmallVector<Value> sumsOfElements() {
    if (op.getWaits())
      WaitForKernelOp::create(b);
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

  Value inputTile(Value buffer) { return SharedOp::create(b, op.getInputTile(), buffer); }
  Value weightTile(Value buffer) {
    return SharedOp::create(b, op.getWeightTile(), add(buffer, index(op.getInputTile().getBytes())));
  }

  void copyStep(Value step, Value buffer, bool elements) {
    copyInput(step, buffer, elements);
    copyWeight(step, buffer, elements);
  }

  void copyInput(Value step, Value buffer, bool elements) {
    Value first = times(step, tiles.getDepth());
    copyRows(input, inputTile(buffer), first, input.sizes[0], whole(first), op.getThreads(), elements);
  }

  void copyWeight(Value step, Value buffer, bool elements) {
    Value first = times(step, tiles.getDepth()), left = whole(first);
    const int64_t threads = op.getThreads();
    if (op.getTransposed())
      copyRows(weight, weightTile(buffer), first, weight.sizes[0], left, threads, elements);
    else
      copyRows(weight, weightTile(buffer), arith::MulIOp::create(b, first, weight.strides[0]), left, weight.sizes[1],
               threads, elements);
  }

  /// The elements of k from `first` on; a constant where steps are whole.
  Value whole(Value first) {
    const int64_t depth = cast<MemRefType>(op.getInput().getType()).getDimSize(1);
    if (!ShapedType::isDynamic(depth) && depth % tiles.getDepth() == 0)
      return index(tiles.getDepth());
    return arith::SubIOp::create(b, input.sizes[1], first);
  }

  SmallVector<Value> multiplied(Value buffer, ValueRange before) {
    Value ofInput = inputTile(buffer), ofWeight = weightTile(buffer);
    if (op.multipliesFloats())
      return multipliedFloats(ofInput, ofWeight, before);
    SmallVector<Value> acc(before);
    for (int64_t at = 0; at < depthOfPart(); at += kGroup) {
      Value k = part ? add(firstOfPart(), index(at)) : index(at);
      Value x = LoadMatrixOp::create(b, left, ofInput, firstRow, k, /*transpose=*/false);
      for (int64_t group = 0; group < groups; ++group) {
        Value column = add(firstColumn, index(group * kGroup));
        const bool transposed = op.getTransposed();
        Value w =
            LoadMatrixOp::create(b, right, ofWeight, transposed ? column : k, transposed ? k : column, transposed);
        acc[group] = MmaOp::create(b, x, w, acc[group]);
      }
    }
    return acc;
  }

  /// Sums of f32: a loop over 8 of k, as the instructions of a whole step would be too many.
  SmallVector<Value> multipliedFloats(Value ofInput, Value ofWeight, ValueRange before) {
    constexpr int64_t depth = 8;
    Value first = part ? firstOfPart() : index(0);
    auto loop = scf::ForOp::create(b, first, add(first, index(depthOfPart())), index(depth), before);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    auto multiply = MultiplyOp::create(b, tiles.getMatmul(), ofInput, ofWeight, firstRow, firstColumn,
                                       loop.getInductionVar(), depth, loop.getRegionIterArgs(), op.getTransposed());
    scf::YieldOp::create(b, multiply.getResults());
    return SmallVector<Value>(loop.getResults());
  }

  /// The part of a step's k that a warp has.
  int64_t depthOfPart() { return tiles.getDepth() / tiles.getParts(); }
  Value firstOfPart() { return times(part, depthOfPart()); }

  LinearTileOp op;
  LinearTilesAttr tiles;
  GlobalArray input, weight;
  FragmentType left, right;
  Value steps;
};

} // namespace

LogicalResult cuda::expand(LinearTileOp op) {
  if (op.isOfWarpgroups())
    return expandWgmma(op);
  LinearCode(op).emit();
  return success();
}
