//===- LowerVectors.cpp - Prepares vector code for the llvm dialect ---------------------------===//
#include "lib/Host/ExpandShape.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLOWERVECTORS
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;

namespace {

struct LowerVectors : rapt::impl::AttnLowerVectorsBase<LowerVectors> {
  void runOnOperation() override {
    if (failed(rapt::checkStage(*this, getOperation(), rapt::Stage::Backend)))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    populateVectorToSCFConversionPatterns(patterns, VectorTransferToSCFOptions().enableFullUnroll());
    rapt::populateExpandShapePatterns(patterns);
    memref::populateExpandStridedMetadataPatterns(patterns);
    vector::populateVectorToVectorCanonicalizationPatterns(patterns);
    vector::populateVectorBitCastLoweringPatterns(patterns);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorGatherLoweringPatterns(patterns);
    vector::populateVectorInsertExtractStridedSliceTransforms(patterns);
    vector::populateVectorInterleaveLoweringPatterns(patterns);
    vector::populateVectorMaskMaterializationPatterns(patterns, /*force32BitVectorIndices=*/true);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateVectorMultiReductionLoweringPatterns(patterns,
                                                         vector::VectorMultiReductionLowering::InnerReduction);
    vector::populateVectorRankReducingFMAPattern(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorStepLoweringPatterns(patterns);
    vector::populateVectorTransferLoweringPatterns(patterns, /*maxTransferRank=*/1);
    vector::populateVectorTransposeLoweringPatterns(patterns, vector::VectorTransposeLowering::EltWise);
    // One iteration is enough, as patterns visit the ops that other patterns create. Code has no equal blocks to merge.
    (void)applyPatternsGreedily(
        getOperation(), std::move(patterns),
        GreedyRewriteConfig().setMaxIterations(1).setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled));
  }
};

} // namespace
