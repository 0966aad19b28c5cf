//===- HostCodeToTasks.cpp - Host code that touches buffers becomes tasks -----------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

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

/// The array of an entry that a buffer is, or is a view of; null for others.
Value argumentOf(Value buffer) {
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  auto argument = dyn_cast<BlockArgument>(buffer);
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? buffer : Value();
}

/// The arrays of an entry that nothing writes to; none where that is not known.
llvm::SmallDenseSet<Value> unwrittenArguments(func::FuncOp entry) {
  llvm::SmallDenseSet<Value> unwritten(entry.getArguments().begin(), entry.getArguments().end());
  const WalkResult result = entry.walk([&](Operation *op) {
    auto interface = dyn_cast<MemoryEffectOpInterface>(op);
    if (!interface && (op == entry || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()))
      return WalkResult::advance();
    if (!interface)
      return op->hasTrait<OpTrait::IsTerminator>() ? WalkResult::advance() : WalkResult::interrupt();
    SmallVector<MemoryEffects::EffectInstance> effects;
    interface.getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects) {
      if (!isa<MemoryEffects::Write>(effect.getEffect()))
        continue;
      if (!effect.getValue())
        return WalkResult::interrupt();
      unwritten.erase(argumentOf(effect.getValue()));
    }
    return WalkResult::advance();
  });
  if (result.wasInterrupted())
    unwritten.clear();
  return unwritten;
}

/// Makes tasks of an entry's code that touches buffers.
class Tasks {
public:
  explicit Tasks(func::FuncOp entry) : unwritten(unwrittenArguments(entry)) {}

  /// Wraps the code of a block, and of the loops in it that hold grids.
  LogicalResult wrapIn(Block &block) {
    SmallVector<Operation *> run; // ops that become one task
    auto close = [&] {
      if (!run.empty())
        wrap(run);
      run.clear();
    };
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (op.hasTrait<OpTrait::IsTerminator>()) {
        close();
      } else if (auto grid = dyn_cast<scf::ForallOp>(op)) {
        close();
        copyNumbersInto(grid);
      } else if (holdsGrid(&op)) {
        close();
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            if (failed(wrapIn(inner)))
              return failure();
      } else if (isNumber(&op)) {
        numbers.insert(&op);
      } else if (touchesBuffers(&op)) {
        if (!op.use_empty())
          return reportRead(&op);
        run.push_back(&op);
      } else {
        close(); // later ops may use its results
      }
    }
    return success();
  }

  /// Erases the numbers of which tasks have copies. The host program can use none.
  LogicalResult finish() {
    for (Operation *op : llvm::reverse(numbers)) {
      if (!op->use_empty())
        return reportRead(op);
      op->erase();
    }
    return success();
  }

private:
  /// Moves the ops into a grid of one task before the first of them.
  void wrap(ArrayRef<Operation *> ops) {
    OpBuilder b(ops.front());
    auto grid = scf::ForallOp::create(b, ops.front()->getLoc(), ArrayRef<OpFoldResult>{b.getIndexAttr(1)}, ValueRange(),
                                      /*mapping=*/std::nullopt);
    for (Operation *op : ops)
      op->moveBefore(grid.getBody()->getTerminator());
    copyNumbersInto(grid);
  }

  /// Whether an op reads an element that no task changes, or computes with such: every task may do so itself.
  bool isNumber(Operation *op) const {
    if (auto load = dyn_cast<memref::LoadOp>(op))
      return unwritten.contains(argumentOf(load.getMemRef()));
    return isPure(op) && op->getNumRegions() == 0 &&
           llvm::any_of(op->getOperands(), [&](Value operand) { return numbers.contains(operand.getDefiningOp()); });
  }

  /// Copies the numbers that a grid's tasks use into them.
  void copyNumbersInto(scf::ForallOp grid) {
    llvm::SetVector<Value> used;
    getUsedValuesDefinedAbove(grid.getRegion(), used);
    OpBuilder b = OpBuilder::atBlockBegin(grid.getBody());
    IRMapping mapping;
    for (Value value : used)
      if (Operation *op = value.getDefiningOp(); op && numbers.contains(op))
        copy(op, b, mapping);
    for (auto [from, to] : mapping.getValueMap())
      replaceAllUsesInRegionWith(from, to, grid.getRegion());
  }

  void copy(Operation *op, OpBuilder &b, IRMapping &mapping) const {
    if (mapping.contains(op->getResult(0)))
      return;
    for (Value operand : op->getOperands())
      if (Operation *of = operand.getDefiningOp(); of && numbers.contains(of))
        copy(of, b, mapping);
    b.clone(*op, mapping);
  }

  static LogicalResult reportRead(Operation *op) {
    return op->emitOpError("reads a buffer in the host program, whose buffers are in the memory of the device");
  }

  llvm::SmallDenseSet<Value> unwritten;
  llvm::SetVector<Operation *> numbers; ///< that tasks have copies of
};

struct HostCodeToTasks : rapt::impl::AttnHostCodeToTasksBase<HostCodeToTasks> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(attn::AttnDialect::entryAttr)) {
        Tasks tasks(function);
        for (Block &block : function.getBody())
          if (failed(tasks.wrapIn(block)))
            return signalPassFailure();
        if (failed(tasks.finish()))
          return signalPassFailure();
      }
  }
};

} // namespace
