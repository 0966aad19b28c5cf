//===- Schedule.cpp - Schedules of matmuls on tensor cores --------------------------------===//
#include "lib/Target/CUDA/Linear/Linear.h"
#include "lib/Target/CUDA/Passes.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDASCHEDULELINEAR
#include "lib/Target/CUDA/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::cuda;

namespace {

constexpr llvm::StringLiteral kTensorCores = "tensor_cores", kRows = "rows", kColumns = "columns", kDepth = "depth",
                              kWarps = "warps", kStages = "stages", kFew = "few";

/// With few rows the weight is what takes time: it is read once, and more of it is under way.
constexpr LinearTiles kManyRows{.rows = 64, .columns = 64, .depth = 64, .warps = 4, .stages = 3},
    kFewRows{.rows = 16, .columns = 64, .depth = 64, .warps = 4, .stages = 5};

/// Why an op has no schedule on tensor cores; empty: it has one.
std::string refusal(attn::LinearOp op) {
  Type input = op.getInput().getType().getElementType(), weight = op.getWeight().getType().getElementType();
  if (op.getLayout())
    return "its weight is in a layout of another target";
  if (!input.isBF16() && !input.isF16())
    return "tensor cores take inputs of bf16 or f16";
  if (weight != input)
    return "input and weight have different element types";
  return "";
}

struct SetLinearSchedule : rapt::impl::AttnCUDAScheduleLinearBase<SetLinearSchedule> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    const TargetInfo machine = TargetInfo::of(getOperation());
    getOperation()->walk([&](attn::LinearOp op) {
      std::string reason;
      std::optional<LinearSchedule> schedule = chooseLinear(op, machine, reason);
      if (!schedule)
        return remarkNeutral(op.getLoc(), reason);
      NamedAttribute entry(StringAttr::get(&getContext(), kTensorCores),
                           schedule->tiles.toAttr(&getContext(), schedule->few));
      op->setAttr(attn::AttnDialect::scheduleAttr, neutral::scheduleOf(&getContext(), entry));
    });
  }
};

} // namespace

attn::ScheduleAttr LinearTiles::toAttr(MLIRContext *context, std::optional<LinearTiles> few) const {
  Builder b(context);
  auto entry = [&](StringRef name, int64_t number) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(number)); };
  SmallVector<NamedAttribute> entries{entry(kRows, rows), entry(kColumns, columns), entry(kDepth, depth),
                                      entry(kWarps, warps), entry(kStages, stages)};
  if (few)
    entries.push_back(b.getNamedAttr(kFew, few->toAttr(context)));
  return neutral::scheduleOf(context, entries);
}

std::optional<LinearTiles> LinearTiles::of(attn::ScheduleAttr schedule) {
  std::optional<int64_t> numbers[] = {schedule.getNumber(kRows), schedule.getNumber(kColumns),
                                      schedule.getNumber(kDepth), schedule.getNumber(kWarps),
                                      schedule.getNumber(kStages)};
  if (!llvm::all_of(numbers, [](const std::optional<int64_t> &number) { return number.has_value(); }))
    return std::nullopt;
  return LinearTiles{*numbers[0], *numbers[1], *numbers[2], *numbers[3], *numbers[4]};
}

attn::ScheduleAttr LinearSchedule::attributeOf(attn::LinearOp op) {
  attn::ScheduleAttr all = attn::ScheduleAttr::of(op);
  return all ? all.getNested(kTensorCores) : attn::ScheduleAttr();
}

FailureOr<LinearSchedule> LinearSchedule::of(attn::LinearOp op) {
  attn::ScheduleAttr own = attributeOf(op), ofFew = own.getNested(kFew);
  std::optional<LinearTiles> tiles = LinearTiles::of(own), few = ofFew ? LinearTiles::of(ofFew) : std::nullopt;
  if (!tiles || (ofFew && !few))
    return op.emitOpError() << "has a schedule on tensor cores without '" << kRows << "', '" << kColumns << "', '"
                            << kDepth << "', '" << kWarps << "' or '" << kStages << "'";
  return LinearSchedule{*tiles, few};
}

std::optional<LinearSchedule> cuda::chooseLinear(attn::LinearOp op, const TargetInfo &, std::string &reason) {
  reason = refusal(op);
  if (!reason.empty())
    return std::nullopt;
  const int64_t rows = op.getResult().getType().getDimSize(0);
  if (ShapedType::isDynamic(rows))
    return LinearSchedule{kManyRows, kFewRows};
  return LinearSchedule{rows <= kFewRows.rows ? kFewRows : kManyRows, std::nullopt};
}
