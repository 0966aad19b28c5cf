//===- Schedule.cpp - Schedules of matmuls on tensor cores --------------------------------===//
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/Linear/Quantized.h"
#include "lib/Target/GPU/Passes.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDASCHEDULELINEAR
#include "lib/Target/GPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::cuda;

namespace {

constexpr llvm::StringLiteral kTensorCores = "tensor_cores", kMultiplyAdds = "multiply_adds", kFewRows = "few_rows",
                              kManyRows = "many_rows", kMostRows = "most_rows";
constexpr llvm::StringLiteral kRows = "rows", kColumns = "columns", kDepth = "depth", kWarps = "warps",
                              kStages = "stages", kParts = "parts", kLeast = "least", kTF32 = "tf32", kWgmma = "wgmma",
                              kBlocks = "blocks", kGroup = "group", kShare = "share", kRotates = "rotates";

constexpr LinearTiles kTiles{.rows = 64, .columns = 64, .depth = 64, .warps = 4, .stages = 3};
/// With few rows the weight is what takes time. It is read once, by many blocks, each of which has 32 KiB or more of it
/// under way. The warps of a block share k: one after the other, the matmul instructions of a long row take longer than
/// the row's copy. Where narrow tiles are as many as multiprocessors, wide ones read the input less often.
constexpr LinearTiles kFewTiles{.rows = 16, .columns = 16, .depth = 256, .warps = 4, .stages = 5, .parts = 4};
constexpr LinearTiles kFewWideTiles{.rows = 16, .columns = 32, .depth = 256, .warps = 4, .stages = 4, .parts = 4};
constexpr int64_t kShortDepth = 128; ///< of a step where k is not longer
/// Large tiles read less, but there must be as many as a GPU has multiprocessors.
constexpr LinearTiles kManyTiles{.rows = 128, .columns = 128, .depth = 32, .warps = 8, .stages = 4};
constexpr int64_t kMultiprocessors = 128;
/// Tiles of sm_90a. Two warpgroups have half of the rows each, and read the same columns of the weight. Rings have 192
/// KiB. The thread blocks are those of an H100 or H200; at a time they have about as many rows as columns, so that they
/// read the least from memory.
constexpr int64_t kBlocksOfGPU = 132;
constexpr LinearTiles kCommonWgmma{.rows = 128,
                                   .columns = 64,
                                   .depth = 64,
                                   .warps = 8,
                                   .stages = 8,
                                   .wgmma = true,
                                   .blocks = kBlocksOfGPU,
                                   .group = 8};
constexpr LinearTiles kManyWgmma{.rows = 128,
                                 .columns = 128,
                                 .depth = 64,
                                 .warps = 8,
                                 .stages = 6,
                                 .wgmma = true,
                                 .blocks = kBlocksOfGPU,
                                 .group = 12};
constexpr LinearTiles kMostWgmma{.rows = 128,
                                 .columns = 256,
                                 .depth = 64,
                                 .warps = 8,
                                 .stages = 4,
                                 .wgmma = true,
                                 .blocks = kBlocksOfGPU,
                                 .group = 16,
                                 .share = 88}; // they multiply a third more for each byte that is copied
/// Quantized weights: a step has 128 of k, and one of few rows 2 to 4 KiB of the weight.
constexpr int64_t kQuantizedDepth = attn_gpu::QuantizedLinearTileOp::kDepth;
constexpr LinearTiles kQuantizedTiles{.rows = 64, .columns = 64, .depth = kQuantizedDepth, .warps = 4, .stages = 3};
constexpr LinearTiles kFewQuantized{.rows = 16, .columns = 32, .depth = kQuantizedDepth, .warps = 2, .stages = 8};
constexpr LinearTiles kManyQuantized{.rows = 128, .columns = 128, .depth = kQuantizedDepth, .warps = 8, .stages = 3};

/// Tiles of f32, whose elements take twice the shared memory. Large ones multiply so long that one step ahead is
/// enough.
constexpr LinearTiles kFloatTiles{.rows = 64, .columns = 64, .depth = 32, .warps = 4, .stages = 3};
constexpr LinearTiles kFewFloatTiles{.rows = 16, .columns = 16, .depth = 128, .warps = 4, .stages = 5, .parts = 4};
constexpr LinearTiles kFewWideFloatTiles{.rows = 16, .columns = 32, .depth = 128, .warps = 4, .stages = 4, .parts = 4};
constexpr LinearTiles kManyFloatTiles{.rows = 128, .columns = 128, .depth = 32, .warps = 8, .stages = 2};

/// The fewest rows of which large tiles are enough; 0: no number is.
int64_t leastOf(const LinearTiles &tiles, int64_t columns) {
  if (ShapedType::isDynamic(columns) || columns < tiles.columns)
    return 0;
  const int64_t across = llvm::divideCeil(columns, tiles.columns);
  return int64_t(llvm::divideCeil(kMultiprocessors, across)) * tiles.rows;
}

/// Why an op has no schedule on tensor cores; empty: it has one.
std::string refusal(attn::LinearOp op) {
  Type input = op.getInput().getType().getElementType(), weight = op.getWeight().getType().getElementType();
  if (op.getGroups())
    return "its rows have a matrix of several each";
  if (op.isOfHeads())
    return "its heads have a matrix each";
  if (op.isQuantized()) {
    if (!panelsOf(op) || !op.getWeight().getDefiningOp<attn::ParameterSliceOp>())
      return "tensor cores take a quantized weight in panels of the weight file";
    return op.getInput().getDefiningOp<attn::QuantizeRowsOp>() ? "" : "its rows are quantized elsewhere";
  }
  if (op.getLayout())
    return "its weight is in a layout of another target";
  if (!isa<FloatType>(input) || !isa<FloatType>(weight))
    return "its elements are quantized";
  if (op.getInput().getType().getDimSize(1) == 0)
    return "its sums have no terms";
  return "";
}

/// Whether numbers are multiplied as f32.
bool multipliesFloats(attn::LinearOp op) {
  Type input = op.getInput().getType().getElementType();
  return !op.isQuantized() && (input.isF32() || input != op.getWeight().getType().getElementType());
}

/// Whether numbers are multiplied by fused multiply-adds.
bool multipliesAdds(attn::LinearOp op, const LinearTiles &tiles) { return multipliesFloats(op) && tiles.tf32 == 0; }

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
      StringRef why;
      schedule->rotation = rotationOf(op, why);
      if (schedule->rotation)
        remarkFused(op.getLoc(), "fuse-rotation", "the tiles of the matmul that makes the heads rotate them");
      else if (!why.empty())
        remarkNotFused(op.getLoc(), "fuse-rotation", why);
      op->setAttr(attn::AttnDialect::scheduleAttr,
                  schedule->toAttr(&getContext(), multipliesAdds(op, schedule->tiles)));
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
  return LinearTiles{*numbers[0],
                     *numbers[1],
                     *numbers[2],
                     *numbers[3],
                     *numbers[4],
                     schedule.getNumber(kParts).value_or(1),
                     schedule.getNumber(kLeast).value_or(0),
                     schedule.getNumber(kTF32).value_or(0),
                     schedule.getNumber(kWgmma).value_or(0) != 0,
                     schedule.getNumber(kBlocks).value_or(0),
                     schedule.getNumber(kGroup).value_or(0),
                     schedule.getNumber(kShare).value_or(0)};
}

