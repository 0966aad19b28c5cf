//===- Schedule.cpp - Schedules of attention by thread blocks -----------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"
#include "lib/Target/GPU/Attention/Attention.h"
#include "lib/Target/Generic/RowCache.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using neutral::AttentionOperands;

namespace {

constexpr int64_t kMostChannels = 256;

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

LogicalResult any_gpu::verifySchedule(attn::AttentionOp op) {
  if (!attn_gpu::scheduleOf<attn_gpu::AttentionScheduleAttr>(op))
    return success();
  if (failed(neutral::verifyAttentionTiles(op))) // those of the weights, for one
    return failure();
  int64_t channels = 0;
  if (std::string reason = refusalOf(op, channels); !reason.empty())
    return op.emitOpError() << "has a schedule, but " << reason;
  return success();
}
