//===- Schedule.cpp - Tiles of attention on NVIDIA's GPUs ---------------------------------===//
#include "lib/Target/GPU/NVIDIA/Schedule.h"
#include "lib/Conversion/AttnToLinalg/AttentionTiles.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::cuda;
using neutral::AttentionOperands;

// Two thread blocks for each of an H100's 132 multiprocessors, of at least so many keys.
static constexpr int64_t kBlocksOfGPU = 264, kKeysOfPart = 256;

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
  reason = refusalOf(op, channels);
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