attn::ScheduleAttr LinearTiles::toAttr(MLIRContext *context) const {
  Builder b(context);
  auto entry = [&](StringRef name, int64_t number) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(number)); };
  SmallVector<NamedAttribute> entries{entry(kRows, rows), entry(kColumns, columns), entry(kDepth, depth),
                                      entry(kWarps, warps), entry(kStages, stages)};
  if (parts > 1)
    entries.push_back(entry(kParts, parts));
  const std::pair<StringRef, int64_t> others[] = {{kLeast, least},   {kTF32, tf32},   {kWgmma, wgmma},
                                                  {kBlocks, blocks}, {kGroup, group}, {kShare, share}};
  for (auto [name, number] : others)
    if (number)
      entries.push_back(entry(name, number));
  return neutral::scheduleOf(context, entries);
}

attn::ScheduleAttr LinearSchedule::toAttr(MLIRContext *context, bool ofMultiplyAdds) const {
  Builder b(context);
  SmallVector<NamedAttribute> entries{
      b.getNamedAttr(ofMultiplyAdds ? kMultiplyAdds : kTensorCores, tiles.toAttr(context))};
  const std::pair<StringRef, const std::optional<LinearTiles> &> others[] = {
      {kFewRows, few}, {kManyRows, many}, {kMostRows, most}};
  for (const auto &[name, nested] : others)
    if (nested)
      entries.push_back(b.getNamedAttr(name, nested->toAttr(context)));
  if (rotation)
    entries.push_back(b.getNamedAttr(kRotates, b.getDenseI64ArrayAttr(1)));
  return neutral::scheduleOf(context, entries);
}

