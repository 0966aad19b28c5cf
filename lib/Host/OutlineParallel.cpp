//===- OutlineParallel.cpp - Parallel loops become tasks ----------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnHost/AttnHost.h"
#include "lib/Host/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNOUTLINEPARALLEL
#include "lib/Host/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

/// Whether a task can have `value` without capturing it: constants, and views of them.
bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  return matchPattern(value, m_Constant()) || isa<memref::GetGlobalOp>(op) ||
         (isa<ViewLikeOpInterface>(op) && op->getNumRegions() == 0 && llvm::all_of(op->getOperands(), isConstant));
}

/// Copies a constant, and what it is a view of, into a task.
void cloneConstant(Value constant, OpBuilder &task, IRMapping &mapping) {
  if (mapping.contains(constant))
    return;
  for (Value operand : constant.getDefiningOp()->getOperands())
    cloneConstant(operand, task, mapping);
  task.clone(*constant.getDefiningOp(), mapping);
}

/// Outlines the body of one forall as the task `name`, and replaces the forall by an attn_host.parallel_for with the
/// number `dispatch`, if any.
LogicalResult outline(scf::ForallOp forall, func::FuncOp entry, StringRef name, IntegerAttr dispatch) {
  if (!forall.isNormalized() || forall.getNumResults() != 0)
    return forall.emitOpError("must be bufferized and normalized before it is outlined");
  ImplicitLocOpBuilder b(forall.getLoc(), forall);
  SmallVector<Value> extents;
  for (OpFoldResult extent : forall.getMixedUpperBound())
    extents.push_back(getValueOrCreateConstantIndexOp(b, b.getLoc(), extent));
  Value count = extents[0];
  for (Value extent : ArrayRef(extents).drop_front())
    count = arith::MulIOp::create(b, count, extent);

  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(forall.getRegion(), used);
  used.insert(extents.begin(), extents.end());
  SmallVector<Value> captures, constants;
  for (Value value : used)
    (isConstant(value) ? constants : captures).push_back(value);

  Type index = b.getIndexType();
  SmallVector<Type> types(ValueRange(captures).getTypes());
  types.append({index, index, index}); // begin, end, worker
  OpBuilder module = OpBuilder::atBlockEnd(entry->getBlock());
  auto task = func::FuncOp::create(module, forall.getLoc(), name, b.getFunctionType(types, {}));
  task.setPrivate();
  Block *block = task.addEntryBlock();
  ImplicitLocOpBuilder t = ImplicitLocOpBuilder::atBlockBegin(forall.getLoc(), block);
  IRMapping mapping;
  for (auto [i, capture] : llvm::enumerate(captures))
    mapping.map(capture, block->getArgument(i));
  for (Value constant : constants)
    cloneConstant(constant, t, mapping);
  unsigned first = captures.size();
  Value one = arith::ConstantIndexOp::create(t, 1);
  auto loop = scf::ForOp::create(t, block->getArgument(first), block->getArgument(first + 1), one);
  func::ReturnOp::create(t);
  t.setInsertionPointToStart(loop.getBody());
  // The last dim runs fastest.
  Value rest = loop.getInductionVar();
  SmallVector<Value> ids(extents.size());
  for (unsigned i = extents.size(); i-- > 1;) {
    Value extent = mapping.lookup(extents[i]);
    ids[i] = arith::RemUIOp::create(t, rest, extent);
    rest = arith::DivUIOp::create(t, rest, extent);
  }
  ids[0] = rest;
  mapping.map(forall.getInductionVars(), ids);
  for (Operation &op : forall.getBody()->without_terminator())
    t.clone(op, mapping);

  // Matmuls of one shape come many times in a model: the first of equal tasks serves them all.
  for (auto other : entry->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (other != task && other.isPrivate() && other.getFunctionType() == task.getFunctionType() &&
        OperationEquivalence::isRegionEquivalentTo(&other.getBody(), &task.getBody(),
                                                   OperationEquivalence::IgnoreLocations)) {
      task.erase();
      task = other;
      break;
    }
  auto call = attn_host::ParallelForOp::create(b, task.getSymName(), captures, count, entry.getArgument(0));
  if (dispatch)
    call->setAttr(attn::AttnDialect::dispatchAttr, dispatch);
  forall.erase();
  return success();
}

struct OutlineParallel : rapt::impl::AttnOutlineParallelBase<OutlineParallel> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Tiled)))
      return signalPassFailure();
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(attn::AttnDialect::entryAttr))
        entries.push_back(function);
    for (func::FuncOp entry : entries) {
      SmallVector<scf::ForallOp> loops;
      entry.walk<WalkOrder::PreOrder>([&](scf::ForallOp loop) {
        loops.push_back(loop);
        return WalkResult::skip(); // no nesting: an inner one stays a loop
      });
      Builder b(&getContext());
      bool isCosted = entry->hasAttr(attn::AttnDialect::costsAttr) && !attn::isKernelModule(getOperation());
      SmallVector<int64_t> ops;
      for (auto [i, loop] : llvm::enumerate(loops)) {
        // A loop of no op has no number: targets differ in these loops, and numbers are the same for all targets.
        auto op = loop->getAttrOfType<IntegerAttr>(attn::AttnDialect::opAttr);
        int64_t dispatch = op ? ops.size() : -1;
        if (op)
          ops.push_back(op.getInt());
        if (failed(outline(loop, entry, (entry.getSymName() + ".task" + Twine(i)).str(),
                           isCosted ? b.getI64IntegerAttr(dispatch) : IntegerAttr())))
          return signalPassFailure();
      }
      if (isCosted)
        entry->setAttr(attn::AttnDialect::dispatchAttr, b.getDenseI64ArrayAttr(ops));
    }
  }
};

} // namespace
