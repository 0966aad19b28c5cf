//===- Schedule.cpp - Tiles of attention on NVIDIA's GPUs ---------------------------------===//
#include "lib/Target/GPU/NVIDIA/Schedule.h"
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::cuda;
using attn_gpu::AttentionScheduleAttr;
using attn_gpu::AttentionTilesAttr;
using attn_gpu::MatmulKind;
using neutral::AttentionOperands;

// Two thread blocks for each of an H100's 132 multiprocessors, of at least so many keys.
static constexpr int64_t kBlocksOfGPU = 264, kKeysOfPart = 256;

/// A warp has 32 rows, as a thread then reads the fewest operands for its multiply-adds: it has a sum for each channel
/// and a score for each key of a block. 16 rows are left where the sums of 32 are more than its registers. All shared
/// memory is within the 99 KB of a thread block on sm_86 and sm_89.
static AttentionTilesAttr tilesOfFloats(MLIRContext *context, int64_t channels, const TargetInfo &machine) {
  const int64_t rows = channels > 128 ? 32 : channels > 64 ? 64 : 128;
  return AttentionTilesAttr::get(context, rows, /*keys=*/channels > 96 ? 16 : 32, /*warps=*/channels > 64 ? 2 : 4,
                                 floatMatmul(machine));
}

static AttentionTilesAttr tilesOf(attn::AttentionOp op, int64_t channels, const TargetInfo &machine) {
  MLIRContext *context = op.getContext();
  if (multipliesFloats(AttentionOperands(op)))
    return tilesOfFloats(context, channels, machine);
  // Two rings of two blocks and the queries are in 227 KB of shared memory.
  if (machine.deviceArch == 90 && machine.deviceExact) {
    const int64_t keys = channels > 192 ? 80 : channels > 128 ? 96 : 128;
    return AttentionTilesAttr::get(context, /*rows=*/128, keys, /*warps=*/8, MatmulKind::wgmma);
  }
  // A thread has 255 registers. It holds channels / 2 sums and keys / 2 scores of its warp's 16 rows.
  return AttentionTilesAttr::get(context, /*rows=*/64, /*keys=*/channels > 128 ? 32 : 64, /*warps=*/4, MatmulKind::mma);
}

AttentionScheduleAttr cuda::chooseAttention(attn::AttentionOp op, const TargetInfo &machine, std::string &reason) {
  int64_t channels = 0;
  reason = refusalOf(op, channels);
  if (!reason.empty())
    return {};
  return AttentionScheduleAttr::get(op.getContext(), tilesOf(op, channels, machine), kBlocksOfGPU, kKeysOfPart);
}