bool LinearSchedule::isIn(attn::LinearOp op) {
  attn::ScheduleAttr all = attn::ScheduleAttr::of(op);
  return all && (all.getNested(kTensorCores) || all.getNested(kMultiplyAdds));
}

FailureOr<LinearSchedule> LinearSchedule::of(attn::LinearOp op) {
  // Text may have the schedule on any op.
  attn::ScheduleAttr all = attn::ScheduleAttr::of(op);
  const StringRef main = all.getNested(kTensorCores) ? kTensorCores : kMultiplyAdds;
  if (std::string reason = refusal(op); !reason.empty())
    return op.emitOpError() << "has a schedule '" << main << "', but " << reason;
  std::optional<LinearTiles> tiles[4];
  const StringRef names[4] = {main, kFewRows, kManyRows, kMostRows};
  for (auto [name, of] : llvm::zip_equal(names, tiles)) {
    attn::ScheduleAttr nested = all.getNested(name);
    if (nested && !(of = tilesOf(nested)))
      return op.emitOpError() << "has a schedule '" << name << "' without '" << kRows << "', '" << kColumns << "', '"
                              << kDepth << "', '" << kWarps << "' or '" << kStages << "'";
  }
  for (const std::optional<LinearTiles> &each : tiles) {
    if (!op.isQuantized() || !each)
      continue;
    if (each->depth != kQuantizedDepth)
      return op.emitOpError() << "has a quantized weight and a schedule of steps of " << each->depth << "; those of "
                              << kQuantizedDepth << " are known";
    if (each->parts != 1)
      return op.emitOpError() << "has a quantized weight and a schedule of " << each->parts
                              << " parts; those of 1 are known";
  }
  for (size_t i : {2, 3})
    if (tiles[i] && tiles[i]->least == 0)
      return op.emitOpError() << "has a schedule '" << names[i] << "' without '" << kLeast << "'";
  for (const std::optional<LinearTiles> &of : tiles)
    if (of && (of->tf32 < 0 || of->tf32 > 2 || of->tf32 != tiles[0]->tf32 || (of->tf32 > 0 && !multipliesFloats(op)) ||
               multipliesAdds(op, *of) != (main == kMultiplyAdds)))
      return op.emitOpError() << "has a schedule '" << main << "' of " << of->tf32
                              << " tf32 for each f32; matmuls of f32 on '" << kTensorCores << "' have 1 or 2, others 0";
  const bool rotates = all.getNumber(kRotates).value_or(0) != 0;
  StringRef why = "no rotation reads its heads";
  attn::RopeOp rotation = rotates ? rotationOf(op, why) : attn::RopeOp();
  if (rotates && !rotation)
    return op.emitOpError() << "has a schedule that '" << kRotates << "', but " << why;
  return LinearSchedule{*tiles[0], tiles[1], tiles[2], tiles[3], rotation};
}

attn::RopeOp cuda::rotationOf(attn::LinearOp op, StringRef &reason, bool isAnyPair) {
  attn::SplitHeadsOp split;
  attn::RopeOp rope;
  for (Operation *user : op->getUsers())
    if ((split = dyn_cast<attn::SplitHeadsOp>(user)))
      for (Operation *reader : split->getUsers())
        if (auto found = dyn_cast<attn::RopeOp>(reader); found && found.getInput().getDefiningOp() == split)
          rope = found;
  if (!rope)
    return nullptr;
  auto refuse = [&](StringRef why) {
    reason = why;
    return attn::RopeOp();
  };
  if (!op->hasOneUse() || split.getHeads().size() != 1 || !rope.getInput().hasOneUse())
    return refuse("the heads are read before they are rotated");
  if (!rope.getInterleaved() && !isAnyPair)
    return refuse("a thread has no two channels half a head apart");
  RankedTensorType heads = rope.getInput().getType();
  if (heads.isDynamicDim(1) || heads.isDynamicDim(2) || heads.getDimSize(2) % 2 != 0)
    return refuse("its heads are of no known even number of channels");
  for (Value table : {rope.getCosines(), rope.getSines()})
    if (Operation *made = table.getDefiningOp();
        made && made->getBlock() == op->getBlock() && op->isBeforeInBlock(made))
      return refuse("its angles are computed after the matmul");
  return rope->getBlock() == op->getBlock() ? rope : refuse("the rotation is in another block");
}

