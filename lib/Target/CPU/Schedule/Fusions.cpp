//===- Fusions.cpp - Ops that the dispatch of another op computes ------------------------===//
#include "lib/Target/CPU/Schedule/Fusions.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Choices.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rapt;
using attn_cpu::AttnCPUDialect;
using attn_cpu::CastRowsOp;
using attn_cpu::kPanel;

bool cpu::isFused(Operation *op) { return op && op->hasAttr(AttnCPUDialect::fusedIntoAttr); }

attn::LinearOp cpu::fusedMatmulOf(attn::LinearOp op) {
  for (Value extra : op.getExtras())
    if (auto matmul = extra.getDefiningOp<attn::LinearOp>(); isFused(matmul))
      return matmul;
  return nullptr;
}

attn::RopeOp cpu::fusedRotationOf(attn::LinearOp op) {
  for (Operation *split : op->getUsers())
    if (isa<attn::SplitHeadsOp>(split))
      for (Operation *user : split->getUsers())
        if (auto rope = dyn_cast<attn::RopeOp>(user); isFused(rope))
          return rope;
  return nullptr;
}

CastRowsOp cpu::fusedCastOf(Value result) {
  for (Operation *user : result.getUsers()) {
    if (auto heads = dyn_cast<attn::MergeHeadsOp>(user); heads && result.getDefiningOp<attn::AttentionOp>())
      return fusedCastOf(heads.getResult());
    if (auto cast = dyn_cast<CastRowsOp>(user); isFused(cast))
      return cast;
  }
  return nullptr;
}

