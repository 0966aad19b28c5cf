//===- Schedule.cpp - Schedules of matmuls by thread blocks -------------------------------===//
#include "lib/Target/GPU/Linear/Linear.h"
#include "lib/Target/GPU/Linear/Quantized.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using attn_gpu::QuantizedLinearTileOp;

namespace {

constexpr llvm::StringLiteral kTensorCores = "tensor_cores", kMultiplyAdds = "multiply_adds", kFewRows = "few_rows",
                              kManyRows = "many_rows", kMostRows = "most_rows";
constexpr llvm::StringLiteral kRows = "rows", kColumns = "columns", kDepth = "depth", kWarps = "warps",
                              kStages = "stages", kParts = "parts", kLeast = "least", kTF32 = "tf32", kWgmma = "wgmma",
                              kBlocks = "blocks", kGroup = "group", kShare = "share", kRotates = "rotates";

} // namespace

std::string any_gpu::refusalOf(attn::LinearOp op) {
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

bool any_gpu::multipliesFloats(attn::LinearOp op) {
  Type input = op.getInput().getType().getElementType();
  return !op.isQuantized() && (input.isF32() || input != op.getWeight().getType().getElementType());
}

/// Whether numbers are multiplied by fused multiply-adds.
static bool multipliesAdds(attn::LinearOp op, const LinearTiles &tiles) {
  return multipliesFloats(op) && tiles.tf32 == 0;
}

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

static attn::ScheduleAttr toAttr(const LinearTiles &tiles, MLIRContext *context) {
  Builder b(context);
  auto entry = [&](StringRef name, int64_t number) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(number)); };
  SmallVector<NamedAttribute> entries{entry(kRows, tiles.rows), entry(kColumns, tiles.columns),
                                      entry(kDepth, tiles.depth), entry(kWarps, tiles.warps),
                                      entry(kStages, tiles.stages)};
  if (tiles.parts > 1)
    entries.push_back(entry(kParts, tiles.parts));
  const std::pair<StringRef, int64_t> others[] = {{kLeast, tiles.least}, {kTF32, tiles.tf32},
                                                  {kWgmma, tiles.wgmma}, {kBlocks, tiles.blocks},
                                                  {kGroup, tiles.group}, {kShare, tiles.share}};
  for (auto [name, number] : others)
    if (number)
      entries.push_back(entry(name, number));
  return neutral::scheduleOf(context, entries);
}

void LinearSchedule::setOn(attn::LinearOp op) const {
  MLIRContext *context = op.getContext();
  Builder b(context);
  SmallVector<NamedAttribute> entries{
      b.getNamedAttr(multipliesAdds(op, tiles) ? kMultiplyAdds : kTensorCores, toAttr(tiles, context))};
  const std::pair<StringRef, const std::optional<LinearTiles> &> others[] = {
      {kFewRows, few}, {kManyRows, many}, {kMostRows, most}};
  for (const auto &[name, nested] : others)
    if (nested)
      entries.push_back(b.getNamedAttr(name, toAttr(*nested, context)));
  if (rotation)
    entries.push_back(b.getNamedAttr(kRotates, b.getDenseI64ArrayAttr(1)));
  op->setAttr(attn::AttnDialect::scheduleAttr, neutral::scheduleOf(context, entries));
}

bool LinearSchedule::isIn(attn::LinearOp op) {
  attn::ScheduleAttr all = attn::ScheduleAttr::of(op);
  return all && (all.getNested(kTensorCores) || all.getNested(kMultiplyAdds));
}

FailureOr<LinearSchedule> LinearSchedule::of(attn::LinearOp op) {
  // Text may have the schedule on any op.
  attn::ScheduleAttr all = attn::ScheduleAttr::of(op);
  const StringRef main = all.getNested(kTensorCores) ? kTensorCores : kMultiplyAdds;
  if (std::string reason = refusalOf(op); !reason.empty())
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
    if (each->depth != QuantizedLinearTileOp::kDepth)
      return op.emitOpError() << "has a quantized weight and a schedule of steps of " << each->depth << "; those of "
                              << QuantizedLinearTileOp::kDepth << " are known";
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

attn::RopeOp any_gpu::rotationOf(attn::LinearOp op, StringRef &reason, bool isAnyPair) {
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
