//===- ColumnGroups.cpp - Columns that are padded in parts -----------------------------===//
#include "lib/Transforms/ColumnGroups.h"
#include "dialect/Attn/AttnOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rapt;

int64_t rapt::columnGroupOf(int64_t columns) { return columns % attn::kPanel == 0 ? 0 : columns; }

int64_t rapt::columnGroup(Value value) {
  auto channels = [](Type type) { return columnGroupOf(cast<RankedTensorType>(type).getShape().back()); };
  if (auto merge = value.getDefiningOp<attn::MergeHeadsOp>())
    return channels(merge.getInput().getType());
  SetVector<Value> sums;
  sums.insert(value);
  for (unsigned i = 0; i < sums.size(); ++i)
    for (Operation *user : sums[i].getUsers()) {
      if (auto split = dyn_cast<attn::SplitHeadsOp>(user))
        return channels(split.getHeads()[0].getType());
      if (auto recurrence = dyn_cast<attn::RecurrenceOp>(user); recurrence && recurrence.getGates() == sums[i])
        return columnGroupOf(recurrence.getHidden());
      auto linear = dyn_cast<attn::LinearOp>(user);
      if (isa<attn::AddOp>(user) || (linear && llvm::is_contained(linear.getExtras(), sums[i])))
        sums.insert(user->getResult(0));
    }
  return 0;
}