namespace {

attn::LinearOp rootOfMatmul(attn::LinearOp op) {
  return op.getResult().hasOneUse() ? dyn_cast<attn::LinearOp>(*op->user_begin()) : nullptr;
}

attn::LinearOp rootOfRotation(attn::RopeOp op) {
  auto split = op.getInput().getDefiningOp<attn::SplitHeadsOp>();
  return split ? split.getInput().getDefiningOp<attn::LinearOp>() : nullptr;
}

Operation *rootOfCast(CastRowsOp op) {
  Operation *producer = op.getInput().getDefiningOp();
  auto heads = dyn_cast_or_null<attn::MergeHeadsOp>(producer);
  auto attention = heads ? heads.getInput().getDefiningOp<attn::AttentionOp>() : attn::AttentionOp();
  return attention ? attention.getOperation() : producer;
}

constexpr llvm::StringLiteral kNoTiles = "the CPU's tiles do not take the matmul that would compute it";

/// Both halves of a gated linear unit: their columns lie alike, so a task computes a tile of both, and the half that
/// only the epilogue reads is never stored.
StringRef notLegalBecause(attn::LinearOp op) {
  if (!op.getResult().hasOneUse())
    return "it is read by more than one op";
  attn::LinearOp root = rootOfMatmul(op);
  if (!root || !llvm::is_contained(root.getExtras(), op.getResult()))
    return "no epilogue of a matmul reads it";
  if (root->getBlock() != op->getBlock())
    return "the matmul that reads it is in another block";
  if (root.getInput() != op.getInput() || root.getGroups() != op.getGroups())
    return "the two matmuls read different activations";
  if (root.getWeight().getType() != op.getWeight().getType() || root.getTransposed() != op.getTransposed() ||
      root.getLayout() != op.getLayout() || root.getResult().getType() != op.getResult().getType())
    return "the two matmuls have weights or results of different types";
  RankedTensorType result = root.getResult().getType();
  if (result.isDynamicDim(1) || result.getDimSize(1) % kPanel != 0)
    return "its columns do not fill whole packed panels";
  if (llvm::any_of(op.getExtras(), [](Value extra) { return cast<RankedTensorType>(extra.getType()).getRank() != 1; }))
    return "its epilogue reads more than vectors";
  for (Value extra : root.getExtras())
    if (Operation *other = extra.getDefiningOp();
        other != op && isa_and_nonnull<attn::LinearOp>(other) && cpu::isFused(other))
      return "another matmul is fused into the one that reads it";
  return cpu::whyNotTiled(root).empty() ? "" : kNoTiles;
}

/// A task that computes whole heads rotates them where they lie.
StringRef notLegalBecause(attn::RopeOp op) {
  attn::LinearOp root = rootOfRotation(op);
  if (!root)
    return "no matmul makes its heads";
  auto split = op.getInput().getDefiningOp<attn::SplitHeadsOp>();
  if (split.getHeads().size() != 1)
    return "the matmul's columns are heads of several kinds";
  if (!op.getInput().hasOneUse() || !root.getResult().hasOneUse())
    return "the heads are read before they are rotated";
  if (root->getBlock() != op->getBlock())
    return "the matmul that makes its heads is in another block";
  RankedTensorType heads = op.getInput().getType();
  if (heads.isDynamicDim(2) || heads.getDimSize(2) % kPanel != 0)
    return "its heads do not fill whole packed panels";
  for (Value table : {op.getCosines(), op.getSines()})
    if (Operation *maker = table.getDefiningOp();
        maker && maker->getBlock() == root->getBlock() && root->isBeforeInBlock(maker))
      return "its angles are computed after the matmul";
  return cpu::whyNotTiled(root).empty() ? "" : kNoTiles;
}

/// An op that writes rows writes them in bf16, beside f32 if another op reads them so.
StringRef notLegalBecause(CastRowsOp op) {
  Operation *root = rootOfCast(op);
  if (!root || root->getBlock() != op->getBlock())
    return "no op of the same block makes its rows";
  if (op.getInput().getType().getShape() != op.getResult().getType().getShape())
    return "it pads the rows with columns of zeros";
  if (llvm::any_of(op.getInput().getUsers(),
                   [&](Operation *user) { return user != op && isa<CastRowsOp>(user) && cpu::isFused(user); }))
    return "another cast of its rows is fused into the op that makes them";
  auto channels = dyn_cast<attn::ChannelsOpInterface>(root);
  if (channels && channels.getRowAccess() == attn::RowAccess::same)
    return "";
  if (!op.getInput().hasOneUse())
    return "its rows are read in f32, too";
  if (auto linear = dyn_cast<attn::LinearOp>(root)) {
    if (linear.getEpilogue().empty())
      return "the matmul that makes its rows has no epilogue";
    if (linear.isOfHeads())
      return "the matmul that makes its rows is of heads";
    return cpu::whyNotTiled(linear).empty() ? "" : kNoTiles;
  }
  auto attention = dyn_cast<attn::AttentionOp>(root);
  if (!attention)
    return "the op that makes its rows writes f32";
  if (!attention.getResult().hasOneUse())
    return "its rows are read in f32, too";
  return cpu::whyNotTiled(attention).empty() ? "" : "the CPU's tiles do not take the attention that makes its rows";
}

} // namespace

Operation *cpu::rootOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Operation *>(op)
      .Case([](attn::LinearOp matmul) { return rootOfMatmul(matmul); })
      .Case([](attn::RopeOp rope) { return rootOfRotation(rope); })
      .Case([](CastRowsOp cast) { return rootOfCast(cast); })
      .Default([](Operation *) { return nullptr; });
}

StringRef cpu::notLegalBecause(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<attn::LinearOp, attn::RopeOp, CastRowsOp>([](auto own) { return ::notLegalBecause(own); })
      .Default([](Operation *) { return StringRef("it is an op that is never fused"); });
}

LogicalResult cpu::verifyFusions(Operation *root) {
  const WalkResult result = root->walk([](Operation *op) {
    StringRef why = isFused(op) ? cpu::notLegalBecause(op) : "";
    if (why.empty())
      return WalkResult::advance();
    op->emitOpError() << "has '" << AttnCPUDialect::fusedIntoAttr << "', which is not legal, since " << why;
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
