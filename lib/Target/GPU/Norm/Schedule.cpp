//===- Schedule.cpp - Which norms have schedules ------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "lib/Target/GPU/Norm/Norm.h"

using namespace mlir;
using namespace rapt;

std::string any_gpu::refusalOf(RankedTensorType input) {
  const int64_t width = input.getShape().back();
  const int64_t most = attn_gpu::NormTileOp::kMostElements * attn_gpu::NormTileOp::kMostLanes;
  if (ShapedType::isDynamic(width) || width < 1 || width > most)
    return "its rows do not have from 1 to " + std::to_string(most) + " elements, which a thread block holds";
  return "";
}
