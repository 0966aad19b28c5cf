//===- PadKernels.cpp - Kernels on arrays whose columns fill no panel ----------------------===//
//
// A kernel's arguments are plain row-major arrays of the caller. Each op that works on
// panels gets copies of operands whose columns end inside of one, filled up with
// zeros, and gives the part of its result that counts. Nothing is copied where columns are
// multiples of 32.
//
//===----------------------------------------------------------------------===//
#include "dialect/Attn/AttnOps.h"
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Layout/Columns.h"
#include "lib/Target/CPU/Layout/Neutral.h"
#include "lib/Target/CPU/Layout/Passes.h"
#include "lib/Target/CPU/Layout/ZeroPadding.h"
#include "lib/Transforms/StageContract.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNPADKERNELS
#include "lib/Target/CPU/Layout/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using attn_cpu::kPanel;
using attn_cpu::padToPanel;
using cpu::cutTo;
using cpu::packWeight;
using cpu::padTo;

namespace {

RankedTensorType tensorOf(Value value) { return cast<RankedTensorType>(value.getType()); }
int64_t columnsOf(Value value) { return tensorOf(value).getShape().back(); }

RankedTensorType withColumns(RankedTensorType type, int64_t columns) {
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = columns;
  return RankedTensorType::get(shape, type.getElementType());
}

Value pad(ImplicitLocOpBuilder &b, Value value) { return padTo(b, value, padToPanel(columnsOf(value))); }

/// Gives result 0 of `op` the columns `columns`; its users see those they saw before.
void widenResult(ImplicitLocOpBuilder &b, Operation *op, int64_t columns) {
  Value result = op->getResult(0);
  RankedTensorType type = tensorOf(result);
  if (type.getShape().back() == columns)
    return;
  result.setType(withColumns(type, columns));
  b.setInsertionPointAfter(op);
  Value cut = cutTo(b, result, type, cpu::keepsZeros(op));
  SmallPtrSet<Operation *, 8> but{cut.getDefiningOp()};
  for (Value size : cut.getDefiningOp()->getOperands().drop_front())
    but.insert(size.getDefiningOp());
  result.replaceAllUsesExcept(cut, but);
}

void padLinear(ImplicitLocOpBuilder &b, attn::LinearOp op) {
  if (op.getLayout() || op.getDepth() == 0) // no schedule takes a matmul without terms
    return;
  int64_t columns = columnsOf(op.getResult());
  // Several matrices are read where they lie, or not by panels at all.
  if (op.hasMatrices() && (op.getTransposed() || columns % kPanel != 0))
    return;
  // A matmul stores its last panel narrow, so its result goes straight into the caller's array; not so where a
  // residual is read by whole panels.
  bool returned = llvm::all_of(op->getUsers(), llvm::IsaPred<func::ReturnOp>) &&
                  llvm::all_of(op.getExtras(), [](Value extra) { return tensorOf(extra).getRank() == 1; });
  if (Value packed = packWeight(b, op); packed != op.getWeight()) {
    op.getWeightMutable().assign(packed);
    op.setLayoutAttr(attn_cpu::PanelsAttr::of(b.getContext(), /*interleave=*/1));
  }
  op.setTransposed(false);
  for (OpOperand &extra : op.getExtrasMutable())
    extra.set(padTo(b, extra.get(), std::max(columnsOf(extra.get()), padToPanel(columns))));
  if (!returned)
    widenResult(b, op, padToPanel(columns));
}

/// An op on [rows, channels]: all its operands, and its result, get whole panels.
LogicalResult padRows(ImplicitLocOpBuilder &b, attn::ChannelsOpInterface op) {
  SmallVector<int64_t> channels;
  for (OpOperand &operand : op->getOpOperands()) {
    bool hasChannels = op.getChannelsDim(operand).has_value();
    channels.push_back(hasChannels ? columnsOf(operand.get()) : 0);
    if (hasChannels)
      operand.set(pad(b, operand.get()));
  }
  if (failed(op.keepChannels(channels, padToPanel)))
    return failure();
  widenResult(b, op, padToPanel(columnsOf(op->getResult(0))));
  return success();
}

/// Whether a tensor is memory, to which nothing can be added.
bool isMemory(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  return op && attn::isAttnOp(op) && attn::elementSourceOf(tensor) == attn::ElementSource::given;
}

/// Attention, whose heads may fill no panel.
void padHeads(ImplicitLocOpBuilder &b, attn::ChannelsOpInterface op) {
  SmallVector<OpOperand *> heads;
  bool areLast = true, areWhole = true, readsMemory = false;
  auto check = [&](Value tensor, std::optional<unsigned> dim) {
    if (!dim)
      return false;
    areLast &= *dim + 1 == tensorOf(tensor).getRank();
    readsMemory |= isMemory(tensor);
    areWhole &= isMemory(tensor) || tensorOf(tensor).getDimSize(*dim) % kPanel == 0;
    return true;
  };
  for (OpOperand &operand : op->getOpOperands())
    if (check(operand.get(), op.getChannelsDim(operand)))
      heads.push_back(&operand);
  for (Value result : op->getResults())
    check(result, op.getResultChannelsDim(result));
  // The cache pads heads, the caller's arrays do not: no schedule takes both.
  if (!areLast || (readsMemory && !areWhole))
    op->setAttr(cpu::kNeutralAttr, b.getUnitAttr());
  else if (!areWhole) {
    for (OpOperand *operand : heads)
      operand->set(pad(b, operand->get()));
    widenResult(b, op, padToPanel(columnsOf(op->getResult(0))));
  }
}

/// Whether the channels that `op` works on are known; told when they are not.
LogicalResult checkChannels(attn::ChannelsOpInterface op) {
  auto isUnknown = [&](Value tensor, std::optional<unsigned> dim) {
    return dim && tensorOf(tensor).isDynamicDim(*dim);
  };
  if (llvm::any_of(op->getOpOperands(),
                   [&](OpOperand &operand) { return isUnknown(operand.get(), op.getChannelsDim(operand)); }) ||
      llvm::any_of(op->getResults(), [&](Value result) { return isUnknown(result, op.getResultChannelsDim(result)); }))
    return op->emitOpError("has a last extent '?': the columns of a kernel's arrays must be numbers");
  return success();
}

LogicalResult padOp(attn::ChannelsOpInterface op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  // Elementwise ops on other tensors than matrices of so many columns have no panels.
  if (isa<attn::EpilogueOpInterface>(op.getOperation()))
    if (RankedTensorType type = tensorOf(op->getResult(0)); type.getRank() != 2 || type.isDynamicDim(1))
      return success();
  if (failed(checkChannels(op)))
    return failure();
  // A result without elements has no columns, and nothing can be cut off it.
  if (llvm::any_of(op->getResults(), [](Value result) {
        auto type = dyn_cast<RankedTensorType>(result.getType());
        return type && llvm::is_contained(type.getShape(), 0);
      }))
    return success();
  if (isa<attn::ScoreAndMaskOpInterface>(op.getOperation()))
    padHeads(b, op);
  else if (auto linear = dyn_cast<attn::LinearOp>(op.getOperation()))
    padLinear(b, linear);
  else if (op.getRowAccess() != attn::RowAccess::other && tensorOf(op->getResult(0)).getElementType().isFloat())
    return padRows(b, op);
  return success();
}

struct PadKernels : rapt::impl::AttnPadKernelsBase<PadKernels> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    cpu::forgetCuts(getOperation());
    if (!attn::isKernelModule(getOperation()))
      return;
    SmallVector<attn::ChannelsOpInterface> ops;
    getOperation().walk([&](attn::ChannelsOpInterface op) { ops.push_back(op); });
    for (attn::ChannelsOpInterface op : ops)
      if (failed(padOp(op)))
        return signalPassFailure();
    cpu::forgetCuts(getOperation());
  }
};

} // namespace
