//===- Schedule.cpp - Threads of norms on NVIDIA's GPUs -----------------------------------===//
#include "lib/Target/GPU/NVIDIA/Schedule.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::any_gpu;
using namespace rapt::cuda;

namespace {

constexpr int64_t kVectorBytes = 16, kWarp = 32, kThreadsOfBlock = 128, kLeastLanes = 4;
/// Rows of more elements than a warp can hold have several warps. A thread has half as many elements then, so that more
/// loads of one row are under way.
constexpr int64_t kMostOfWarp = attn_gpu::NormTileOp::kMostElements, kMostOfThread = kMostOfWarp / 2;

} // namespace

attn_gpu::NormTilesAttr cuda::chooseNorm(RankedTensorType input, std::string &reason) {
  reason = refusalOf(input);
  if (!reason.empty())
    return {};
  const int64_t width = input.getShape().back();
  const int64_t vector = kVectorBytes * 8 / input.getElementTypeBitWidth();
  auto lanesFor = [&](int64_t elements) {
    return int64_t(llvm::PowerOf2Ceil(llvm::divideCeil(width, llvm::alignDown(elements, vector))));
  };
  // Few elements: one vector for each thread. More: a warp, then several.
  int64_t lanes = std::clamp(lanesFor(vector), kLeastLanes, kWarp);
  if (lanesFor(kMostOfWarp) > kWarp)
    lanes = std::min(lanesFor(kMostOfThread), attn_gpu::NormTileOp::kMostLanes);
  // Heads are the rows of a tile where there are heads; there is no thread for more than there are.
  int64_t threads = std::max(lanes, kThreadsOfBlock);
  const int64_t heads = input.getRank() > 2 ? input.getShape()[input.getRank() - 2] : ShapedType::kDynamic;
  if (!ShapedType::isDynamic(heads) && heads > 0)
    threads = std::max(kWarp, std::min<int64_t>(threads, llvm::PowerOf2Ceil(heads) * lanes));
  return attn_gpu::NormTilesAttr::get(input.getContext(), lanes, std::max(threads, lanes));
}
