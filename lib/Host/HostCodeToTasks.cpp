//===- HostCodeToTasks.cpp - Host code that touches buffers becomes tasks -----------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNHOSTCODETOTASKS
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

bool holdsGrid(Operation *op) {
  return op->walk([](scf::ForallOp) { return WalkResult::interrupt(); }).wasInterrupted();
}

/// Whether an op reads or writes a buffer. Ops whose effects are not known do.
bool touchesBuffers(Operation *op) {
  std::optional<SmallVector<MemoryEffects::EffectInstance>> effects = getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Read, MemoryEffects::Write>(effect.getEffect());
  });
}

/// Moves the ops into a grid of one task before the first of them.
void wrap(ArrayRef<Operation *> ops) {
  OpBuilder b(ops.front());
  auto grid = scf::ForallOp::create(b, ops.front()->getLoc(), ArrayRef<OpFoldResult>{b.getIndexAttr(1)}, ValueRange(),
                                    /*mapping=*/std::nullopt);
  for (Operation *op : ops)
    op->moveBefore(grid.getBody()->getTerminator());
}

/// Wraps the code of a block, and of the loops in it that hold grids.
LogicalResult wrapIn(Block &block) {
  SmallVector<Operation *> run; // ops that follow each other
  auto close = [&] {
    if (!run.empty())
      wrap(run);
    run.clear();
  };
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (op.hasTrait<OpTrait::IsTerminator>() || isa<scf::ForallOp>(op)) {
      close();
    } else if (holdsGrid(&op)) {
      close();
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          if (failed(wrapIn(inner)))
            return failure();
    } else if (touchesBuffers(&op)) {
      if (!op.use_empty())
        return op.emitOpError("reads a buffer in the host program, whose buffers are in the memory of the device");
      run.push_back(&op);
    } else {
      close(); // later ops may use its results
    }
  }
  return success();
}

struct HostCodeToTasks : rapt::impl::AttnHostCodeToTasksBase<HostCodeToTasks> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(attn::AttnDialect::entryAttr))
        for (Block &block : function.getBody())
          if (failed(wrapIn(block)))
            return signalPassFailure();
  }
};

} // namespace
