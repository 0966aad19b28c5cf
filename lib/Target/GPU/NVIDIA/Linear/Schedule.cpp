//===- Schedule.cpp - Tiles of matmuls on NVIDIA's GPUs -----------------------------------===//
#include "lib/Target/GPU/NVIDIA/Schedule.h"
#include "dialect/AttnGPU/AttnGPU.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::cuda;
using attn_gpu::QuantizedLinearTileOp;

namespace {

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
constexpr int64_t kQuantizedDepth = QuantizedLinearTileOp::kDepth;
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

} // namespace

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
  reason = refusalOf(op);
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
