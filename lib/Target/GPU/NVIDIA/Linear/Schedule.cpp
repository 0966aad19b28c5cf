//===- Schedule.cpp - Tiles of matmuls on NVIDIA's GPUs -----------------------------------===//
#include "lib/Target/GPU/NVIDIA/Schedule.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::cuda;
using attn_gpu::LinearGridAttr;
using attn_gpu::LinearScheduleAttr;
using attn_gpu::LinearTilesAttr;
using attn_gpu::MatmulKind;

namespace {

/// There must be as many large tiles as a GPU has multiprocessors.
constexpr int64_t kMultiprocessors = 128;
/// The thread blocks of an H100 or H200.
constexpr int64_t kBlocksOfGPU = 132;
constexpr int64_t kShortDepth = 128; ///< of a step for few rows where k is not longer
/// Quantized weights: a step has 128 of k, and one of few rows 2 to 4 KiB of the weight.
constexpr int64_t kQuantizedDepth = attn_gpu::QuantizedLinearTileOp::kDepth;
constexpr int64_t kFewestColumnsOfWgmma = 64; ///< as many as a tile has

/// The fewest rows of which large tiles are enough; 0: no number is.
int64_t leastOf(LinearTilesAttr tiles, int64_t columns) {
  if (ShapedType::isDynamic(columns) || columns < tiles.getColumns())
    return 0;
  const int64_t across = llvm::divideCeil(columns, tiles.getColumns());
  return int64_t(llvm::divideCeil(kMultiprocessors, across)) * tiles.getRows();
}

/// Elements that each of the thread blocks has, with those of tiles that are not whole.
int64_t timeOf(LinearTilesAttr tiles, int64_t rows, int64_t columns) {
  const int64_t count = llvm::divideCeil(rows, tiles.getRows()) * llvm::divideCeil(columns, tiles.getColumns());
  return int64_t(llvm::divideCeil(count, tiles.getBlocks())) * tiles.getRows() * tiles.getColumns();
}

/// The grids that a matmul may have.
class Grids {
public:
  Grids(attn::LinearOp op, const TargetInfo &machine)
      : op(op), columns(op.getResult().getType().getDimSize(1)), depth(op.getInput().getType().getDimSize(1)),
        areFloats(multipliesFloats(op)) {
    if (areFloats)
      matmul = floatMatmul(machine);
    // Tensor maps end where k does, which has to be known.
    else if (machine.deviceArch == 90 && machine.deviceExact && !op.isQuantized() && !ShapedType::isDynamic(depth))
      matmul = MatmulKind::wgmma;
  }

  /// With few rows the weight is what takes time. It is read once, by many blocks, each of which has 32 KiB or more of
  /// it under way. The warps of a block share k: one after the other, the matmul instructions of a long row take longer
  /// than the row's copy. Where narrow tiles are as many as multiprocessors, wide ones read the input less often.
  LinearGridAttr few() {
    if (op.isQuantized())
      return grid(tiles(16, 32, kQuantizedDepth, 2, 8));
    constexpr int64_t wide = 32;
    const bool areMany =
        !ShapedType::isDynamic(columns) && int64_t(llvm::divideCeil(columns, wide)) >= kMultiprocessors;
    int64_t step = areFloats ? 128 : 256;
    if (!ShapedType::isDynamic(depth) && depth <= kShortDepth)
      step = std::min(step, kShortDepth);
    return grid(areMany ? tiles(16, wide, step, 4, 4, /*parts=*/4) : tiles(16, 16, step, 4, 5, /*parts=*/4));
  }

  LinearGridAttr common() {
    if (op.isQuantized())
      return grid(tiles(64, 64, kQuantizedDepth, 4, 3));
    if (areFloats)
      return grid(tiles(64, 64, 32, 4, 3));
    return matmul == MatmulKind::wgmma && columns >= kFewestColumnsOfWgmma ? grid(tilesOfWarpgroups(64, 8), /*group=*/8)
                                                                           : grid(tiles(64, 64, 64, 4, 3));
  }

