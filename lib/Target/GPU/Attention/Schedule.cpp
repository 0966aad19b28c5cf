//===- Schedule.cpp - Schedules of attention by thread blocks -----------------------------===//
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "lib/Target/GPU/Attention/Attention.h"
#include "lib/Target/Generic/RowCache.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using neutral::AttentionOperands;

namespace {

constexpr llvm::StringLiteral kTensorCores = "tensor_cores", kMultiplyAdds = "multiply_adds", kRows = "rows",
                              kKeys = "keys", kWarps = "warps", kWgmma = "wgmma", kBlocks = "blocks",
                              kLeastKeys = "least_keys", kTF32 = "tf32";
constexpr int64_t kMostChannels = 256, kMostRows = 1024, kMostWarps = 28;
constexpr int64_t kMostBlocks = 1 << 16, kMostKeys = 1 << 20;
Type elementOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementType(); }

/// The static extent of the channels of operand i, which are its last dim and behind its queries or keys; or none.
std::optional<int64_t> channelsOf(const AttentionOperands &o, unsigned i, RankedTensorType type,
                                  AttentionOperands::Dim row, AttentionOperands::Dim channels) {
  std::optional<unsigned> at = o.placeOf(i, channels);
  if (!at || int64_t(*at) + 1 != type.getRank() || type.isDynamicDim(*at) || !o.placeOf(i, row))
    return std::nullopt;
  return type.getDimSize(*at);
}

} // namespace

bool any_gpu::multipliesFloats(const AttentionOperands &o) {
  const Type element = elementOf(o.query);
  return element.isF32() || elementOf(o.key) != element || elementOf(o.value) != element;
}

std::string any_gpu::refusalOf(attn::AttentionOp op, int64_t &channels) {
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

void AttentionSchedule::setOn(attn::AttentionOp op) const {
  MLIRContext *context = op.getContext();
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
  SmallVector<NamedAttribute> all = llvm::to_vector(attn::ScheduleAttr::of(op).getEntries());
  const bool ofMultiplyAdds = tf32 == 0 && multipliesFloats(AttentionOperands(op));
  all.push_back(b.getNamedAttr(ofMultiplyAdds ? kMultiplyAdds : kTensorCores, neutral::scheduleOf(context, entries)));
  op->setAttr(attn::AttnDialect::scheduleAttr, neutral::scheduleOf(context, all));
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

LogicalResult any_gpu::verifySchedule(attn::AttentionOp op) {
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
  if (std::string reason = refusalOf(op, channels); !reason.empty())
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