/// Elements that each of the thread blocks has, with those of tiles that are not whole.
static int64_t timeOf(const LinearTiles &tiles, int64_t rows, int64_t columns) {
  const int64_t count = llvm::divideCeil(rows, tiles.rows) * llvm::divideCeil(columns, tiles.columns);
  return int64_t(llvm::divideCeil(count, tiles.blocks)) * tiles.rows * tiles.columns;
}

/// Whether matmuls by wgmma are there and take the op. Its tensor maps end where k does, which has to be known.
static bool hasWgmma(attn::LinearOp op, const TargetInfo &machine) {
  return machine.deviceArch == 90 && machine.deviceExact && !op.isQuantized() && !multipliesFloats(op) &&
         !op.getInput().getType().isDynamicDim(1);
}

/// Tiles for few rows: wide ones where there are as many as a GPU has multiprocessors.
static LinearTiles fewRows(attn::LinearOp op) {
  const bool areFloats = multipliesFloats(op);
  const LinearTiles &wide = areFloats ? kFewWideFloatTiles : kFewWideTiles;
  const int64_t columns = op.getResult().getType().getDimSize(1), depth = op.getInput().getType().getDimSize(1);
  const bool areMany =
      !ShapedType::isDynamic(columns) && int64_t(llvm::divideCeil(columns, wide.columns)) >= kMultiprocessors;
  LinearTiles tiles = areMany ? wide : areFloats ? kFewFloatTiles : kFewTiles;
  if (!ShapedType::isDynamic(depth) && depth <= kShortDepth)
    tiles.depth = std::min(tiles.depth, kShortDepth);
  return tiles;
}

/// Tiles for few rows, and for more and more.
static SmallVector<LinearTiles> tilesFor(attn::LinearOp op, const TargetInfo &machine) {
  if (op.isQuantized())
    return {kFewQuantized, kQuantizedTiles, kManyQuantized};
  if (hasWgmma(op, machine))
    return {fewRows(op), op.getResult().getType().getDimSize(1) < kCommonWgmma.columns ? kTiles : kCommonWgmma,
            kManyWgmma, kMostWgmma};
  if (!multipliesFloats(op))
    return {fewRows(op), kTiles, kManyTiles};
  SmallVector<LinearTiles> tiles{fewRows(op), kFloatTiles, kManyFloatTiles};
  for (LinearTiles &of : tiles)
    of.tf32 = std::clamp<int64_t>(machine.tf32Terms, 0, 2);
  return tiles;
}

std::optional<LinearSchedule> cuda::chooseLinear(attn::LinearOp op, const TargetInfo &machine, std::string &reason) {
  reason = refusal(op);
  if (!reason.empty())
    return std::nullopt;
  RankedTensorType result = op.getResult().getType();
  SmallVector<LinearTiles> large = tilesFor(op, machine); // then those for which there is a number of rows
  const LinearTiles few = large[0], common = large[1];
  large.erase(large.begin(), large.begin() + 2);
  for (LinearTiles &tiles : large)
    tiles.least = leastOf(tiles, result.getDimSize(1));
  llvm::erase_if(large, [](const LinearTiles &tiles) { return tiles.least == 0; });
  if (large.size() == 2 && large[1].least <= large[0].least)
    large.erase(large.begin());
  if (!large.empty())
    large[0].share = 0; // of no smaller ones
  const int64_t rows = result.getDimSize(0);
  if (ShapedType::isDynamic(rows)) {
    auto nth = [&](size_t i) { return i < large.size() ? std::optional(large[i]) : std::nullopt; };
    return LinearSchedule{common, few, nth(0), nth(1), /*rotation=*/nullptr};
  }
  LinearTiles chosen = rows <= few.rows ? few : common;
  for (const LinearTiles &tiles : large)
    if (rows >= tiles.least &&
        (!tiles.share || !chosen.blocks ||
         timeOf(tiles, rows, result.getDimSize(1)) * tiles.share <= timeOf(chosen, rows, result.getDimSize(1)) * 100))
      chosen = tiles;
  chosen.least = chosen.share = 0;
  return LinearSchedule{chosen, std::nullopt, std::nullopt, std::nullopt, /*rotation=*/nullptr};
}
