//===- LinalgToLoops.cpp - linalg ops and copies on buffers as loops ----------------------------===//
#include "dialect/Attn/AttnDialect.h"
#include "lib/Conversion/Copies.h"
#include "lib/Conversion/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNLINALGTOLOOPS
#include "lib/Conversion/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

struct LinalgToLoops : rapt::impl::AttnLinalgToLoopsBase<LinalgToLoops> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    IRRewriter rewriter(&getContext());
    SmallVector<memref::CopyOp> copies;
    getOperation()->walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies) {
      rewriter.setInsertionPoint(copy);
      if (!isOntoItself(copy))
        linalg::CopyOp::create(rewriter, copy.getLoc(), copy.getSource(), copy.getTarget());
      rewriter.eraseOp(copy);
    }
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    for (linalg::LinalgOp op : ops) {
      rewriter.setInsertionPoint(op);
      if (!op.hasPureBufferSemantics() || failed(linalg::linalgOpToLoops(rewriter, op))) {
        op.emitOpError("has no loops: it is not bufferized");
        return signalPassFailure();
      }
      if (auto function = op->getParentOfType<func::FuncOp>())
        function->setAttr(attn::AttnDialect::scalarLoopsAttr, rewriter.getUnitAttr());
      rewriter.eraseOp(op);
    }
  }
};

} // namespace
