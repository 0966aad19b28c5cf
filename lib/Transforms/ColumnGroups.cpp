//===- ColumnGroups.cpp - Columns that come in parts ---------------------------------===//
#include "lib/Transforms/ColumnGroups.h"
#include "dialect/Attn/AttnOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace rapt;

/// Columns of a part of `value` as `op`, which makes or reads it, knows them; 0 where it knows no parts.
static int64_t groupAt(Operation *op, Value value) {
  auto channels = dyn_cast_or_null<attn::ChannelsOpInterface>(op);
  return channels ? channels.getChannelGroup(value) : 0;
}

int64_t rapt::columnGroup(Value value) {
  while (auto select = value.getDefiningOp<attn::SelectRowsOp>())
    value = select.getInput();
  if (int64_t group = groupAt(value.getDefiningOp(), value))
    return group;
  SetVector<Value> sums;
  sums.insert(value);
  for (unsigned i = 0; i < sums.size(); ++i)
    for (Operation *user : sums[i].getUsers()) {
      if (int64_t group = groupAt(user, sums[i]))
        return group;
      auto linear = dyn_cast<attn::LinearOp>(user);
      if (isa<attn::EpilogueOpInterface>(user) || (linear && llvm::is_contained(linear.getExtras(), sums[i])))
        sums.insert(user->getResult(0));
    }
  return 0;
}
