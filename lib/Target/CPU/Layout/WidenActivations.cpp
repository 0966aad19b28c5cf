//===- WidenActivations.cpp - Activations of 16 bits in f32 -----------------------------------===//
//
// The CPU's schedules compute on activations of f32. An activation of 16 bits becomes an f32
// tensor of the same numbers: the op that makes it gives f32, which is rounded to the 16 bits
// and widened again. Ops that only move numbers move f32, and a matmul rounds in its epilogue.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Iterators.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNWIDENACTIVATIONS
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;

namespace {

bool isNarrow(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && (tensor.getElementType().isBF16() || tensor.getElementType().isF16());
}

Type inF32(Type type) {
  return RankedTensorType::get(cast<RankedTensorType>(type).getShape(), Float32Type::get(type.getContext()));
}

/// Whether some op updates a tensor, or does not read it as an activation; it keeps its type.
bool isFixed(Value tensor) {
  return llvm::any_of(tensor.getUses(), [](OpOperand &use) {
    return attn::isAttnOp(use.getOwner()) && attn::elementUseOf(use) == attn::ElementUse::fixed;
  });
}

class Widening {
public:
  explicit Widening(MLIRContext *context) : b(context) {}

  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto loop = dyn_cast<scf::ForOp>(op))
        runLoop(loop);
      else if (attn::isAttnOp(&op))
        runOp(&op);
    }
  }

private:
  /// `tensor` as the schedules take it. `op` is the op that it is for.
  Value widened(Value tensor, Operation *op) {
    if (!isNarrow(tensor.getType()))
      return tensor;
    Value &wide = inWide[tensor];
    if (!wide) {
      b.setInsertionPointAfterValue(tensor);
      wide = castTo(b.getF32Type(), tensor, op);
    }
    return wide;
  }

  Value castTo(Type element, Value tensor, Operation *op) {
    Value made = attn::emitCast(b, op->getLoc(), tensor, element);
    if (Attribute number = op->getAttr(attn::AttnDialect::opAttr))
      made.getDefiningOp()->setAttr(attn::AttnDialect::opAttr, number);
    return made;
  }

  /// An operand that the CPU's code widens itself: in f32 where it is so already.
  void takeWide(OpOperand &operand) {
    if (auto known = inWide.find(operand.get()); known != inWide.end())
      operand.set(known->second);
  }

  /// Gives `result` f32, and its users what it was rounded to.
  void widenResult(Value result, bool isRounded) {
    if (!isNarrow(result.getType()))
      return;
    Operation *op = result.getDefiningOp();
    Type narrow = getElementTypeOrSelf(result);
    result.setType(inF32(result.getType()));
    b.setInsertionPointAfter(op);
    Value rounded = castTo(narrow, result, op);
    result.replaceUsesWithIf(rounded, [&](OpOperand &use) {
      return use.getOwner() != rounded.getDefiningOp() && !isa<tensor::DimOp>(use.getOwner());
    });
    if (isRounded)
      inWide[rounded] = result;
  }

  void runOp(Operation *op) {
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      return runCast(cast<CastOpInterface>(op));
    for (OpOperand &operand : op->getOpOperands()) {
      const attn::ElementUse use = attn::elementUseOf(operand);
      if (use == attn::ElementUse::computed || use == attn::ElementUse::factors)
        operand.set(widened(operand.get(), op));
      else if (use == attn::ElementUse::stored)
        takeWide(operand);
    }
    if (auto linear = dyn_cast<attn::LinearOp>(op))
      return roundInEpilogue(linear);
    for (Value result : op->getResults())
      if (attn::ElementSource source = attn::elementSourceOf(result);
          source == attn::ElementSource::rounded || source == attn::ElementSource::f32)
        widenResult(result, /*isRounded=*/attn::movesNumbers(op));
  }

  void runCast(CastOpInterface op) {
    takeWide(op->getOpOperand(0));
    if (op->getOperand(0).getType() != op->getResult(0).getType())
      return;
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  }

  /// A matmul gives f32 that its epilogue has rounded.
  void roundInEpilogue(attn::LinearOp op) {
    if (!isNarrow(op.getType()))
      return;
    Operation *yield = &op.ensureEpilogue(b)->back();
    b.setInsertionPoint(yield);
    Value rounded =
        arith::TruncFOp::create(b, op.getLoc(), op.getType().getElementType(), yield->getOperand(0)).getResult();
    yield->setOperand(0, arith::ExtFOp::create(b, op.getLoc(), b.getF32Type(), rounded));
    widenResult(op.getResult(), /*isRounded=*/true);
  }

  /// A loop carries f32, but for what is no activation or is updated in place.
  void runLoop(scf::ForOp loop) {
    auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
    SmallVector<unsigned> carried;
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
      if (!isNarrow(argument.getType()) || isFixed(argument))
        continue;
      carried.push_back(i);
      loop.getInitArgsMutable()[i].set(widened(loop.getInitArgs()[i], loop));
      Type narrow = getElementTypeOrSelf(argument);
      argument.setType(inF32(argument.getType()));
      b.setInsertionPointToStart(loop.getBody());
      replaceByRounded(argument, narrow, loop);
    }
    run(*loop.getBody());
    for (unsigned i : carried) {
      yield->setOperand(i, widened(yield->getOperand(i), loop));
      Value result = loop.getResult(i);
      Type narrow = getElementTypeOrSelf(result);
      result.setType(inF32(result.getType()));
      b.setInsertionPointAfter(loop);
      replaceByRounded(result, narrow, loop);
    }
  }

  /// The users of `wide`, whose numbers `narrow` holds, see them in that type.
  void replaceByRounded(Value wide, Type narrow, Operation *op) {
    Value rounded = castTo(narrow, wide, op);
    wide.replaceUsesWithIf(rounded, [&](OpOperand &use) {
      return use.getOwner() != rounded.getDefiningOp() && !isa<tensor::DimOp>(use.getOwner());
    });
    inWide[rounded] = wide;
  }

  OpBuilder b;
  llvm::DenseMap<Value, Value> inWide; ///< tensors of 16 bits, and the same numbers in f32
};

struct WidenActivations : rapt::impl::AttnWidenActivationsBase<WidenActivations> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration())
        Widening(&getContext()).run(function.getBody().front());
    // Rounded tensors that nothing reads go.
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op) && op->use_empty())
        op->erase();
    });
  }
};

} // namespace
