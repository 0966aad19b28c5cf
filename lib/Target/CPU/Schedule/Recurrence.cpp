//===- Recurrence.cpp - Schedules of attn.recurrence ------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Target/CPU/Schedule/Choices.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;

/// Sequences that advance together. Reading the weight from a third-level cache takes longer than multiplying it by
/// this many.
constexpr int64_t kRows = 8;
/// Most of them: a time step is unrolled over them.
constexpr int64_t kMostRows = 32;

int64_t cpu::recurrenceRows() { return kRows; }

static bool hasVnniWeight(attn::RecurrenceOp op) { return attn_cpu::isInterleaved(op.getLayout()); }

std::string cpu::whyNotTiled(attn::RecurrenceOp op) {
  if (op.getHidden() % attn_cpu::kPanel == 0)
    return "";
  return "its hidden size " + std::to_string(op.getHidden()) + " is no multiple of " +
         std::to_string(attn_cpu::kPanel) + ", as the CPU's code needs";
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
