//===- TensorsToLinalg.cpp - Arithmetic on tensors, padding and joining as linalg and slices ---===//
//
// An importer may say element by element arithmetic, padding and joining in one op. Behind
// this pass they are linalg, whose bodies are scalar, and slices, which all targets tile.
//
//===----------------------------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNTENSORSTOLINALG
#include "lib/Transforms/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// A tensor of one value is filled.
struct FillSplat : OpRewritePattern<tensor::SplatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(tensor::SplatOp op, PatternRewriter &rewriter) const override {
    Value empty = tensor::EmptyOp::create(rewriter, op.getLoc(), op.getType(), op.getDynamicSizes());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(op, op.getInput(), empty);
    return success();
  }
};

/// An elementwise op writes into its first operand where the types agree. One that reads a tensor which a loop carries
/// gets a destination of its own: the other operands' tiles may read what it would overwrite.
void giveDestination(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1)
    return;
  OpOperand *init = op.getDpsInitOperand(0);
  auto argument = dyn_cast<BlockArgument>(init->get());
  if (op.payloadUsesValueFromOperand(init) || !argument || !isa<scf::ForOp>(argument.getOwner()->getParentOp()))
    return;
  OpBuilder b(op);
  auto type = cast<RankedTensorType>(argument.getType());
  init->set(
      tensor::EmptyOp::create(b, op.getLoc(), tensor::getMixedSizes(b, op.getLoc(), argument), type.getElementType()));
}

struct TensorsToLinalg : rapt::impl::AttnTensorsToLinalgBase<TensorsToLinalg> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Imported)))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseToLinalgConversionPatterns(patterns);
    linalg::populateDecomposePadPatterns(patterns);
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    patterns.add<FillSplat>(&getContext());
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (!isa<attn::EpilogueOpInterface>(op))
        ops.push_back(op);
    });
    const GreedyRewriteConfig config = GreedyRewriteConfig()
                                           .setStrictness(GreedyRewriteStrictness::ExistingOps)
                                           .enableFolding(false)
                                           .enableConstantCSE(false);
    (void)applyOpPatternsGreedily(ops, std::move(patterns), config);
    getOperation()->walk(giveDestination);
  }
};

} // namespace
