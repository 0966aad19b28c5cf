//===- ColumnGroups.cpp - Columns that are padded in parts -----------------------------===//
#include "lib/Transforms/ColumnGroups.h"
#include "dialect/Attn/AttnOps.h"
#include "lib/Artifact/Panels.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rapt;

int64_t rapt::columnGroupOf(int64_t columns) { return columns % artifact::panelWidth == 0 ? 0 : columns; }

/// Columns of a part of `value` as `op`, which makes or reads it, knows them; 0 where it knows no parts.
static int64_t groupAt(Operation *op, Value value) {
  auto channels = dyn_cast_or_null<attn::ChannelsOpInterface>(op);
  return channels ? channels.getChannelGroup(value) : 0;
}

int64_t rapt::columnGroup(Value value) {
  if (int64_t group = groupAt(value.getDefiningOp(), value))
    return columnGroupOf(group);
  SetVector<Value> sums;
  sums.insert(value);
  for (unsigned i = 0; i < sums.size(); ++i)
    for (Operation *user : sums[i].getUsers()) {
      if (int64_t group = groupAt(user, sums[i]))
        return columnGroupOf(group);
      auto linear = dyn_cast<attn::LinearOp>(user);
      if (isa<attn::EpilogueOpInterface>(user) || (linear && llvm::is_contained(linear.getExtras(), sums[i])))
        sums.insert(user->getResult(0));
    }
  return 0;
}
