//===- Recurrence.cpp - Schedules of attn.recurrence ------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Target/CPU/Schedule/Choices.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;

/// Sequences of a tile, which share one read of the weight per time step. With fewer, reading the weight from L3 takes
/// longer than the matmul.
constexpr int64_t kRows = 8;
/// The limit of sequences of a tile: code is unrolled over them.
constexpr int64_t kMostRows = 32;

int64_t cpu::recurrenceRows() { return kRows; }

static bool hasVnniWeight(attn::RecurrenceOp op) { return attn_cpu::isInterleaved(op.getLayout()); }

std::string cpu::whyNotTiled(attn::RecurrenceOp op) {
  if (op.getHidden() % attn_cpu::kPanel == 0)
    return "";
  return "its hidden size " + std::to_string(op.getHidden()) + " is no multiple of " + std::to_string(attn_cpu::kPanel);
}

RecurrenceSchedule cpu::chooseRecurrence(attn::RecurrenceOp op, const TargetInfo &target) {
  return {kRows, chooseKernel(target, hasVnniWeight(op))};
}

LogicalResult cpu::verifyRecurrence(attn::RecurrenceOp op, const RecurrenceSchedule &schedule,
                                    const TargetInfo &target) {
  if (failed(verifyMost(op, "rows", schedule.rows, kMostRows)))
    return failure();
  return verifyKernel(op, schedule.kernel, {.vnni = hasVnniWeight(op)}, target);
}
