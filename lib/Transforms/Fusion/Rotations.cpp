//===- Rotations.cpp - Rotary embedding moves into the matmul that makes the heads -----------===//
#include "dialect/Attn/AttnOps.h"
#include "lib/Transforms/Fusion/Fusion.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace rapt;

namespace {

constexpr llvm::StringLiteral kRule = "fuse-rope";

attn::RopeOp rotationOf(Value heads) {
  for (Operation *user : heads.getUsers())
    if (auto rope = dyn_cast<attn::RopeOp>(user); rope && rope.getInput() == heads)
      return rope;
  return nullptr;
}

bool isAlike(attn::RopeOp a, attn::RopeOp b) {
  return a.getCosines() == b.getCosines() && a.getSines() == b.getSines() && a.getInterleaved() == b.getInterleaved();
}

/// The rotations of the first results of a split.
using Rotations = SmallVector<attn::RopeOp, 2>;

/// Why they cannot be one rotation, which a target may fuse into the matmul; empty where they can.
StringRef notLegalBecause(attn::SplitHeadsOp split, Rotations &found) {
  auto first = cast<RankedTensorType>(split.getHeads()[0].getType());
  for (Value heads : split.getHeads()) {
    attn::RopeOp rope = rotationOf(heads);
    if (cast<RankedTensorType>(heads.getType()).getRank() != 3 ||
        cast<RankedTensorType>(heads.getType()).getDimSize(2) != first.getDimSize(2))
      return "its heads are of several shapes";
    if (!rope)
      continue;
    if (heads != split.getHeads()[found.size()])
      return "heads that are not rotated come before those that are";
    if (!heads.hasOneUse() || rope.getHeads() || rope->getBlock() != split->getBlock())
      return "its heads are read otherwise, too";
    if (!found.empty() && !isAlike(found[0], rope))
      return "its heads are rotated by different angles";
    found.push_back(rope);
  }
  for (Value table : {found[0].getCosines(), found[0].getSines()})
    if (Operation *made = table.getDefiningOp();
        made && made->getBlock() == split->getBlock() && split->isBeforeInBlock(made))
      return "its angles are made later";
  auto matmul = split.getInput().getDefiningOp<attn::LinearOp>();
  if (!matmul || !matmul->hasOneUse() || matmul->getBlock() != split->getBlock())
    return "its heads are of no matmul that they alone read";
  return "";
}

/// Heads that are rotated and those beside them as heads of one tensor, in which the first are rotated. A matmul whose
/// only reader is that rotation does it with its tiles.
void fuse(attn::SplitHeadsOp split, Rotations &found) {
  OpBuilder b(split->getContext());
  b.setInsertionPointAfter(split);
  Location loc = split.getInput().getLoc();
  int64_t rotated = 0, count = 0;
  for (auto [i, heads] : llvm::enumerate(split.getHeads())) {
    count += cast<RankedTensorType>(heads.getType()).getDimSize(1);
    rotated = i < found.size() ? count : rotated;
  }
  remarkFused(loc, kRule, "one rotation, of " + Twine(rotated) + " of " + Twine(count) + " heads");
  if (split.getHeads().size() == 1)
    return;
  auto first = cast<RankedTensorType>(split.getHeads()[0].getType());
  auto type = RankedTensorType::get({first.getDimSize(0), count, first.getDimSize(2)}, first.getElementType());
  Value all = attn::SplitHeadsOp::create(b, loc, TypeRange{type}, split.getInput()).getHeads()[0];
  Value rotatedHeads =
      attn::RopeOp::create(b, loc, all, found[0].getCosines(), found[0].getSines(), found[0].getInterleaved(),
                           rotated < count ? b.getI64IntegerAttr(rotated) : nullptr);
  Value columns = attn::MergeHeadsOp::create(b, loc, split.getInput().getType(), rotatedHeads);
  auto parts = attn::SplitHeadsOp::create(b, loc, split.getResultTypes(), columns);
  for (auto [i, old, part] : llvm::enumerate(split.getHeads(), parts.getHeads()))
    (i < found.size() ? Value(found[i].getResult()) : Value(old)).replaceAllUsesWith(part);
  for (attn::RopeOp rope : found)
    rope.erase();
  split.erase();
}

} // namespace

void rapt::fuseRotations(ModuleOp module) {
  SmallVector<attn::SplitHeadsOp> splits;
  module.walk([&](attn::SplitHeadsOp split) {
    if (llvm::any_of(split.getHeads(), [](Value heads) { return rotationOf(heads) != nullptr; }))
      splits.push_back(split);
  });
  for (attn::SplitHeadsOp split : splits) {
    Rotations found;
    if (StringRef why = notLegalBecause(split, found); why.empty())
      fuse(split, found);
    else
      remarkNotFused(split.getInput().getLoc(), kRule, why);
  }
}
