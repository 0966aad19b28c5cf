//===- ExpandShape.cpp - Buffers whose dims are cut into several of dynamic extent ------------===//
#include "lib/Host/ExpandShape.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace {

struct CastExpandedShape : OpRewritePattern<memref::ExpandShapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(memref::ExpandShapeOp op, PatternRewriter &rewriter) const override {
    const MemRefType type = op.getResultType();
    auto isDynamic = [&](int64_t dim) { return type.isDynamicDim(dim); };
    const SmallVector<ReassociationIndices> groups = op.getReassociationIndices();
    if (llvm::none_of(groups, [&](const ReassociationIndices &dims) { return llvm::count_if(dims, isDynamic) > 1; }))
      return failure(); // upstream has a pattern
    auto [known, offset] = type.getStridesAndOffset();
    Location loc = op.getLoc();
    auto metadata = memref::ExtractStridedMetadataOp::create(rewriter, loc, op.getSrc());
    const SmallVector<OpFoldResult> from = metadata.getConstifiedMixedStrides(), sizes = op.getMixedOutputShape();
    SmallVector<OpFoldResult> strides(type.getRank());
    AffineExpr stride, extent;
    bindSymbols(rewriter.getContext(), stride, extent);
    for (auto [number, group] : llvm::enumerate(groups)) {
      OpFoldResult inner = from[number];
      for (int64_t dim : llvm::reverse(group)) {
        strides[dim] = ShapedType::isDynamic(known[dim]) ? inner : OpFoldResult(rewriter.getIndexAttr(known[dim]));
        inner = affine::makeComposedFoldedAffineApply(rewriter, loc, stride * extent, {strides[dim], sizes[dim]});
      }
    }
    rewriter.replaceOpWithNewOp<memref::ReinterpretCastOp>(op, type, metadata.getBaseBuffer(),
                                                           metadata.getConstifiedMixedOffset(), sizes, strides);
    return success();
  }
};

} // namespace

void rapt::populateExpandShapePatterns(RewritePatternSet &patterns) {
  patterns.add<CastExpandedShape>(patterns.getContext(), /*benefit=*/2);
}
