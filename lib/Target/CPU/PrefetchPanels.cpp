//===- PrefetchPanels.cpp - Panels of weights, read ahead ------------------------------------===//
#include "lib/Target/CPU/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNPREFETCHPANELS
#include "lib/Target/CPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;

namespace {

/// Steps of k read ahead: at two multiply-adds a cycle and 14 rows they last 112 cycles, longer than a second-level
/// cache takes to answer.
constexpr int64_t kAhead = 8;
/// Loops with fewer multiply-adds a step are bound by memory, which the processor streams by itself.
constexpr int64_t kLeastProducts = 10;

struct PrefetchPanels : rapt::impl::AttnPrefetchPanelsBase<PrefetchPanels> {
  void runOnOperation() override {
    getOperation()->walk([](scf::ForOp loop) {
      Block *body = loop.getBody();
      if (llvm::count_if(*body, [](Operation &op) { return isa<vector::FMAOp>(op); }) < kLeastProducts)
        return;
      OpBuilder builder(body, body->begin());
      Value ahead;
      for (auto read : llvm::make_early_inc_range(body->getOps<vector::TransferReadOp>())) {
        if (!isa<MemRefType>(read.getBase().getType()) || read.getIndices().front() != loop.getInductionVar() ||
            !loop.isDefinedOutsideOfLoop(read.getBase()))
          continue;
        if (!ahead)
          ahead = arith::AddIOp::create(builder, loop.getLoc(), loop.getInductionVar(),
                                        arith::ConstantIndexOp::create(builder, loop.getLoc(), kAhead));
        SmallVector<Value> indices(read.getIndices());
        indices.front() = ahead;
        builder.setInsertionPoint(read);
        if (llvm::all_of(llvm::drop_begin(indices), [&](Value i) { return loop.isDefinedOutsideOfLoop(i); }))
          memref::PrefetchOp::create(builder, read.getLoc(), read.getBase(), indices, /*isWrite=*/false,
                                     /*localityHint=*/3, /*isDataCache=*/true);
      }
    });
  }
};

} // namespace
