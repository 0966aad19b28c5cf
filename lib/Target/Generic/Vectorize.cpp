//===- Vectorize.cpp - Vectorizes linalg ops on buffers -----------------------------------===//
//
// Upstream's tiling and vectorizer need static extents. An op is tiled by whole vectors, and
// what they leave of a ragged end becomes scalar loops, so nothing is masked. Sums stay in
// registers over the loops of a reduction, as in the micro-kernels of BLIS.
//
//===----------------------------------------------------------------------===//
#include "lib/Target/Generic/Passes.h"
#include "lib/Target/Generic/VectorLoops.h"
#include "lib/TargetInfo/TargetInfo.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNGENERICVECTORIZE
#include "lib/Target/Generic/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::generic;

namespace {

/// A micro-kernel tile is 4 rows of two vectors: 8 of the 16 registers that every machine has are accumulators.
constexpr int64_t kRows = 4, kVectors = 2;
/// f32 elements of a vector, of NEON and of AVX-512.
constexpr int64_t kLeastLanes = 4, kMostLanes = 16;

/// Whether vectors of the elements lie in memory as the elements do: those of i1, i4 and i24 are packed.
bool isWholeBytes(Type type) {
  if (!type.isIntOrFloat())
    return type.isIndex();
  const unsigned width = type.getIntOrFloatBitWidth();
  return width >= 8 && llvm::isPowerOf2_32(width);
}

/// Whether the body is arithmetic on elements alone: a read of a tensor at an index that is computed would become a
/// gather.
bool isArithmetic(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->getOperations(), [](Operation &inner) {
    if (isa<linalg::IndexOp, linalg::YieldOp>(inner) || inner.hasTrait<OpTrait::ConstantLike>())
      return true;
    return OpTrait::hasElementwiseMappableTraits(&inner) &&
           llvm::all_of(inner.getOperandTypes(), [](Type type) { return type.isIntOrIndexOrFloat(); });
  });
}

/// Whether the points of `loop` are neighbors in the operand, or one element.
bool isAlong(linalg::GenericOp op, OpOperand &operand, unsigned loop) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return true;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!map.isProjectedPermutation(/*allowZeroInResults=*/true) || !isWholeBytes(type.getElementType()))
    return false;
  if (!map.isFunctionOfDim(loop))
    return true;
  return map.getResults().back() == getAffineDimExpr(loop, op.getContext()) && type.isLastDimUnitStride();
}

std::optional<unsigned> lastParallelBut(linalg::GenericOp op, std::optional<unsigned> other) {
  for (unsigned loop = op.getNumLoops(); loop-- > 0;)
    if (loop != other && op.getIteratorTypesArray()[loop] == utils::IteratorType::parallel)
      return loop;
  return std::nullopt;
}

std::optional<VectorPlan> planOf(linalg::GenericOp op, int64_t lanes) {
  auto fits = [&](unsigned loop) {
    const int64_t extent = op.getStaticLoopRanges()[loop];
    return (ShapedType::isDynamic(extent) || extent >= lanes) &&
           llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) { return isAlong(op, operand, loop); });
  };
  if (!isArithmetic(op) || llvm::is_contained(op.getStaticLoopRanges(), 0))
    return std::nullopt;
  const bool reduces = op.getNumReductionLoops() > 0;
  const SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  AffineMap result = maps.back();
  if (result.getNumResults() > 0 && isa<AffineDimExpr>(result.getResults().back())) {
    const unsigned loop = cast<AffineDimExpr>(result.getResults().back()).getPosition();
    auto dependsOn = [&](AffineMap map) { return map.isFunctionOfDim(loop); };
    if (llvm::all_of(ArrayRef(maps).take_back(op.getNumDpsInits()), dependsOn) && fits(loop))
      return VectorPlan{loop, reduces ? lastParallelBut(op, loop) : std::nullopt};
  }
  if (op.getNumReductionLoops() != 1 || !combinerOf(op))
    return std::nullopt;
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  if (!fits(reductions[0]))
    return std::nullopt;
  // Rows of a length that is known at run time alone are short, as a KV block is: one at a time is less code.
  const bool isKnown = !ShapedType::isDynamic(op.getStaticLoopRanges()[reductions[0]]);
  return VectorPlan{reductions[0], isKnown ? lastParallelBut(op, std::nullopt) : std::nullopt};
}

struct GenericVectorize : rapt::impl::AttnGenericVectorizeBase<GenericVectorize> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    const TargetInfo info = TargetInfo::of(getOperation());
    // The text may say any width; LLVM splits vectors that are wider than registers.
    const int64_t lanes = std::clamp<int64_t>(info.lanesF32(), kLeastLanes, kMostLanes);
    const VectorSizes sizes{lanes, kRows, kVectors * lanes};
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics())
        ops.push_back(op);
    });
    for (linalg::LinalgOp op : ops)
      vectorize(rewriter, op, sizes);
  }

  void vectorize(IRRewriter &rewriter, linalg::LinalgOp named, const VectorSizes &sizes) {
    rewriter.setInsertionPoint(named);
    FailureOr<linalg::GenericOp> generalized = linalg::generalizeNamedOp(rewriter, named);
    auto op = succeeded(generalized) ? *generalized : dyn_cast<linalg::GenericOp>(named.getOperation());
    std::optional<VectorPlan> plan = op ? planOf(op, sizes.lanes) : std::nullopt;
    if (!plan)
      return;
    rewriter.setInsertionPoint(op);
    VectorLoops(rewriter, op, *plan, sizes).make();
    rewriter.eraseOp(op);
  }
};

} // namespace
