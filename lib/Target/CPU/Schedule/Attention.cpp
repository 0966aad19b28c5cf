//===- Attention.cpp - Schedules of attn.attention ---------------------------------------===//
//
// The numbers were the fastest on machines with AVX2, AVX-512 and AMX
// (docs/Decisions/0008 and 0011).
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "dialect/AttnCPU/CacheLayout.h"
#include "dialect/AttnCPU/Panels.h"
#include "lib/Target/CPU/Layout/Neutral.h"
#include "lib/Target/CPU/Schedule/Choices.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::cpu;
using attn::AttentionOp;
using attn_cpu::kPanel;

namespace {

/// Queries of tiles, largest first: with 16 registers two micro-kernel tiles of 6; AMX takes 32 queries as two tiles of
/// 16.
constexpr int64_t kQueries[] = {14, 1}, kQueriesOfFewRegisters[] = {12, 1}, kMatrixQueries[] = {32, 16, 1};
/// Most queries of a task: enough to reuse KV blocks, which the first tile reads from a shared cache, many times; few
/// enough for many tasks and for a state that stays in L2.
constexpr int64_t kTaskQueries = 18 * 14, kMatrixTaskQueries = 8 * 32;
/// Tiles of fewer queries have one loop over KV blocks, all of them masked, which keeps code short.
constexpr int64_t kWideQueries = 14, kWideQueriesOfFewRegisters = 12;
/// Keys of a KV block where they are contiguous. Twice as many are no faster, and more keys of a short sequence would
/// be in masked blocks. With 16 registers tiles have fewer rows, and what a KV block takes beside its matmuls counts
/// more.
constexpr int64_t kKeys = 128, kKeysOfFewRegisters = 256;
/// A KV block with a mask takes a tenth longer. A rest of fewer keys is better in a KV block with those that are masked
/// anyway.
constexpr int64_t kRestKeys = 128;
/// Elements of keys and values that all tiles of a task use while they are in L2: 256 KiB in f32.
constexpr int64_t kTaskElements = 1 << 16;
/// Keys of a packed block without a cache: one panel, so that masked blocks end close to what a mask keeps; two for
/// AMX.
constexpr int64_t kPackedKeys = 32, kMatrixPackedKeys = 64;
/// Rows of a task that fills those behind the last sequence with zeros.
constexpr int64_t kRestRows = 256;
/// Least blocks of a cache, or keys, of a split, so that reading them takes much longer than combining their state.
/// Most splits of a sequence, so that the buffer of their states is bounded; without a cache more tasks than
/// kSplitTasks have fewer splits.
constexpr int64_t kSplitBlocks = 4, kSplitKeys = 512, kSplits = 16, kSplitTasks = 1024;
/// Most rows of the queries of a sequence that has splits, whose tasks pack the keys that they read. More queries share
/// one packed copy: full tiles read it, which are faster than tiles of as many queries as are left, and several tasks.
/// With AMX the most rows are those that fill no AMX tile.
constexpr int64_t kSplitRows = 4 * 14;
/// Most query heads of a group whose tasks pack the same keys each, where they are no rows of one tile.
constexpr int64_t kSplitGroups = 2;
/// Steps of k per prefetched line of the next queries and of the result. With 16 registers a step has fewer
/// multiply-adds to hide what an address takes.
constexpr int64_t kLineSteps = 2, kLineStepsOfFewRegisters = 8;
/// Most query heads of a group in one tile.
constexpr int64_t kHeads = 14;

/// Limits of the lowering: softmax has one query per lane of a vector of 16, and AMX takes several such tiles; buffers
/// of a task have static sizes.
constexpr int64_t kMostTiles = 4, kMostQueries = 16, kMostMatrixQueries = 64, kMostTaskQueries = 1024, kMostKeys = 1024,
                  kMostTaskKeys = 1 << 16, kMostSplits = 1024, kMostSplitTasks = 1 << 16;

attn::KVViewOp viewOf(AttentionOp op) { return op.getKey().getDefiningOp<attn::KVViewOp>(); }

int64_t extentOf(Value tensor, unsigned dim) { return cast<RankedTensorType>(tensor.getType()).getDimSize(dim); }
int64_t channelsOf(AttentionOp op) { return extentOf(op.getQuery(), *op.dimOf(0, AttentionOp::DQK)); }
/// Channels of a second pair; 0 without one.
int64_t secondChannelsOf(AttentionOp op) {
  return op.getSecondQuery() ? extentOf(op.getSecondQuery(), *op.dimOf(op.getSecondMap(), AttentionOp::DQK)) : 0;
}
int64_t valueChannelsOf(AttentionOp op) { return extentOf(op.getValue(), *op.dimOf(2, AttentionOp::DV)); }

/// Whether a tile may repeat queries: no extra operand has elements per query.
bool mayRepeat(AttentionOp op) {
  return llvm::none_of(llvm::seq<unsigned>(0, op.getExtras().size()),
                       [&](unsigned i) { return op.dimOf(4 + i, AttentionOp::Q).has_value(); });
}

bool mayTakeMatrix(AttentionOp op, const TargetInfo &target) { return attn_cpu::usesBf16Matmul(op) && target.amxBf16; }

/// The layouts of keys and values of a cache whose blocks are whole panels; none of anything else.
std::optional<std::pair<attn_cpu::CacheLayout, attn_cpu::CacheLayout>> layoutsOf(AttentionOp op) {
  attn::KVViewOp view = viewOf(op);
  if (!view)
    return std::nullopt;
  std::optional<attn_cpu::CacheLayout> keys = attn_cpu::CacheLayout::ofKeys(view),
                                       values = attn_cpu::CacheLayout::ofValues(view);
  if (!keys || !values || keys->block % kPanel != 0)
    return std::nullopt;
  return std::pair(*keys, *values);
}

LogicalResult verifyQueries(AttentionOp op, attn_cpu::AttentionScheduleAttr schedule) {
  ArrayRef<int64_t> queries = schedule.getQueries();
  bool falls = !queries.empty() && queries.size() <= kMostTiles;
  for (size_t i = 1; i < queries.size(); ++i)
    falls &= queries[i] < queries[i - 1];
  for (int64_t m : queries)
    falls &= m <= kMostQueries || (schedule.getKernel().takesMatrix(m) && m <= kMostMatrixQueries);
  if (!falls)
    return faultOf(op, "queries") << "be at most " << kMostTiles << " numbers that fall from at most " << kMostQueries
                                  << ", or from multiples of 'matrix_rows' of at most " << kMostMatrixQueries
                                  << ", found [" << queries << "]";
  if (queries.back() > 1 && !mayRepeat(op))
    return faultOf(op, "queries") << "end with 1, as an extra operand has elements of each query, found [" << queries
                                  << "]";
  const bool isMultiple = llvm::all_of(queries, [&](int64_t m) { return schedule.getTaskQueries() % m == 0; });
  if (schedule.getTaskQueries() > kMostTaskQueries || !isMultiple)
    return faultOf(op, "task_queries") << "be a multiple of each of 'queries' and at most " << kMostTaskQueries
                                       << ", found " << schedule.getTaskQueries();
  return success();
}

/// Reports a number of keys that is no multiple of the block.
LogicalResult verifyKeys(AttentionOp op, StringRef name, int64_t keys, int64_t block, int64_t most) {
  if (keys >= 1 && keys % block == 0 && keys <= std::max(most, block))
    return success();
  return faultOf(op, name) << "be a multiple of " << block << " and at most " << most << ", found " << keys;
}

LogicalResult verifySplits(AttentionOp op, attn_cpu::AttentionScheduleAttr schedule, int64_t block) {
  const std::optional<int64_t> groups = queryHeadsOf(op);
  // Without a cache a schedule may do without splits.
  const bool isOptional = !viewOf(op) && groups,
             areNeeded = isOptional ? schedule.getSplits().has_value() : viewOf(op) && op.getQBegin() && groups;
  const StringRef when = "for packed queries over a cache, and for keys that are not in a cache";
  auto verify = [&](StringRef name, std::optional<int64_t> value, bool isNeeded) {
    return verifyPresence(op, name, value.has_value(), isNeeded, when);
  };
  if (failed(verify("splits", schedule.getSplits(), areNeeded)) ||
      failed(verify("split_keys", schedule.getSplitKeys(), areNeeded)) ||
      failed(verify("split_queries", schedule.getSplitQueries(), areNeeded)) ||
      failed(verify("split_tasks", schedule.getSplitTasks(), areNeeded && !viewOf(op))) ||
      failed(verify("heads", schedule.getHeads(), areNeeded)))
    return failure();
  if (!areNeeded)
    return success();
  if (failed(verifyMost(op, "splits", *schedule.getSplits(), kMostSplits)) ||
      failed(verifyKeys(op, "split_keys", *schedule.getSplitKeys(), block, kMostTaskKeys)) ||
      failed(verifyMost(op, "split_queries", *schedule.getSplitQueries(), kMostTaskQueries)) ||
      failed(verifyMost(op, "split_tasks", schedule.getSplitTasks().value_or(1), kMostSplitTasks)))
    return failure();
  if (*schedule.getHeads() > kMostQueries || *groups % *schedule.getHeads() != 0)
    return faultOf(op, "heads") << "be at most " << kMostQueries << " and divide the " << *groups
                                << " query heads of a group, found " << *schedule.getHeads();
  if (*schedule.getHeads() > 1 && !allowsGroups(op))
    return faultOf(op, "heads") << "be 1, as the heads of a group differ in more than their queries, found "
                                << *schedule.getHeads();
  return success();
}

} // namespace

