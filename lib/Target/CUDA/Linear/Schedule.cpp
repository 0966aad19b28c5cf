//===- Schedule.cpp - Schedules of matmuls on tensor cores --------------------------------===//
#include "lib/Target/CUDA/Linear/Linear.h"
#include "lib/Target/CUDA/Linear/Quantized.h"
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

constexpr llvm::StringLiteral kTensorCores = "tensor_cores", kFewRows = "few_rows", kManyRows = "many_rows";
constexpr llvm::StringLiteral kRows = "rows", kColumns = "columns", kDepth = "depth", kWarps = "warps",
                              kStages = "stages", kLeast = "least";

constexpr LinearTiles kTiles{.rows = 64, .columns = 64, .depth = 64, .warps = 4, .stages = 3};
/// With few rows the weight is what takes time. It is read once, by many blocks, each of which has 32 KiB under way.
constexpr LinearTiles kFewTiles{.rows = 16, .columns = 32, .depth = 128, .warps = 2, .stages = 5};
/// Large tiles read less, but there must be as many as a GPU has multiprocessors.
constexpr LinearTiles kManyTiles{.rows = 128, .columns = 128, .depth = 32, .warps = 8, .stages = 4};
constexpr int64_t kMultiprocessors = 128;
/// Quantized weights: a step has 128 of k, and one of few rows 2 to 4 KiB of the weight.
constexpr int64_t kQuantizedDepth = attn_gpu::QuantizedLinearTileOp::kDepth;
constexpr LinearTiles kQuantizedTiles{.rows = 64, .columns = 64, .depth = kQuantizedDepth, .warps = 4, .stages = 3};
constexpr LinearTiles kFewQuantized{.rows = 16, .columns = 32, .depth = kQuantizedDepth, .warps = 2, .stages = 8};
constexpr LinearTiles kManyQuantized{.rows = 128, .columns = 128, .depth = kQuantizedDepth, .warps = 8, .stages = 3};

/// The fewest rows of which large tiles are enough; 0: no number is.
int64_t leastOfMany(int64_t columns) {
  if (ShapedType::isDynamic(columns) || columns < kManyTiles.columns)
    return 0;
  const int64_t across = llvm::divideCeil(columns, kManyTiles.columns);
  return int64_t(llvm::divideCeil(kMultiprocessors, across)) * kManyTiles.rows;
}

/// Why an op has no schedule on tensor cores; empty: it has one.
std::string refusal(attn::LinearOp op) {
  Type input = op.getInput().getType().getElementType(), weight = op.getWeight().getType().getElementType();
  if (op.isQuantized()) {
    if (!panelsOf(op) || !op.getWeight().getDefiningOp<attn::ParameterSliceOp>())
      return "tensor cores take a quantized weight in panels of the weight file";
    return op.getInput().getDefiningOp<attn::QuantizeRowsOp>() ? "" : "its rows are quantized elsewhere";
  }
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
      op->setAttr(attn::AttnDialect::scheduleAttr, schedule->toAttr(&getContext()));
    });
  }
};

} // namespace

/// The tiles of a nested schedule; none where a number is missing.
static std::optional<LinearTiles> tilesOf(attn::ScheduleAttr schedule) {
  std::optional<int64_t> numbers[] = {schedule.getNumber(kRows), schedule.getNumber(kColumns),
                                      schedule.getNumber(kDepth), schedule.getNumber(kWarps),
                                      schedule.getNumber(kStages)};
  if (!llvm::all_of(numbers, [](const std::optional<int64_t> &number) { return number.has_value(); }))
    return std::nullopt;
  return LinearTiles{*numbers[0], *numbers[1], *numbers[2],
                     *numbers[3], *numbers[4], schedule.getNumber(kLeast).value_or(0)};
}

attn::ScheduleAttr LinearTiles::toAttr(MLIRContext *context) const {
  Builder b(context);
  auto entry = [&](StringRef name, int64_t number) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(number)); };
  SmallVector<NamedAttribute> entries{entry(kRows, rows), entry(kColumns, columns), entry(kDepth, depth),
                                      entry(kWarps, warps), entry(kStages, stages)};
  if (least)
    entries.push_back(entry(kLeast, least));
  return neutral::scheduleOf(context, entries);
}

attn::ScheduleAttr LinearSchedule::toAttr(MLIRContext *context) const {
  Builder b(context);
  SmallVector<NamedAttribute> entries{b.getNamedAttr(kTensorCores, tiles.toAttr(context))};
  if (few)
    entries.push_back(b.getNamedAttr(kFewRows, few->toAttr(context)));
  if (many)
    entries.push_back(b.getNamedAttr(kManyRows, many->toAttr(context)));
  return neutral::scheduleOf(context, entries);
}

bool LinearSchedule::isIn(attn::LinearOp op) {
  attn::ScheduleAttr all = attn::ScheduleAttr::of(op);
  return all && all.getNested(kTensorCores);
}

FailureOr<LinearSchedule> LinearSchedule::of(attn::LinearOp op) {
  // Text may have the schedule on any op.
  if (std::string reason = refusal(op); !reason.empty())
    return op.emitOpError() << "has a schedule '" << kTensorCores << "', but " << reason;
  attn::ScheduleAttr all = attn::ScheduleAttr::of(op);
  std::optional<LinearTiles> tiles[3];
  for (auto [name, of] : llvm::zip_equal(ArrayRef{kTensorCores, kFewRows, kManyRows}, tiles)) {
    attn::ScheduleAttr nested = all.getNested(name);
    if (nested && !(of = tilesOf(nested)))
      return op.emitOpError() << "has a schedule '" << name << "' without '" << kRows << "', '" << kColumns << "', '"
                              << kDepth << "', '" << kWarps << "' or '" << kStages << "'";
  }
  for (const std::optional<LinearTiles> &each : tiles)
    if (op.isQuantized() && each && each->depth != kQuantizedDepth)
      return op.emitOpError() << "has a quantized weight and a schedule of steps of " << each->depth << "; those of "
                              << kQuantizedDepth << " are known";
  if (tiles[2] && tiles[2]->least == 0)
    return op.emitOpError() << "has a schedule '" << kManyRows << "' without '" << kLeast << "'";
  return LinearSchedule{*tiles[0], tiles[1], tiles[2]};
}

std::optional<LinearSchedule> cuda::chooseLinear(attn::LinearOp op, const TargetInfo &, std::string &reason) {
  reason = refusal(op);
  if (!reason.empty())
    return std::nullopt;
  const int64_t rows = op.getResult().getType().getDimSize(0);
  const bool isQuantized = op.isQuantized();
  const LinearTiles &tiles = isQuantized ? kQuantizedTiles : kTiles, &few = isQuantized ? kFewQuantized : kFewTiles;
  LinearTiles many = isQuantized ? kManyQuantized : kManyTiles;
  many.least = leastOfMany(op.getResult().getType().getDimSize(1));
  if (ShapedType::isDynamic(rows))
    return LinearSchedule{tiles, few, many.least ? std::optional(many) : std::nullopt};
  const bool areMany = many.least && rows >= many.least;
  many.least = 0; // one kind of tiles
  return LinearSchedule{rows <= few.rows ? few : areMany ? many : tiles, std::nullopt, std::nullopt};
}
