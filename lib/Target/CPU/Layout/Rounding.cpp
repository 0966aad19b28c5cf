//===- Rounding.cpp - Rows that are written rounded -----------------------------------------===//
#include "lib/Target/CPU/Layout/Rounding.h"
#include "dialect/AttnCPU/AttnCPU.h"

using namespace mlir;
using namespace rapt;

StringRef rapt::obstacleOfRounding(attn_cpu::CastRowsOp rounding) {
  Value rows = rounding.getInput();
  Operation *writer = rows.getDefiningOp();
  if (!writer || writer->getBlock() != rounding->getBlock())
    return "its rows are made in no op of the same block";
  if (rounding.getInput().getType().getShape() != rounding.getResult().getType().getShape())
    return "its rows get columns of zeros";
  // Ops on whole rows write them in both types where both are read.
  if (auto channels = dyn_cast<attn::ChannelsOpInterface>(writer);
      channels && channels.getRowAccess() == attn::RowAccess::same)
    return "";
  if (!rows.hasOneUse())
    return "its rows are read otherwise, too";
  if (auto product = dyn_cast<attn::LinearOp>(writer))
    return product.getEpilogue().empty() ? "its rows are of a product without an epilogue" : "";
  auto heads = dyn_cast<attn::MergeHeadsOp>(writer);
  auto attention = heads ? heads.getInput().getDefiningOp<attn::AttentionOp>() : attn::AttentionOp();
  if (!attention || attention->getBlock() != rounding->getBlock())
    return "its rows are made by an op that writes f32";
  return attention.getResult().hasOneUse() ? "" : "its rows are read otherwise, too";
}

attn_cpu::CastRowsOp rapt::roundingOf(Value result) {
  for (Operation *user : result.getUsers()) {
    if (auto heads = dyn_cast<attn::MergeHeadsOp>(user); heads && result.getDefiningOp<attn::AttentionOp>())
      return roundingOf(heads.getResult());
    if (auto rounding = dyn_cast<attn_cpu::CastRowsOp>(user); rounding && obstacleOfRounding(rounding).empty())
      return rounding;
  }
  return nullptr;
}