std::string cpu::whyNotTiled(AttentionOp op) {
  for (Value extra : op.getExtras())
    if (getElementTypeOrSelf(extra.getType()).isInteger(1))
      return "an extra operand of i1 has vectors of bits"; // in memory an element is a byte
  if (op->hasAttr(cpu::kNeutralAttr))
    return "channels that fill no panel cannot be padded";
  if (op.getWeights() && !op.getWeights().getType().getElementType().isF32())
    return "its weights are not f32";
  auto order = [&](unsigned i, AttentionOp::Dim first, AttentionOp::Dim second) {
    return *op.dimOf(i, first) < *op.dimOf(i, second);
  };
  if (!order(0, AttentionOp::Q, AttentionOp::DQK) || !order(3, AttentionOp::Q, AttentionOp::DV))
    return "query or result is transposed";
  auto isLast = [&](unsigned i, AttentionOp::Dim dim) { return *op.dimOf(i, dim) + 1 == op.getMap(i).getNumResults(); };
  bool areLast = isLast(0, AttentionOp::DQK) && isLast(1, AttentionOp::DQK) && isLast(2, AttentionOp::DV) &&
                 isLast(3, AttentionOp::DV);
  if (op.getSecondQuery())
    areLast &= isLast(op.getSecondMap(), AttentionOp::DQK) && isLast(op.getSecondMap() + 1, AttentionOp::DQK);
  if (!areLast)
    return "channels are not the last dim";
  attn::KVViewOp view = viewOf(op);
  auto isOfCache = [](Value tensor) { return tensor && tensor.getDefiningOp<attn::KVViewOp>(); };
  if (!view && isOfCache(op.getValue()))
    return "values are in a cache, and keys are not";
  const bool areLatents = readsLatents(op);
  if (op.getSecondKey() && !areLatents && (view || isOfCache(op.getSecondKey())))
    return "keys of a second pair are in a cache, where the first's are no latents";
  auto cache = view ? dyn_cast<RankedTensorType>(view.getCache().getType()) : RankedTensorType();
  if (view && ((op.getKey() != view.getKeys() && !areLatents) || op.getValue() != view.getValues() || !cache))
    return "keys and values are not of one materialized cache";
  if (areLatents && op.getWeights())
    return "its weights are those of latents in a cache";
  if (areLatents && attn_cpu::usesBf16Matmul(op))
    return "its matmuls are bf16 dot products of latents in a cache";
  if (cache && attn_cpu::usesBf16Matmul(op) &&
      !(cache.getElementType().isBF16() && getElementTypeOrSelf(view.getValuePool().getType()).isBF16()))
    return "its matmuls are bf16 dot products, and its cache is not bf16";
  const int64_t channels = channelsOf(op), valueChannels = valueChannelsOf(op);
  if (ShapedType::isDynamic(channels) || ShapedType::isDynamic(valueChannels) ||
      ShapedType::isDynamic(secondChannelsOf(op)))
    return "head dimensions are dynamic";
  if (view &&
      (channels % kPanel != 0 || valueChannels % kPanel != 0 || (areLatents && secondChannelsOf(op) % kPanel != 0)))
    return "head dimensions of a cache are not padded";
  if (view && !layoutsOf(op))
    return "blocks of the cache do not fill panels";
  return "";
}

