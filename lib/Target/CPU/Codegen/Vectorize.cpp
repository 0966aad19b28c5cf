//===- Vectorize.cpp - Vectorizes elementwise tiles --------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Target/CPU/Codegen/Passes.h"
#include "lib/Target/CPU/Tile/PanelCache.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNVECTORIZE
#include "lib/Target/CPU/Codegen/Passes.h.inc"
} // namespace rapt

using namespace mlir;

namespace {

struct Vectorize : rapt::impl::AttnVectorizeBase<Vectorize> {
  void runOnOperation() override {
    if (failed(rapt::checkStage(*this, getOperation(), rapt::Stage::Tiled)))
      return signalPassFailure();
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) {
      // A fill whose only users are matmuls is folded into them.
      bool alone =
          isa<linalg::FillOp>(op) &&
          !llvm::all_of(op->getUsers(),
                        llvm::IsaPred<linalg::MatmulOp, rapt::attn_cpu::PanelMatmulOp, rapt::attn_cpu::VnniMatmulOp>);
      if ((isa<linalg::GenericOp>(op) || alone) && !op.hasDynamicShape() && !op->hasAttr(rapt::tile::kLoopsAttr))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      const auto ofModule = rapt::attn_cpu::ModuleScheduleAttr::around(op);
      const auto schedule = ofModule ? ofModule.getElementwise() : rapt::attn_cpu::ElementwiseScheduleAttr();
      SmallVector<int64_t> extents = op.getStaticLoopRanges();
      if (schedule && extents.size() == 2 && extents[0] > schedule.getRows() && extents[0] % schedule.getRows() == 0) {
        linalg::LinalgTilingOptions options;
        options.setTileSizes(SmallVector<int64_t>{schedule.getRows(), 0});
        FailureOr<linalg::TiledLinalgOp> tiled = linalg::tileLinalgOp(rewriter, op, options);
        if (failed(tiled)) {
          op.emitOpError("cannot be tiled by rows");
          return signalPassFailure();
        }
        rewriter.replaceOp(op, tiled->tensorResults);
        op = tiled->op;
        rewriter.setInsertionPoint(op);
      }
      FailureOr<linalg::VectorizationResult> result = linalg::vectorize(rewriter, op);
      if (failed(result)) {
        op.emitOpError("cannot be vectorized");
        return signalPassFailure();
      }
      rewriter.replaceOp(op, result->replacements);
    }
  }
};

} // namespace
