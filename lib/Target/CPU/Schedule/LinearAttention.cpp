//===- LinearAttention.cpp - Schedules of attn.linear_attention -------------------------===//
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Schedule/Choices.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;

/// The limit of unrolled key channels.
constexpr int64_t kMostKeys = 16;

std::string cpu::whyNotTiled(attn::LinearAttentionOp op) {
  if (op.getValueChannels() % attn_cpu::kPanel == 0)
    return "";
  return "its " + std::to_string(op.getValueChannels()) + " value channels are no multiple of " +
         std::to_string(attn_cpu::kPanel);
}

/// Sums of several key channels at once hide the latency of a multiply-add: 4 of them times the vectors of a panel.
LinearAttentionSchedule cpu::chooseLinearAttention(attn::LinearAttentionOp op, const TargetInfo &target) {
  int64_t keys = 4;
  while (op.getKeyChannels() % keys != 0)
    keys /= 2;
  return {attn_cpu::kPanel, keys};
}

LogicalResult cpu::verifyLinearAttention(attn::LinearAttentionOp op, const LinearAttentionSchedule &schedule,
                                         const TargetInfo &) {
  if (schedule.columns < 1 || schedule.columns % attn_cpu::kPanel != 0 || op.getValueChannels() % schedule.columns != 0)
    return faultOf(op, "columns") << "be a multiple of " << attn_cpu::kPanel << " that divides the "
                                  << op.getValueChannels() << " value channels, found " << schedule.columns;
  if (failed(verifyMost(op, "keys", schedule.keys, kMostKeys)))
    return failure();
  if (op.getKeyChannels() % schedule.keys != 0)
    return faultOf(op, "keys") << "divide the " << op.getKeyChannels() << " key channels, found " << schedule.keys;
  return success();
}
