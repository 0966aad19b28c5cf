//===- Schedule.cpp - Schedules of attention by thread blocks -----------------------------===//
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "lib/Target/GPU/Attention/Attention.h"
#include "lib/Target/GPU/Passes.h"
#include "lib/Target/Generic/RowCache.h"
#include "lib/Transforms/Fusion/Remarks.h"
#include "lib/Transforms/StageContract.h"

namespace rapt {
#define GEN_PASS_DEF_ATTNCUDASCHEDULE
#include "lib/Target/GPU/Passes.h.inc"
} // namespace rapt

using namespace mlir;
using namespace rapt;
using namespace rapt::cuda;
using neutral::AttentionOperands;

namespace {

constexpr llvm::StringLiteral kTensorCores = "tensor_cores", kMultiplyAdds = "multiply_adds", kRows = "rows",
                              kKeys = "keys", kWarps = "warps", kWgmma = "wgmma", kBlocks = "blocks",
                              kLeastKeys = "least_keys", kTF32 = "tf32";
constexpr int64_t kMostChannels = 256, kMostRows = 1024, kMostWarps = 28;
constexpr int64_t kMostBlocks = 1 << 16, kMostKeys = 1 << 20;
// Two thread blocks for each of an H100's 132 multiprocessors, of at least so many keys.
constexpr int64_t kBlocksOfGPU = 264, kKeysOfPart = 256;

Type elementOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); }

/// The static extent of the channels of operand i, which are its last dim and behind its queries or keys; or none.
std::optional<int64_t> channelsOf(const AttentionOperands &o, unsigned i, RankedTensorType type,
                                  AttentionOperands::Dim row, AttentionOperands::Dim channels) {
  std::optional<unsigned> at = o.placeOf(i, channels);
  if (!at || int64_t(*at) + 1 != type.getRank() || type.isDynamicDim(*at) || !o.placeOf(i, row))
    return std::nullopt;
  return type.getDimSize(*at);
}

/// Whether numbers are multiplied as f32.
bool multipliesFloats(const AttentionOperands &o) {
  const Type element = elementOf(o.query);
  return element.isF32() || elementOf(o.key) != element || elementOf(o.value) != element;
}

/// Why an op has no schedule of thread blocks; empty: it may have one.
std::string refusal(attn::AttentionOp op, int64_t &channels) {
  using Dim = AttentionOperands::Dim;
  AttentionOperands o(op);
  if (o.additive)
    return "an additive similarity is no matmul";
  if (o.secondQuery)
    return "it has a second pair of queries and keys";
  if (std::string reason = notLegalBecause(o, &generic::rowCache()); !reason.empty())
    return reason;
  SmallVector<attn::KVViewOp> views = o.views();
  for (attn::KVViewOp view : views)
    if (elementOf(view.getCache()) != elementOf(o.key) || elementOf(view.getValuePool()) != elementOf(o.value))
      return "the cache has elements of another type than keys and values";
  if (views.size() == 1)
    return "keys or values alone are in a cache";
  if (!views.empty() && views[0].getTable() != views[1].getTable())
    return "keys and values are in caches with tables of their own";
  RankedTensorType result = op.getResult().getType();
  channels = 0;
  const std::pair<std::optional<int64_t>, const char *> extents[] = {
      {channelsOf(o, AttentionOperands::Query, cast<RankedTensorType>(o.query.getType()), Dim::Q, Dim::DQK), "queries"},
      {channelsOf(o, AttentionOperands::Key, cast<RankedTensorType>(o.key.getType()), Dim::KV, Dim::DQK), "keys"},
      {channelsOf(o, AttentionOperands::Value_, cast<RankedTensorType>(o.value.getType()), Dim::KV, Dim::DV), "values"},
      {channelsOf(o, AttentionOperands::Result, result, Dim::Q, Dim::DV), "results"}};
  for (auto [extent, what] : extents) {
    if (!extent)
      return std::string("the channels of ") + what + " are not their last dim, of a static extent";
    if (*extent < 1 || *extent > kMostChannels)
      return "there are " + std::to_string(*extent) + " channels; thread blocks have schedules for up to " +
             std::to_string(kMostChannels);
    channels = std::max(channels, *extent);
  }
  return "";
}

