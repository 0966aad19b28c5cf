//===- Recurrence.cpp - Schedules of attn.recurrence ------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/Panels.h"
#include "dialect/AttnCPU/QuantizedLayout.h"
#include "lib/Analysis/Cost.h"
#include "lib/Target/CPU/Schedule/Choices.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;

/// Sequences of a tile, which share one read of the weight per time step. With fewer, reading the weight from L3 takes
/// longer than the matmul.
constexpr int64_t kSequences = 8;
/// The limit of sequences of a tile: code is unrolled over them.
constexpr int64_t kMostRows = 32;

static bool hasVnniWeight(attn::RecurrenceOp op) { return attn_cpu::isInterleaved(op.getLayout()); }

std::string cpu::whyNotTiled(attn::RecurrenceOp op) {
  if (op.getHidden() % attn_cpu::kPanel == 0)
    return "";
  return "its hidden size " + std::to_string(op.getHidden()) + " is no multiple of " + std::to_string(attn_cpu::kPanel);
}

attn_cpu::RecurrenceScheduleAttr cpu::chooseRecurrence(attn::RecurrenceOp op, const TargetInfo &target) {
  MLIRContext *context = op.getContext();
  return attn_cpu::RecurrenceScheduleAttr::get(context, chooseKernel(target, hasVnniWeight(op)).get(context),
                                               kSequences);
}

LogicalResult cpu::verifyRecurrence(attn::RecurrenceOp op, attn_cpu::RecurrenceScheduleAttr schedule,
                                    const TargetInfo &target) {
  if (failed(verifyMost(op, "rows", schedule.getRows(), kMostRows)))
    return failure();
  return verifyKernel(op, schedule.getKernel(), {.vnni = hasVnniWeight(op)}, target);
}

void cpu::setRowsOfSteps(Operation *module) {
  module->walk([](FunctionOpInterface entry) {
    SmallVector<std::pair<Operation *, int64_t>> recurrences;
    entry.walk([&](attn::RecurrenceOp op) {
      auto schedule = attn::scheduleOf<attn_cpu::RecurrenceScheduleAttr>(op);
      recurrences.emplace_back(op, schedule ? schedule.getRows() : 1);
    });
    if (!recurrences.empty())
      rapt::setRowsOfSteps(entry, recurrences);
  });
}