  /// Those for more and more rows, which there is a number of. Large tiles read less.
  SmallVector<LinearGridAttr> large() {
    SmallVector<LinearGridAttr> grids;
    auto add = [&](LinearTilesAttr tiles, int64_t group = 0, int64_t share = 0) {
      if (const int64_t least = leastOf(tiles, columns))
        grids.push_back(grid(tiles, group, share, least));
    };
    if (op.isQuantized()) {
      add(tiles(128, hasGroupNumbers() ? 64 : 128, kQuantizedDepth, 8, 3));
    } else if (areFloats) { // elements take twice the shared memory, and multiply so long that one step ahead is enough
      add(tiles(128, 128, 32, 8, 2));
    } else if (matmul == MatmulKind::wgmma) {
      add(tilesOfWarpgroups(128, 6), /*group=*/12);
      // They multiply a third more for each byte that is copied.
      add(tilesOfWarpgroups(256, 4), /*group=*/16, /*share=*/88);
    } else {
      add(tiles(128, 128, 32, 8, 4));
    }
    if (grids.size() == 2 && grids[1].getLeast() <= grids[0].getLeast())
      grids.erase(grids.begin());
    if (!grids.empty()) // of no smaller ones
      grids[0] = grid(grids[0].getTiles(), grids[0].getGroup(), /*share=*/0, grids[0].getLeast());
    return grids;
  }

  /// The same tiles for whatever number of rows.
  LinearGridAttr always(LinearGridAttr of) { return grid(of.getTiles(), of.getGroup()); }

private:
  /// Whether groups of a weight in blocks have scales or offsets of their own, for which a thread has no registers
  /// beside 64 sums.
  bool hasGroupNumbers() {
    const BlockFormat *blocks = cast<attn::QuantizedType>(op.getWeight().getType().getElementType()).blocks();
    return blocks && (blocks->groupScale != ByteScale::One || blocks->hasOffsets());
  }

  LinearGridAttr grid(LinearTilesAttr tiles, int64_t group = 0, int64_t share = 0, int64_t least = 0) {
    return LinearGridAttr::get(op.getContext(), tiles, least, group, share);
  }

  /// Tiles of warps. A step of k has `depth` of it.
  LinearTilesAttr tiles(int64_t rows, int64_t columns, int64_t depth, int64_t warps, int64_t stages,
                        int64_t parts = 1) {
    return LinearTilesAttr::get(op.getContext(), rows, columns, depth, warps, stages,
                                areFloats ? matmul : MatmulKind::mma, parts, /*blocks=*/0);
  }

  /// Two warpgroups have half of the rows each, and read the same columns of the weight. Rings have 192 KiB. The thread
  /// blocks at work at a time have about as many rows as columns, so that they read the least from memory.
  LinearTilesAttr tilesOfWarpgroups(int64_t columns, int64_t stages) {
    return LinearTilesAttr::get(op.getContext(), /*rows=*/128, columns, /*depth=*/64, /*warps=*/8, stages,
                                MatmulKind::wgmma, /*parts=*/1, kBlocksOfGPU);
  }

  attn::LinearOp op;
  int64_t columns, depth;
  bool areFloats;
  MatmulKind matmul = MatmulKind::mma;
};

} // namespace

MatmulKind cuda::floatMatmul(const TargetInfo &machine) {
  return machine.tf32Terms < 1 ? MatmulKind::fma : machine.tf32Terms == 1 ? MatmulKind::tf32 : MatmulKind::tf32x3;
}

LinearScheduleAttr cuda::chooseLinear(attn::LinearOp op, const TargetInfo &machine, std::string &reason) {
  reason = refusalOf(op);
  if (!reason.empty())
    return {};
  Grids grids(op, machine);
  const LinearGridAttr few = grids.few(), common = grids.common();
  const SmallVector<LinearGridAttr> large = grids.large();
  const int64_t rows = op.getResult().getType().getDimSize(0), columns = op.getResult().getType().getDimSize(1);
  auto schedule = [&](LinearGridAttr always, LinearGridAttr few, LinearGridAttr many, LinearGridAttr most) {
    return LinearScheduleAttr::get(op.getContext(), always, few, many, most, /*rotates=*/false);
  };
  if (ShapedType::isDynamic(rows)) {
    auto nth = [&](size_t i) { return i < large.size() ? large[i] : LinearGridAttr(); };
    return schedule(common, few, nth(0), nth(1));
  }
  LinearGridAttr chosen = rows <= few.getTiles().getRows() ? few : common;
  for (LinearGridAttr grid : large)
    if (rows >= grid.getLeast() &&
        (!grid.getShare() || !chosen.getTiles().getBlocks() ||
         timeOf(grid.getTiles(), rows, columns) * grid.getShare() <= timeOf(chosen.getTiles(), rows, columns) * 100))
      chosen = grid;
  return schedule(grids.always(chosen), {}, {}, {});
}
