//===- LinearAttention.cpp - Schedules of attn.linear_attention -------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Choices.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;

/// The limits of tokens that are taken at once and of unrolled key channels: code is unrolled over them.
constexpr int64_t kMostTokens = 8, kMostKeys = 16, kMostChunk = 1024;

std::string cpu::whyNotTiled(attn::LinearAttentionOp op) {
  if (op.getValueChannels() % attn_cpu::kPanel == 0)
    return "";
  return "its " + std::to_string(op.getValueChannels()) + " value channels are no multiple of " +
         std::to_string(attn_cpu::kPanel);
}

/// Tokens whose keys and queries, in f32, fit L2 beside a state.
constexpr int64_t kChunk = 64;

/// Each token has a sum for its key and one for its query, which are as wide as a panel. Where these are 2 registers,
/// two tokens share a pass over the state, or two key channels of one token have sums of their own: 8 chains hide the
/// latency of a multiply-add. Where they are 4, one token fills the registers.
attn_cpu::LinearAttentionScheduleAttr cpu::chooseLinearAttention(attn::LinearAttentionOp op, const TargetInfo &target) {
  const bool isWide = target.vectorRegisters > kFewRegisters;
  int64_t single = isWide ? 4 * attn_cpu::kPanel : attn_cpu::kPanel;
  while (op.getValueChannels() % single != 0)
    single /= 2;
  const int64_t tokens = isWide ? 2 : 1, keys = isWide && op.getKeyChannels() % 2 == 0 ? 2 : 1;
  return attn_cpu::LinearAttentionScheduleAttr::get(op.getContext(), kChunk, attn_cpu::kPanel, keys, single, tokens);
}

LogicalResult cpu::verifyLinearAttention(attn::LinearAttentionOp op, attn_cpu::LinearAttentionScheduleAttr schedule,
                                         const TargetInfo &) {
  for (auto [name, columns] : {std::pair("columns", schedule.getColumns()), std::pair("single", schedule.getSingle())})
    if (columns < 1 || columns % attn_cpu::kPanel != 0 || op.getValueChannels() % columns != 0)
      return faultOf(op, name) << "be a multiple of " << attn_cpu::kPanel << " that divides the "
                               << op.getValueChannels() << " value channels, found " << columns;
  if (schedule.getChunk() < schedule.getTokens() || schedule.getChunk() > kMostChunk)
    return faultOf(op, "chunk") << "be from " << schedule.getTokens() << ", its tokens, to " << kMostChunk << ", found "
                                << schedule.getChunk();
  if (failed(verifyMost(op, "tokens", schedule.getTokens(), kMostTokens)) ||
      failed(verifyMost(op, "keys", schedule.getKeys(), kMostKeys)))
    return failure();
  if (op.getKeyChannels() % schedule.getKeys() != 0)
    return faultOf(op, "keys") << "divide the " << op.getKeyChannels() << " key channels, found " << schedule.getKeys();
  return success();
}