int64_t cpu::cacheBlockOf(AttentionOp op) {
  const auto layouts = layoutsOf(op);
  return layouts ? layouts->first.block : 0;
}

std::optional<int64_t> cpu::queryHeadsOf(AttentionOp op) {
  SmallVector<unsigned> queries{0};
  if (op.getSecondQuery())
    queries.push_back(op.getSecondMap());
  for (unsigned i : queries)
    if (std::optional<unsigned> group = op.dimOf(i, AttentionOp::G)) {
      const int64_t groups = extentOf(op.getMapped(i), *group);
      return ShapedType::isDynamic(groups) ? std::nullopt : std::optional(groups);
    }
  return 1;
}

bool cpu::readsLatents(AttentionOp op) {
  attn::KVViewOp view = viewOf(op);
  return view && op.getKey() == view.getValues() && op.getSecondKey() == view.getKeys();
}

bool cpu::allowsGroups(AttentionOp op) {
  if (op.getAdditive() || !op.dimOf(0, AttentionOp::G) || !op.dimOf(3, AttentionOp::G))
    return false;
  for (unsigned i = 0; i < op.getExtras().size(); ++i)
    if (op.dimOf(4 + i, AttentionOp::G))
      return false;
  auto isUsed = [](Region &region, unsigned argument) {
    return !region.empty() && !region.getArgument(argument).use_empty();
  };
  return !isUsed(op.getScore(), 2) && !isUsed(op.getMask(), 1);
}

