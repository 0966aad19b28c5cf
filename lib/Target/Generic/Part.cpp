//===- Part.cpp - Parts of linalg ops on buffers ------------------------------------------===//
#include "lib/Target/Generic/Part.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace rapt;

namespace {

/// An operand of a part, and how the part's loops go through it.
struct Operand {
  Value value;
  AffineMap map;
};

struct Part {
  IRRewriter &rewriter;
  linalg::GenericOp op;
  ArrayRef<OpFoldResult> offsets, extents;
  SmallVector<AffineExpr> left; ///< a loop's dim in the part, null for those of one point
  SmallVector<utils::IteratorType> types;

  Operand operandOf(OpOperand &operand) {
    const OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
    SmallVector<AffineExpr> results;
    SmallVector<OpFoldResult> at, sizes;
    SmallVector<int64_t> shape;
    for (AffineExpr result : op.getMatchingIndexingMap(&operand).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(result);
      at.push_back(dim ? offsets[dim.getPosition()] : zero);
      sizes.push_back(dim ? extents[dim.getPosition()] : one);
      if (dim && left[dim.getPosition()]) {
        results.push_back(left[dim.getPosition()]);
        shape.push_back(getConstantIntValue(sizes.back()).value_or(ShapedType::kDynamic));
      }
    }
    AffineMap map = AffineMap::get(types.size(), 0, results, op.getContext());
    Value whole = operand.get();
    auto type = dyn_cast<MemRefType>(whole.getType());
    if (!type)
      return {whole, map};
    if (shape.empty() && op.isDpsInput(&operand))
      return {memref::LoadOp::create(rewriter, op.getLoc(), whole,
                                     getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), at)),
              map};
    const SmallVector<OpFoldResult> strides(at.size(), one);
    MemRefType view = memref::SubViewOp::inferRankReducedResultType(shape, type, at, sizes, strides);
    return {memref::SubViewOp::create(rewriter, op.getLoc(), view, whole, at, sizes, strides), map};
  }

  /// Indices in the body count from the begin of the whole op.
  void shiftIndices(linalg::GenericOp part) {
    OpBuilder::InsertionGuard guard(rewriter);
    part.walk([&](linalg::IndexOp index) {
      const unsigned loop = index.getDim();
      rewriter.setInsertionPointAfter(index);
      Value first = getValueOrCreateConstantIndexOp(rewriter, index.getLoc(), offsets[loop]);
      if (!left[loop])
        return rewriter.replaceOp(index, first);
      index.setDim(cast<AffineDimExpr>(left[loop]).getPosition());
      auto sum = arith::AddIOp::create(rewriter, index.getLoc(), index, first);
      rewriter.replaceAllUsesExcept(index, sum, sum);
    });
  }

  linalg::GenericOp make() {
    left.resize(extents.size());
    for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray()))
      if (!isOneInteger(extents[loop])) {
        left[loop] = rewriter.getAffineDimExpr(types.size());
        types.push_back(type);
      }
    SmallVector<Value> operands;
    SmallVector<AffineMap> maps;
    for (OpOperand &whole : op->getOpOperands()) {
      Operand operand = operandOf(whole);
      operands.push_back(operand.value), maps.push_back(operand.map);
    }
    auto inputs = ArrayRef(operands).take_front(op.getNumDpsInputs());
    auto part = linalg::GenericOp::create(rewriter, op.getLoc(), TypeRange(), inputs,
                                          ArrayRef(operands).drop_front(inputs.size()), maps, types);
    rewriter.cloneRegionBefore(op.getRegion(), part.getRegion(), part.getRegion().begin());
    shiftIndices(part);
    return part;
  }
};

} // namespace

linalg::GenericOp generic::partOf(IRRewriter &rewriter, linalg::GenericOp op, ArrayRef<OpFoldResult> offsets,
                                  ArrayRef<OpFoldResult> extents) {
  return Part{rewriter, op, offsets, extents, {}, {}}.make();
}