struct SetSchedule : rapt::impl::AttnCUDAScheduleBase<SetSchedule> {
  void runOnOperation() override {
    if (failed(checkStage(*this, getOperation(), Stage::Canonical)))
      return signalPassFailure();
    const TargetInfo machine = TargetInfo::of(getOperation());
    Builder b(&getContext());
    const WalkResult result = getOperation()->walk([&](attn::AttentionOp op) {
      if (failed(neutral::verifyAttentionTiles(op)))
        return WalkResult::interrupt();
      std::string reason;
      std::optional<AttentionSchedule> schedule = chooseAttention(op, machine, reason);
      if (!schedule) {
        remarkNeutral(op.getLoc(), reason);
        return WalkResult::advance();
      }
      SmallVector<NamedAttribute> entries = llvm::to_vector(attn::ScheduleAttr::of(op).getEntries());
      const bool ofMultiplyAdds = schedule->tf32 == 0 && multipliesFloats(AttentionOperands(op));
      entries.push_back(b.getNamedAttr(ofMultiplyAdds ? kMultiplyAdds : kTensorCores, schedule->toAttr(&getContext())));
      op->setAttr(attn::AttnDialect::scheduleAttr, neutral::scheduleOf(&getContext(), entries));
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace

attn::ScheduleAttr AttentionSchedule::toAttr(MLIRContext *context) const {
  Builder b(context);
  auto entry = [&](StringRef name, int64_t number) { return b.getNamedAttr(name, b.getDenseI64ArrayAttr(number)); };
  SmallVector<NamedAttribute> entries{entry(kRows, rows), entry(kKeys, keys), entry(kWarps, warps)};
  if (blocks) {
    entries.push_back(entry(kBlocks, blocks));
    entries.push_back(entry(kLeastKeys, leastKeys));
  }
  if (wgmma)
    entries.push_back(entry(kWgmma, 1));
  if (tf32)
    entries.push_back(entry(kTF32, tf32));
  return neutral::scheduleOf(context, entries);
}

/// The nested schedule that an op has, and its name; null: it has none.
static std::pair<attn::ScheduleAttr, StringRef> nestedIn(attn::AttentionOp op) {
  if (attn::ScheduleAttr all = attn::ScheduleAttr::of(op))
    for (StringRef name : {kTensorCores, kMultiplyAdds})
      if (attn::ScheduleAttr own = all.getNested(name))
        return {own, name};
  return {};
}

std::optional<AttentionSchedule> AttentionSchedule::of(attn::AttentionOp op) {
  attn::ScheduleAttr own = nestedIn(op).first;
  if (!own)
    return std::nullopt;
  auto number = [&](StringRef name, int64_t most) { return std::min(own.getNumber(name).value_or(0), most); };
  return AttentionSchedule{number(kRows, kMostRows),        number(kKeys, kMostRows),
                           number(kWarps, kMostWarps),      number(kWgmma, 1) == 1,
                           number(kBlocks, kMostBlocks),    std::max<int64_t>(1, number(kLeastKeys, kMostKeys)),
                           own.getNumber(kTF32).value_or(0)};
}

LogicalResult cuda::verifySchedule(attn::AttentionOp op) {
  std::optional<AttentionSchedule> schedule = AttentionSchedule::of(op);
  if (!schedule)
    return success();
  if (failed(neutral::verifyAttentionTiles(op))) // those of the weights, for one
    return failure();
  const StringRef name = nestedIn(op).second;
  if (schedule->rows == 0 || schedule->keys == 0 || schedule->warps == 0)
    return op.emitOpError() << "has a schedule '" << name << "' without '" << kRows << "', '" << kKeys << "' and '"
                            << kWarps << "'";
  int64_t channels = 0;
  if (std::string reason = refusal(op, channels); !reason.empty())
    return op.emitOpError() << "has a schedule '" << name << "', but " << reason;
  const bool ofFloats = multipliesFloats(AttentionOperands(op));
  if (schedule->tf32 < 0 || schedule->tf32 > 2 || (schedule->tf32 > 0 && !ofFloats) ||
      (ofFloats && schedule->tf32 == 0) != (name == kMultiplyAdds))
    return op.emitOpError() << "has a schedule '" << name << "' of " << schedule->tf32
                            << " tf32 for each f32; attention of f32 on '" << kTensorCores << "' has 1 or 2, other 0";
  if (ofFloats && schedule->wgmma)
    return op.emitOpError() << "has a schedule '" << kWgmma << "', but it multiplies f32";
  return success();
}

/// A warp has 32 rows, as a thread then reads the fewest operands for its multiply-adds: it has a sum for each channel
/// and a score for each key of a block. 16 rows are left where the sums of 32 are more than its registers. All shared
/// memory is within the 99 KB of a thread block on sm_86 and sm_89.
static AttentionSchedule chooseFloats(int64_t channels, const TargetInfo &machine) {
  AttentionSchedule schedule{.rows = channels > 128  ? 32
                                     : channels > 64 ? 64
                                                     : 128,
                             .keys = channels > 96 ? 16 : 32,
                             .warps = channels > 64 ? 2 : 4};
  schedule.tf32 = std::clamp<int64_t>(machine.tf32Terms, 0, 2);
  return schedule;
}

std::optional<AttentionSchedule> cuda::chooseAttention(attn::AttentionOp op, const TargetInfo &machine,
                                                       std::string &reason) {
  int64_t channels = 0;
  reason = refusal(op, channels);
  if (!reason.empty())
    return std::nullopt;
  if (multipliesFloats(AttentionOperands(op))) {
    AttentionSchedule schedule = chooseFloats(channels, machine);
    schedule.blocks = kBlocksOfGPU, schedule.leastKeys = kKeysOfPart;
    return schedule;
  }
  // Two rings of two blocks and the queries are in 227 KB of shared memory.
  if (machine.deviceArch == 90 && machine.deviceExact)
    return AttentionSchedule{.rows = 128,
                             .keys = channels > 192   ? 80
                                     : channels > 128 ? 96
                                                      : 128,
                             .warps = 8,
                             .wgmma = true,
                             .blocks = kBlocksOfGPU,
                             .leastKeys = kKeysOfPart};
  // A thread has 255 registers. It holds channels / 2 sums and keys / 2 scores of its warp's 16 rows.
  if (channels > 128)
    return AttentionSchedule{.rows = 64, .keys = 32, .warps = 4, .blocks = kBlocksOfGPU, .leastKeys = kKeysOfPart};
  return AttentionSchedule{.rows = 64, .keys = 64, .warps = 4, .blocks = kBlocksOfGPU, .leastKeys = kKeysOfPart};
}