namespace {
/// The members of a schedule with split-KV; none of one without.
struct Splits {
  std::optional<int64_t> splits, keys, queries, tasks, heads;
};
} // namespace

/// Chooses split-KV grids for sequences of few queries. `block` is the number of keys of a block.
static Splits chooseSplits(AttentionOp op, int64_t block, std::optional<int64_t> matrixRows) {
  const std::optional<int64_t> groups = queryHeadsOf(op);
  if (!groups)
    return {};
  int64_t heads = allowsGroups(op) ? std::min(*groups, kHeads) : 1;
  while (*groups % heads != 0)
    --heads;
  if (viewOf(op)) {
    if (!op.getQBegin())
      return {};
    const int64_t keys = std::clamp<int64_t>(kMostTaskKeys / block, 1, kSplitBlocks) * block;
    return {.splits = kSplits, .keys = keys, .queries = 1, .tasks = std::nullopt, .heads = heads};
  }
  const int64_t queries = extentOf(op.getQuery(), *op.dimOf(0, AttentionOp::Q)),
                rows = matrixRows ? *matrixRows - 1 : kSplitRows;
  const bool areMany = ShapedType::isStatic(queries) && queries * heads > rows;
  if (areMany || (heads != *groups && *groups > kSplitGroups))
    return {};
  // Tokens that attend to one another have as few keys as queries.
  const bool areFew = op.getQuery() == op.getKey() || (op.getQBegin() && op.getQBegin() == op.getKvBegin());
  return {.splits = areFew ? 1 : kSplits,
          .keys = kSplitKeys,
          .queries = std::max<int64_t>(rows / heads, 1),
          .tasks = kSplitTasks,
          .heads = heads};
}

