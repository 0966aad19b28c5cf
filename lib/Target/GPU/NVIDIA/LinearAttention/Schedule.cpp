//===- Schedule.cpp - Tiles of linear attention on NVIDIA's GPUs --------------------------===//
#include "lib/Target/GPU/NVIDIA/Schedule.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::cuda;
using attn_gpu::LinearAttentionTilesAttr;
using attn_gpu::MatmulKind;

namespace {

constexpr int64_t kWarps = 4, kChunk = 16 * kWarps;
/// A chunk's matmuls take about as long as so many tokens in the recurrent form, whatever the chunk has.
constexpr int64_t kLeast = 32;
/// Shared memory of a thread block on sm_86 and sm_89.
constexpr int64_t kSharedBytes = 99 << 10;

/// Shared memory of a chunk's tiles: f32 but for keys and queries.
int64_t bytesOfChunk(int64_t keys, int64_t columns, int64_t elementBytes) {
  const int64_t held = llvm::alignTo(keys, 128 / elementBytes), ofFloats = 4 * llvm::alignTo(keys, 32);
  return columns * ofFloats + 2 * kChunk * held * elementBytes + 2 * columns * kChunk * 4 + kChunk * kChunk * 4 +
         attn_gpu::LinearAttentionTileOp::kTokenNumbers * kChunk * 4;
}

} // namespace

/// Tensor cores make the chunked form faster, for which numbers of 16 bits are tf32 as they are. Multiply-adds of f32
/// gain nothing from it, and decays of channels would need an exponential for each term of a sum.
LinearAttentionTilesAttr cuda::chooseLinearAttention(attn::LinearAttentionOp op, const TargetInfo &machine,
                                                     std::string &reason) {
  reason = refusalOf(op);
  if (!reason.empty())
    return {};
  const auto bits = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getElementTypeBitWidth(); };
  const bool areHalves = bits(op.getQuery()) == 16 && bits(op.getKey()) == 16 && bits(op.getValue()) == 16;
  const MatmulKind matmul = areHalves ? MatmulKind::tf32 : floatMatmul(machine);
  const bool isByChannel = op.getDecay() && op.decaysByChannel();
  for (int64_t columns : {32, 16})
    if (matmul != MatmulKind::fma && !isByChannel &&
        bytesOfChunk(op.getKeyChannels(), columns, areHalves ? 2 : 4) <= kSharedBytes)
      return LinearAttentionTilesAttr::get(op.getContext(), columns, kWarps, kChunk, kLeast, matmul);
  return LinearAttentionTilesAttr::get(op.getContext(), /*columns=*/32, kWarps, /*chunk=*/0, /*least=*/0,
                                       MatmulKind::fma);
}