attn_cpu::AttentionScheduleAttr cpu::chooseAttention(AttentionOp op, const TargetInfo &target) {
  KernelChoice kernel = chooseKernel(target, /*widensVnni=*/true);
  const bool hasFewRegisters = target.vectorRegisters <= kFewRegisters;
  kernel.lineSteps = hasFewRegisters ? kLineStepsOfFewRegisters : kLineSteps;
  ArrayRef<int64_t> queries = hasFewRegisters ? ArrayRef(kQueriesOfFewRegisters) : ArrayRef(kQueries);
  int64_t taskQueries = kTaskQueries;
  if (mayTakeMatrix(op, target)) {
    // Fewer than 16 queries are padded to a tile where queries may repeat.
    queries = ArrayRef(kMatrixQueries).drop_back(mayRepeat(op));
    taskQueries = kMatrixTaskQueries;
    kernel.matrixRows = kMatrixQueries[1];
  }
  const int64_t wideQueries = hasFewRegisters ? kWideQueriesOfFewRegisters : kWideQueries;
  int64_t block = cacheBlockOf(op);
  std::optional<int64_t> packedKeys, restKeys, restRows;
  if (!block)
    packedKeys = block = mayTakeMatrix(op, target) ? kMatrixPackedKeys : kPackedKeys;
  const int64_t channels = attn_cpu::padToPanel(channelsOf(op)) + attn_cpu::padToPanel(secondChannelsOf(op)) +
                           attn_cpu::padToPanel(valueChannelsOf(op)),
                elements = kTaskElements * (attn_cpu::usesBf16Matmul(op) ? 2 : 1);
  const int64_t keys = std::max((hasFewRegisters ? kKeysOfFewRegisters : kKeys) / block, int64_t(1)) * block;
  // Where a KV block has many keys, a task has whole ones.
  const int64_t step = hasFewRegisters ? keys : block;
  if (hasFewRegisters)
    restKeys = std::max(kRestKeys / block, int64_t(1)) * block;
  const int64_t taskKeys = std::max(elements / step / std::max<int64_t>(channels, kPanel), int64_t(1)) * step;
  if (op.getQBegin())
    restRows = kRestRows;
  const Splits split = chooseSplits(op, block, kernel.matrixRows);
  MLIRContext *context = op.getContext();
  return attn_cpu::AttentionScheduleAttr::get(context, split.heads, kernel.get(context), keys, packedKeys, queries,
                                              restKeys, restRows, split.keys, split.queries, split.tasks, split.splits,
                                              taskKeys, taskQueries, wideQueries);
}

LogicalResult cpu::verifyAttention(AttentionOp op, attn_cpu::AttentionScheduleAttr schedule, const TargetInfo &target) {
  if (failed(verifyKernel(op, schedule.getKernel(), {.vnni = true, .matrix = mayTakeMatrix(op, target)}, target)) ||
      failed(verifyQueries(op, schedule)))
    return failure();
  const int64_t ofCache = cacheBlockOf(op);
  if (failed(verifyPresence(op, "packed_keys", schedule.getPackedKeys().has_value(), ofCache == 0,
                            "for keys that are not in a cache")) ||
      failed(verifyPresence(op, "rest_rows", schedule.getRestRows().has_value(), bool(op.getQBegin()),
                            "for packed queries")))
    return failure();
  const int64_t block = ofCache ? ofCache : *schedule.getPackedKeys();
  if (failed(verifyKeys(op, "packed_keys", schedule.getPackedKeys().value_or(kPanel), kPanel, kMostKeys)) ||
      failed(verifyKeys(op, "keys", schedule.getKeys(), block, kMostKeys)) ||
      failed(verifyKeys(op, "rest_keys", schedule.getRestKeys().value_or(block), block, schedule.getKeys())) ||
      failed(verifyKeys(op, "task_keys", schedule.getTaskKeys(), block, kMostTaskKeys)))
    return failure();
  return verifySplits(op, schedule, block);
}
